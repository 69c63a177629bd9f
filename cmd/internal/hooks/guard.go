package hooks

import (
	"path/filepath"

	"sm/dashboards/screen/plain"
	"sm/handoff/guard"
	"sm/transcript/claude/hook"
)

// refusal answers for the guard when no observer does: by the state files alone, for
// loading the configuration takes too long. It returns the reply that refuses a tool call
// if the state file marks the session as full, except for tools that a handover needs. It
// writes nothing.
func (by *Process) refusal(p *hook.Payload) []byte {
	if p.Event != hook.PreToolUse || p.Subagent() {
		return nil
	}
	dir, s, full := findFull(p.SessionID, &p.SM, p.CWD)
	g := guard.Guard{Allow: []string{"Write", "Edit", "Read"}}
	g.Program, _ = by.Executable() // else sm is known by its name alone
	if !full || g.Exempt(dir, p) {
		return nil
	}
	return hook.Answer{Event: p.Event, Deny: g.Refusal(dir, s)}.Encode()
}

// overflowLine is what the status line shows of a full session, "" for no such session.
func overflowLine(p *hook.Status) string {
	dir, s, full := findFull(p.SessionID, &p.SM, p.ProjectDir, p.CurrentDir, p.CWD)
	if !full {
		return ""
	}
	g := guard.Guard{Threshold: 1}
	return plain.Line(g.Line(filepath.Base(dir), s))
}

// findFull finds the session of a client that is full, and its folder.
func findFull(
	session string,
	o *hook.Origin,
	dirs ...string,
) (dir string, s *guard.State, full bool) {
	path, s, ok := guard.Find(append([]string{o.Project}, dirs...), guard.ClientOf(session, o))
	return filepath.Dir(path), s, ok && s.Overflowed
}
