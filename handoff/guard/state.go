package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"
)

// Lifecycle is where a guarded session stands. The usual way is active, dehydrating,
// restarting, resuming, active and so on, and completed at the end.
type Lifecycle string

// The stations of a session.
const (
	SessionActive      Lifecycle = "active"      // sm session activate
	SessionDehydrating Lifecycle = "dehydrating" // sm session dehydrate: the document is being written
	SessionRestarting  Lifecycle = "restarting"  // sm session restart: the client is to be ended
	SessionResuming    Lifecycle = "resuming"    // a fresh client has been started
	SessionCompleted   Lifecycle = "completed"   // by its skill, or given up for another session
)

// Lifecycles lists all of them.
func Lifecycles() []Lifecycle {
	return []Lifecycle{SessionActive, SessionDehydrating, SessionRestarting, SessionResuming, SessionCompleted}
}

// State is what sessions/NAME/.state.json says. The zero value is a session that
// nobody has activated. A member of another type than ours counts as absent.
type State struct {
	// PID is the client's process, PIDStart its start time as /proc gives it, in ticks
	// since the boot: together they name one process for ever.
	PID      int    `json:"pid"`
	PIDStart string `json:"pidStart,omitzero"`
	// SessionID is the client's name for its session, known from its first status line on.
	SessionID string    `json:"sessionId,omitzero"`
	Skill     string    `json:"skill"`
	Lifecycle Lifecycle `json:"lifecycle"`
	// Overflowed sticks until a fresh activation: a smaller reading does not undo it.
	// While it is set, SessionID is the session that has overflowed.
	Overflowed    bool `json:"overflowed"`
	KillRequested bool `json:"killRequested"`
	// ContextUsage is the used share of the window, 0 to 1, at LastHeartbeat.
	ContextUsage float64 `json:"contextUsage"`
	CurrentPhase string  `json:"currentPhase,omitzero"`
	// Times are UTC, in whole seconds.
	StartedAt     time.Time `json:"startedAt,omitzero"`
	LastHeartbeat time.Time `json:"lastHeartbeat,omitzero"`
	// DehydratingSince is when the document was asked for.
	DehydratingSince time.Time `json:"dehydratingSince,omitzero"`
	RestartPrompt    string    `json:"restartPrompt,omitzero"`
	// RestartRefused says why the last restart that was asked for did not come, in a line.
	RestartRefused string `json:"restartRefused,omitzero"`

	members []guardMember  // as they were read
	was     map[string]any // the fields as they were read, by name
}

// guardMember is a member of the file, its name with the quotes.
type guardMember struct {
	key, value []byte
	name       string
}

// errNoObject says that a file is none of ours, or is damaged.
var errNoObject = errors.New("not a JSON object")

// ParseState reads the text of a state file.
func ParseState(text []byte) (*State, error) {
	s := new(State)
	if !json.Valid(text) || !bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) {
		return nil, errNoObject
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // the bracket
		return nil, err
	}
	for d.More() {
		from := d.InputOffset()
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := guardMember{key: bytes.TrimLeft(text[from:d.InputOffset()], " \t\r\n,")}
		m.name, _ = name.(string) // in a valid object it is one
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, err
		}
		m.value = raw
		s.members = append(s.members, m)
	}
	s.was = map[string]any{}
	for name, value := range s.fields() {
		for _, m := range s.members { // of two of a name the last one counts
			if m.name == name && json.Unmarshal(m.value, value.Addr().Interface()) != nil {
				value.SetZero()
			}
		}
		s.was[name] = value.Interface()
	}
	return s, nil
}

// fields gives each field by the name that it has in the file, in our order.
func (s *State) fields() iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for field, value := range reflect.ValueOf(s).Elem().Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && !yield(name, value) {
				return
			}
		}
	}
}

// Encode writes the text of the file. What has not changed since ParseState stays as
// it was written, whichever program wrote it; new fields come last.
func (s *State) Encode() ([]byte, error) {
	ours, err := s.texts()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	before := "{"
	write := func(key, value []byte) {
		fmt.Fprintf(&b, "%s\n  %s: %s", before, key, value)
		before = ","
	}
	for _, m := range s.members {
		value, known := ours[m.name]
		if !known {
			write(m.key, m.value)
		} else if value != nil {
			write(m.key, value)
			ours[m.name] = nil // once
		}
	}
	for name := range s.fields() {
		if ours[name] != nil {
			write([]byte(`"`+name+`"`), ours[name])
		}
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}

// texts gives each of our members as it is to be written, nil for one that is left out.
func (s *State) texts() (map[string][]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // people read it
	made := map[string]json.RawMessage{}
	if err := errors.Join(e.Encode(s), json.Unmarshal(b.Bytes(), &made)); err != nil {
		return nil, fmt.Errorf("write a session's state: %w", err)
	}
	ours := map[string][]byte{}
	for name, value := range s.fields() {
		ours[name] = made[name]
		if s.was[name] != value.Interface() {
			continue
		}
		for _, m := range s.members {
			if m.name == name {
				ours[name] = m.value
			}
		}
	}
	return ours, nil
}

// second is a time as the file holds it.
func second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }
