// Package overflow refuses the tool calls of sessions whose context is full, by the state that handoff/guard keeps in their
// project.
//
// The files of the guard are in the projects, on whatever disk. They are read and written by the goroutine that serves the
// request, never by the observer's loop: a [Guarding] asks the loop by its [Loop] alone, and holds no lock while it waits.
//
// It decides nothing by itself: handoff/guard knows when a session is full, and what is exempt.
package overflow

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"time"

	"sm/alerts"
	"sm/handoff/guard"
	"sm/handoff/rotation"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// Options are the settings.
type Options struct {
	Enabled bool
	guard.Guard
}

// Context is the context of a session, as the observer knows it.
type Context struct {
	// Share is the used share of the window, or guard.UsageUnknown; At is the time for which it is true.
	Share float64
	At    time.Time
	// Opened is when the cycle of the agent began, zero while that is not known.
	Opened time.Time
	// Key is that of a notice of now.
	Key alerts.Key
}

// Loop is the observer. An error means that it stops, or is late.
type Loop interface {
	// Context finds the context of a session.
	Context(ctx context.Context, session string) (Context, error)
	// TellOperator gives the operator a text once under each key.
	NotifyOperator(ctx context.Context, key alerts.Key, text string) error
	// RestartRefused gives the operator a text when the reason is another than the last one for the state file at path.
	RestartRefused(ctx context.Context, path, reason string, key alerts.Key, text string) error
	// RestartAllowed forgets the reason.
	RestartAllowed(ctx context.Context, path string) error
}

// Guarding refuses tool calls.
type Guarding struct {
	// Options are the settings of now. A dry run has none that are enabled.
	Options func() *Options
	// Alive reports whether a process runs; an empty start time matches any.
	Alive func(pid int, start string) bool
	Log   *slog.Logger
	Loop  Loop
}

// On reports whether tool calls are checked.
func (g *Guarding) On() bool { return g.Options().Enabled }

const (
	// toolCallTimeout bounds how long a tool call waits for another writer of the state, and
	// reportTimeout how long a report does, whose successor is a moment away.
	toolCallTimeout = time.Second
	reportTimeout   = 100 * time.Millisecond
)

// DecideToolCall reports whether the main agent's tool call is refused. The refusal is
// stored before the answer. If it cannot be stored, the call is allowed: an agent
// whose calls are all refused while sm cannot write could not hand over either.
func (g *Guarding) DecideToolCall(ctx context.Context, p *hook.Payload) (answer hook.Answer) {
	var key alerts.Key
	within, cancel := context.WithTimeout(ctx, toolCallTimeout)
	defer cancel()
	j, err := g.Options().Check(within, guard.ToolCall{
		Dirs:   []string{p.SM.Project, p.CWD},
		Client: guardClient(p.SessionID, &p.SM),
		Alive:  g.Alive,
		Exempt: func(dir string) bool { return g.Options().Exempt(dir, p) },
		Usage: func(s *guard.State) (usage float64) {
			usage, key = g.usage(ctx, p.SessionID, s)
			return usage
		},
	})
	if err != nil {
		g.Log.Error(
			"a session is full, but that cannot be stored: its tool calls are not refused",
			"session", p.SessionID,
			"err", err,
		)
		return answer
	}
	if j.First {
		key.Ref = "overflow"
		g.notifyOperator(
			ctx,
			key,
			filepath.Base(j.Dir)+" has used up its context: its tool calls are refused until it restarts.",
		)
	}
	if !j.Refuse {
		return answer
	}
	g.Log.Info("tool call refused", "session", p.SessionID, "tool", p.ToolName, "first", j.First)
	return hook.Answer{Event: p.Event, Deny: g.Options().Refusal(j.Dir, j.State)}
}

// StatusLine takes a report into the state of its session and gives what the status line is
// to show, or nothing for a session without a state.
func (g *Guarding) StatusLine(ctx context.Context, status *hook.Status, now time.Time) []byte {
	client := guardClient(status.SessionID, &status.SM)
	path, s, ok := guard.Find([]string{status.SM.Project, status.ProjectDir, status.CurrentDir, status.CWD}, client)
	if !ok || s.Lifecycle == guard.SessionCompleted && !s.Overflowed {
		return nil
	}
	usage := usageOf(status)
	name := filepath.Base(filepath.Dir(path))
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
		if err != nil { // the next report does
			g.Log.Debug("a report is not stored in the session's state", "session", status.SessionID, "err", err)
			resumed = false
		}
	}
	g.notifyRefused(ctx, status.SessionID, path, s)
	if resumed { // once: from now on the session is bound
		_, key := g.usage(ctx, status.SessionID, s)
		key.Ref = "restarted"
		g.notifyOperator(ctx, key, name+" goes on in a fresh context.")
	}
	line, _ := json.Marshal(hook.StatusAnswer{Line: g.Options().Line(name, s)}) // a text has no error
	return line
}

func guardClient(session string, o *hook.Origin) guard.Client {
	return guard.Client{SessionID: session, PID: o.PID, Start: o.Start}
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

// notifyRefused notifies the operator, once, that a full session does not get its
// requested restart.
func (g *Guarding) notifyRefused(ctx context.Context, session, path string, s *guard.State) {
	ctx = context.WithoutCancel(ctx)
	if !s.Overflowed || s.RestartRefused == "" {
		_ = g.Loop.RestartAllowed(ctx, path) // an error means that the observer stops
		return
	}
	_, key := g.usage(ctx, session, s)
	key.Ref = "not restarted"
	text := wording.Guard + filepath.Base(filepath.Dir(path)) + " is full and was not restarted: " + s.RestartRefused
	if err := g.Loop.RestartRefused(ctx, path, s.RestartRefused, key, text); err != nil { // the next report does
		g.Log.Debug("the operator is not told of a refused restart", "session", session, "err", err)
	}
}

// Freshen lets a guarded session go on whose context a handoff has renewed. Its client is the process pid, which began at
// start; with a pid of 0 it is the process that the session is known by.
func (g *Guarding) Freshen(r *rotation.Rotation, pid int, start string) {
	if !g.On() {
		return
	}
	path, s, ok := guard.Find([]string{r.CWD}, guard.Client{SessionID: r.Left, PID: pid, Start: start})
	if !ok || s.SessionID == r.Next && r.Next != "" {
		return // it is known already that it goes on
	}
	if pid == 0 {
		pid = s.PID
		start = s.PIDStart
	}
	if err := guard.Resumed(path, pid, start); err != nil {
		g.Log.Error("a guarded session is not told that its context is new: activate it anew", "path", path, "err", err)
	}
}

// usage returns the used share of a session's window: from its transcript, else from
// the engine, else from its state file, whose figure also counts if it is the newest.
// Figures from before a compaction do not count. The key is that of a notice now.
func (g *Guarding) usage(ctx context.Context, session string, s *guard.State) (share float64, key alerts.Key) {
	c, err := g.Loop.Context(ctx, session)
	if err != nil { // the loop has ended, or is late
		g.Log.Debug("a session's context is not known", "session", session, "err", err)
	}
	share = c.Share
	seen := s.LastHeartbeat
	switch second := c.At.Truncate(time.Second); {
	case seen.Before(c.Opened), share >= 0 && seen.After(time.Now().Add(time.Minute)): // of a wrong clock, or made up
	case share < 0 || seen.After(second):
		share = s.ContextUsage
	case seen.Equal(second): // whichever came first
		share = max(share, s.ContextUsage)
	}
	return share, c.Key
}

// notifyOperator sends the operator a notice that is not one of the engine's.
func (g *Guarding) notifyOperator(ctx context.Context, key alerts.Key, text string) {
	if err := g.Loop.NotifyOperator(
		context.WithoutCancel(ctx),
		key,
		wording.Guard+text,
	); err != nil { // the observer stops
		g.Log.Warn("notice for the operator", "key", key, "text", text)
	}
}
