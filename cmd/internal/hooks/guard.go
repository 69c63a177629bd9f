package hooks

import (
	"path/filepath"

	"sm/dashboards/screen/plain"
	"sm/handoff/guard"
	"sm/transcript/claude/hook"
)

// refusal returns the guard's answer if no observer answers: the reply that
// refuses a tool call if the state file marks the session as full, except for
// tools that a handover needs. It reads only the state files, because loading
// the configuration takes too long. It writes nothing.
func (by *Process) refusal(p *hook.Payload) []byte {
	if p.Event != hook.PreToolUse || p.Subagent() {
		return nil
	}
	dir, s, full := findFull(p.SessionID, &p.SM, p.CWD)
	g := guard.Guard{Allow: []string{"Write", "Edit", "Read"}}
	g.Program, _ = by.Executable() // without a path the text has the name sm
	if !full || g.Exempt(dir, p) {
		return nil
	}
	return hook.Answer{Event: p.Event, Deny: g.Refusal(dir, s)}.Encode()
}

// overflowLine returns the status line of a full session, "" for any other
// session.
func overflowLine(p *hook.Status) string {
	dir, s, full := findFull(p.SessionID, &p.SM, p.ProjectDir, p.CurrentDir, p.CWD)
	if !full {
		return ""
	}
	g := guard.Guard{Threshold: 1}
	return plain.Line(g.Line(filepath.Base(dir), s))
}

// findFull returns the folder and the state of a client's session. full reports
// whether there is a session and it is full.
func findFull(
	session string,
	o *hook.Origin,
	dirs ...string,
) (dir string, s *guard.State, full bool) {
	path, s, ok := guard.Find(append([]string{o.Project}, dirs...), guard.ClientOf(session, o))
	return filepath.Dir(path), s, ok && s.Overflowed
}
