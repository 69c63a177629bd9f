package main

import (
	"os"
	"time"

	"sm/handoff/proc"
	"sm/transcript/claude/hook"
)

// origin says who runs this process for whom: from the environment that the client hands to its hooks, which is that
// of the pane it runs in and of `sm run`, if that started it.
func (by *caller) origin(at time.Time) hook.Origin {
	get := func(name string) string {
		value, _ := by.lookupEnv(name)
		return value
	}
	o := hook.Origin{
		Agent: get("CLAUDE_SESSION_MANAGER_ID"), Parent: get("SM_PARENT_ID"), Name: get("SM_NAME"), Provider: get("SM_PROVIDER"),
		Project: get("CLAUDE_PROJECT_DIR"),
		PID:     proc.ClientPID(get("CLAUDE_PID"), os.Getppid(), "/proc"), At: at.UTC(),
	}
	if p, err := proc.Stat("/proc", o.PID); err == nil {
		o.Start = p.Start
	}
	o.AutoCompact = by.autoCompact(o.Project)
	o.Tmux, o.Server = hook.ParseTmux(get("TMUX"))
	if pane := get("TMUX_PANE"); o.Tmux != "" && hook.IsPane(pane) {
		o.Pane = pane
	}
	if o.Agent == "" {
		o.Agent = hook.TmuxAgent(o.Tmux, o.Server, o.Pane)
	}
	return o
}
