package main

import (
	"path/filepath"

	"sm/dashboards/screen"
	"sm/handoff/guard"
	"sm/transcript/claude/hook"
)

// usualGuard is the guard as far as it is known without the configuration, which takes too long to load.
func (env *environ) usualGuard() *guard.Guard {
	program := ""
	if env.executable != nil {
		program, _ = env.executable() // else sm is known by its name alone
	}
	return &guard.Guard{Threshold: 1, Allow: []string{"Write", "Edit", "Read"}, Program: program}
}

// refusal is the answer to a tool call when no observer answers: it is refused where the state file says that its
// session has overflowed, but for what an agent needs to hand over. It judges nothing anew and writes nothing.
func (env *environ) refusal(p *hook.Payload) []byte {
	if p.Event != hook.PreToolUse || p.Subagent() {
		return nil
	}
	path, s, ok := guard.Find([]string{p.SM.Project, p.CWD}, clientOf(p.SessionID, &p.SM))
	if !ok || !s.Overflowed {
		return nil
	}
	g, dir := env.usualGuard(), filepath.Dir(path)
	if g.Exempt(dir, p) {
		return nil
	}
	return hook.Answer{Event: p.Event, Deny: g.Refusal(dir, s)}.Encode()
}

// overflowLine is what the status line shows of a full session when no observer answers, "" for no such session.
func (env *environ) overflowLine(status *hook.Status) string {
	dirs := []string{status.SM.Project, status.ProjectDir, status.CurrentDir, status.CWD}
	path, s, ok := guard.Find(dirs, clientOf(status.SessionID, &status.SM))
	if !ok || !s.Overflowed {
		return ""
	}
	return screen.OneLine(env.usualGuard().Line(filepath.Base(filepath.Dir(path)), s))
}

func clientOf(session string, o *hook.Origin) guard.Client {
	return guard.Client{SessionID: session, PID: o.PID, Start: o.Start}
}
