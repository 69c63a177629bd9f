package observer

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"

	"sm/alerts"
	"sm/handoff/guard"
	"sm/handoff/rotation"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// The guard refuses the tool calls of sessions whose context is full, based on
// the state that handoff/guard keeps in their project. These files are read and
// written by the goroutine that serves the request, never in the loop.

// GuardOptions are the settings of the guard.
type GuardOptions struct {
	Enabled bool
	guard.Guard
}

// guarding reports whether tool calls are checked. A dry run refuses none.
func (a *App) guarding() bool { return a.settings.Load().Guard.Enabled && !a.o.DryRun }

const (
	// toolCallTimeout is how long a tool call waits for another writer of the
	// state. reportTimeout is how long a report waits, which the next one soon
	// replaces.
	toolCallTimeout = time.Second
	reportTimeout   = 100 * time.Millisecond
)

// decideToolCall returns a refusal if the main agent's tool call must be
// refused. The refusal is stored before the answer. If it cannot be stored, the
// call is allowed: while sm cannot write, the agent could not hand over either.
func (a *App) decideToolCall(ctx context.Context, p *hook.Payload) (answer hook.Answer) {
	var key alerts.Key
	o := &a.settings.Load().Guard
	within, cancel := context.WithTimeout(ctx, toolCallTimeout)
	defer cancel()
	j, err := o.Check(within, guard.ToolCall{
		Dirs:   []string{p.SM.Project, p.CWD},
		Client: guard.ClientOf(p.SessionID, &p.SM),
		Alive:  a.o.Alive,
		Exempt: func(dir string) bool { return o.Exempt(dir, p) },
		Usage: func(s *guard.State) (usage float64) {
			usage, key = a.usageNow(ctx, p.SessionID, s)
			return usage
		},
	})
	if err != nil {
		a.log.Error("a session is full, but that cannot be stored: its tool calls are not refused",
			"session", p.SessionID, "err", err)
		return answer
	}
	if j.First {
		// An error means that the observer stops.
		_ = a.do(context.WithoutCancel(ctx), func(c *core) {
			c.guardNotice(key, "overflow", filepath.Base(j.Dir)+
				" has used up its context: its tool calls are refused until it restarts.")
		})
	}
	if !j.Refuse {
		return answer
	}
	a.log.Info("tool call refused", "session", p.SessionID, "tool", p.ToolName, "first", j.First)
	return hook.Answer{Event: p.Event, Deny: o.Refusal(j.Dir, j.State)}
}

// guardedLine applies a report to the state of its session and returns the text
// for the status line, nil for a session without a state.
func (a *App) guardedLine(ctx context.Context, status *hook.Status, now time.Time) []byte {
	client := guard.ClientOf(status.SessionID, &status.SM)
	path, s, ok := guard.Find(
		[]string{status.SM.Project, status.ProjectDir, status.CurrentDir, status.CWD},
		client,
	)
	if !ok || s.Lifecycle == guard.SessionCompleted && !s.Overflowed {
		return nil
	}
	usage := usageOf(status)
	resumed := false
	if s.Report(client, usage, now) {
		waiting, cancel := context.WithTimeout(ctx, reportTimeout)
		defer cancel()
		err := guard.Update(waiting, path, func(s *guard.State) error {
			bound := s.SessionID
			s.Report(client, usage, now)
			resumed = s.SessionID != bound && s.Lifecycle == guard.SessionResuming
			return nil
		})
		if err != nil { // the next report retries
			a.log.Debug(
				"a report is not stored in the session's state",
				"session", status.SessionID,
				"err", err,
			)
			resumed = false
		}
	}
	name := filepath.Base(filepath.Dir(path))
	_, key := a.usageNow(ctx, status.SessionID, s)
	refused := ""
	if s.Overflowed {
		refused = s.RestartRefused
	}
	// An error means that the observer is stopping; the next observer gets
	// another report.
	_ = a.do(ctx, func(c *core) {
		if resumed { // once, as the session is bound from now on
			c.guardNotice(key, "restarted", name+" goes on in a fresh context.")
		}
		if refused != "" && c.refused[path] != refused { // once for each reason
			c.guardNotice(key, "not restarted", name+" is full and was not restarted: "+refused)
		}
		c.refused[path] = refused
	})
	line, _ := json.Marshal(hook.StatusAnswer{
		Line: a.settings.Load().Guard.Line(name, s),
	}) // a text has no error
	return line
}

// usageOf returns the used share of the window in a report, from its tokens if it has
// them: its percentage is rounded.
func usageOf(s *hook.Status) float64 {
	window := s.Window.Size.Value
	if tokens, known := s.Tokens(); known && window > 0 {
		return float64(tokens) / float64(window)
	}
	if percent, known := s.Percent(); known {
		return float64(percent) / 100
	}
	return guard.UsageUnknown
}

// guardNotice sends the operator a notice about a guarded session.
func (c *core) guardNotice(key alerts.Key, ref, text string) {
	key.Ref = ref
	c.operator(key.String(), wording.Guard+text, "")
}

// freshen marks a guarded session as resumed after a handoff has renewed its
// context. Its client is the process pid, which began at start; if pid is 0, it
// is the process in the session's state.
func (c *core) freshen(r rotation.Rotation, pid int, start string) {
	a := c.app
	c.effect(func(context.Context) outcome {
		if !a.guarding() {
			return nil
		}
		path, s, ok := guard.Find([]string{r.CWD}, guard.Client{
			SessionID: r.Left,
			PID:       pid,
			Start:     start,
		})
		if !ok || s.SessionID == r.Next && r.Next != "" {
			return nil // already resumed
		}
		if pid == 0 {
			pid = s.PID
			start = s.PIDStart
		}
		if err := guard.Resumed(path, pid, start); err != nil {
			a.log.Error(
				"a guarded session cannot be marked as fresh: activate it anew",
				"path", path,
				"err", err,
			)
		}
		return nil
	})
}

// usageNow returns the used share of a session's window: by its transcript or
// status line, or by its state file if they have none or it is newer. Values
// from before a compaction do not count. key is the key for a notice now.
func (a *App) usageNow(
	ctx context.Context,
	session string,
	s *guard.State,
) (share float64, key alerts.Key) {
	share = guard.UsageUnknown
	var at, opened time.Time
	err := a.do(ctx, func(c *core) {
		key = alerts.Key{Agent: session, Cycle: 1, Kind: alerts.KindCritical}
		v, err := c.fleet.View(session, time.Now())
		if err != nil || v.SessionID != "" && v.SessionID != session {
			return
		}
		key.Agent = v.Agent.ID
		if p := c.engine.Agent(key.Agent); p.Cycle > 0 && !v.Left {
			key.Cycle = p.Cycle
			opened = p.Opened
		}
		x := c.session(&v)
		if x.TokensUsed != nil && x.WindowTokens > 0 && v.Source != transcript.FromEstimate {
			share = float64(*x.TokensUsed) / float64(x.WindowTokens)
			at = *x.ReadingAt
		}
	})
	if err != nil { // the loop has ended or did not answer in time
		a.log.Debug("a session's context is not known", "session", session, "err", err)
	}
	if seen := s.LastHeartbeat; !seen.Before(opened) && (share < 0 || seen.After(at)) {
		share = s.ContextUsage
	}
	return share, key
}
