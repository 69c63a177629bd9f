package fleet

import (
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// report takes from a report of the status line what it says of the session besides the
// context. One that is older than another before it, or than the session, says nothing.
func (f *Fleet) report(a *Agent, s *hook.Status, at transcript.Instant) {
	if at < a.Spoke || at < a.Since {
		return
	}
	a.Report.Name = s.SessionName
}
