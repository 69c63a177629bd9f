package hooks

import (
	"path/filepath"

	"sm/dashboards/screen/plain"
	"sm/handoff/guard"
	"sm/transcript/claude/hook"
)

// A fallbackGuard answers for the guard when no observer does: by the state files alone, for loading the configuration
// takes too long.
type fallbackGuard struct{ guard.Guard }

func (by *Process) fallbackGuard() *fallbackGuard {
	program := ""
	if by.Executable != nil {
		program, _ = by.Executable() // else sm is known by its name alone
	}
	return &fallbackGuard{guard.Guard{
		Threshold: 1,
		Allow:     []string{"Write", "Edit", "Read"},
		Program:   program,
	}}
}

// refusal returns the reply that refuses a tool call if the state file marks the
// session as full, except for tools that a handover needs. It writes nothing.
func (g *fallbackGuard) refusal(p *hook.Payload) []byte {
	if p.Event != hook.PreToolUse || p.Subagent() {
		return nil
	}
	path, s, ok := guard.Find([]string{p.SM.Project, p.CWD}, clientOf(p.SessionID, &p.SM))
	if !ok || !s.Overflowed {
		return nil
	}
	dir := filepath.Dir(path)
	if g.Exempt(dir, p) {
		return nil
	}
	return hook.Answer{Event: p.Event, Deny: g.Refusal(dir, s)}.Encode()
}

// overflowLine is what the status line shows of a full session, "" for no such session.
func (g *fallbackGuard) overflowLine(status *hook.Status) string {
	dirs := []string{status.SM.Project, status.ProjectDir, status.CurrentDir, status.CWD}
	path, s, ok := guard.Find(dirs, clientOf(status.SessionID, &status.SM))
	if !ok || !s.Overflowed {
		return ""
	}
	return plain.Line(g.Line(filepath.Base(filepath.Dir(path)), s))
}

func clientOf(session string, o *hook.Origin) guard.Client {
	return guard.Client{SessionID: session, PID: o.PID, Start: o.Start}
}
