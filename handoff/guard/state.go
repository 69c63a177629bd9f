package guard

import (
	"encoding/json"
	"fmt"
	"time"

	"sm/handoff/files"
)

// Lifecycle is the stage of a guarded session. The usual order is active,
// dehydrating, restarting, resuming, active again, and completed at the end.
type Lifecycle string

// The stages of a session.
const (
	SessionActive      Lifecycle = "active"      // sm session activate
	SessionDehydrating Lifecycle = "dehydrating" // sm session dehydrate: the document is being written
	SessionRestarting  Lifecycle = "restarting"  // sm session restart: the client is to be ended
	SessionResuming    Lifecycle = "resuming"    // a fresh client has been started
	SessionCompleted   Lifecycle = "completed"   // by its skill, or left for another session
)

// Lifecycles lists all stages.
func Lifecycles() []Lifecycle {
	return []Lifecycle{
		SessionActive,
		SessionDehydrating,
		SessionRestarting,
		SessionResuming,
		SessionCompleted,
	}
}

// State is the content of sessions/NAME/.state.json. The zero value is a session that has
// not been activated. A member of the wrong type counts as absent.
type State struct {
	PID      int    `json:"pid"`               // the client's process
	PIDStart string `json:"pidStart,omitzero"` // its start time in /proc, in ticks since boot
	// SessionID is the client's session, known from its first status line on.
	// While Overflowed is true, it is the session that has overflowed.
	SessionID string    `json:"sessionId,omitzero"`
	Skill     string    `json:"skill"`
	Lifecycle Lifecycle `json:"lifecycle"`
	// Overflowed stays true until a fresh activation, even after smaller
	// readings.
	Overflowed    bool    `json:"overflowed"`
	KillRequested bool    `json:"killRequested"`
	ContextUsage  float64 `json:"contextUsage"` // used share of the window, 0 to 1, at LastHeartbeat
	CurrentPhase  string  `json:"currentPhase,omitzero"`
	// Times are UTC, in whole seconds.
	StartedAt        time.Time `json:"startedAt,omitzero"`
	LastHeartbeat    time.Time `json:"lastHeartbeat,omitzero"`
	DehydratingSince time.Time `json:"dehydratingSince,omitzero"` // when the document was requested
	RestartPrompt    string    `json:"restartPrompt,omitzero"`
	RestartRefused   string    `json:"restartRefused,omitzero"` // why the last restart did not happen, in one line

	others map[string]json.RawMessage // members of other programs
}

// ParseState reads the text of a state file.
func ParseState(text []byte) (*State, error) {
	s := new(State)
	var err error
	if s.others, err = files.Decode(text, s); s.others == nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	return s, nil
}

// Encode returns the text of the file.
func (s *State) Encode() ([]byte, error) {
	text, err := files.Text(s, s.others)
	if err != nil {
		return nil, fmt.Errorf("write a session's state: %w", err)
	}
	return text, nil
}

// second returns a time as the file stores it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
