package metrics

import (
	"cmp"
	"slices"
	"strings"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff/rotation"
	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// Snapshot is what one scrape shows, all of the same moment.
type Snapshot struct {
	Sessions []*Session
	// Unexported counts the sessions that Limit has left out.
	Unexported int
	// HideProject leaves the label project empty.
	HideProject bool

	Fleet    tally.Counters
	Limits   [2]fleet.Limit // five hours, seven days; zero while unknown
	Alerts   alerts.Counters
	Messages outbox.Counters
	Handoffs rotation.Counters
	Queued   int // messages that have not ended
	// Hooks counts hooks by event; those that never came are there too, with 0.
	Hooks map[hook.Event]uint64
	// Unknown counts names in transcripts that their reader does not know, since the
	// observer's start; absent ones are 0.
	Unknown map[Unknown]uint64
}

// Unknown is what the unknown names in transcripts are counted by.
type Unknown struct {
	Client string
	Kind   transcript.UnknownKind
}

// Session is one session with the policy of its agent, which is zero for none.
type Session struct {
	fleet.View
	Policy alerts.View
	// State is what the session does, as GET /sessions has it; Queued counts the messages to it that have not ended.
	State  string
	Queued int
}

// Limit keeps at most so many sessions, 0 for all: active ones first, then those that were active last. It sorts them
// by label.
func (s *Snapshot) Limit(most int) {
	if s.Unexported = 0; most > 0 && len(s.Sessions) > most {
		slices.SortFunc(s.Sessions, func(x, y *Session) int {
			return cmp.Or(
				int(truth(y.Live)-truth(x.Live)),
				y.Seen().Compare(x.Seen()),
				strings.Compare(x.Label, y.Label),
			)
		})
		s.Unexported = len(s.Sessions) - most
		s.Sessions = s.Sessions[:most]
	}
	slices.SortFunc(s.Sessions, func(x, y *Session) int { return strings.Compare(x.Label, y.Label) })
}

// tokens is the size of the context by the transcript, by an estimate, or, where neither knows, by the status line that
// the policy goes by; 0 while unknown.
func (v *Session) tokens() int64 {
	switch {
	case v.Known:
		return v.Tokens
	case v.Policy.FromStatusline():
		return v.Policy.Tokens
	}
	return 0
}

// level is the level of the context by the policy, "" while unknown.
func (v *Session) level() string {
	switch {
	case v.Known && v.Policy.Known, v.Policy.FromStatusline():
		return v.Policy.Level.String()
	case v.Known:
		return v.View.Level.String()
	}
	return ""
}
