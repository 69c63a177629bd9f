package observer

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"sm/alerts"
	"sm/handoff/guard"
	"sm/handoff/rotation"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// GuardOptions are the settings of the guard.
type GuardOptions struct {
	Enabled bool
	guard.Guard
}

// The files of the guard are in the projects, on whatever disk. They are read and written
// by who serves the request, never by the loop.

const (
	// judgeWithin bounds how long a tool call waits for another writer of the state, and
	// reportWithin how long a report does, whose successor is a moment away.
	judgeWithin  = time.Second
	reportWithin = 100 * time.Millisecond
)

// guarding refuses tool calls of sessions whose context is full.
type guarding struct {
	settings *atomic.Pointer[Settings]
	dryRun   bool
	alive    func(pid int, start string) bool
	log      *slog.Logger
	do       func(context.Context, func(*core)) error // the loop
}

// on says whether tool calls are judged. A dry run changes nothing for anybody.
func (g *guarding) on() bool { return g.options().Enabled && !g.dryRun }

func (g *guarding) options() *GuardOptions { return &g.settings.Load().Guard }

// decideToolCall says whether the main agent's tool call is refused. The refusal is on disk when it
// is answered; where it cannot be stored the call is made, for an agent that is refused
// everything while sm cannot write could not hand over either.
func (g *guarding) decideToolCall(ctx context.Context, p *hook.Payload) (answer hook.Answer) {
	var key alerts.Key
	within, cancel := context.WithTimeout(ctx, judgeWithin)
	defer cancel()
	j, err := g.options().Judge(within, guard.ToolCall{
		Dirs: []string{p.SM.Project, p.CWD}, Client: guardClient(p.SessionID, &p.SM), Alive: g.alive,
		Exempt: func(dir string) bool { return g.options().Exempt(dir, p) },
		Usage: func(s *guard.State) (usage float64) {
			usage, key = g.usage(ctx, p.SessionID, s)
			return usage
		},
	})
	if err != nil {
		g.log.Error("a session is full, but that cannot be stored: its tool calls are not refused", "session", p.SessionID, "err", err)
		return answer
	}
	if j.First {
		key.Ref = "overflow"
		g.tellOperator(ctx, key, filepath.Base(j.Dir)+" has used up its context: its tool calls are refused until it restarts.")
	}
	if !j.Refuse {
		return answer
	}
	g.log.Info("tool call refused", "session", p.SessionID, "tool", p.ToolName, "first", j.First)
	return hook.Answer{Event: p.Event, Deny: g.options().Refusal(j.Dir, j.State)}
}

// statusLine takes a report into the state of its session and gives what the status line is
// to show, or nothing for a session without a state.
func (g *guarding) statusLine(ctx context.Context, status *hook.Status, now time.Time) []byte {
	client := guardClient(status.SessionID, &status.SM)
	path, s, ok := guard.Find([]string{status.SM.Project, status.ProjectDir, status.CurrentDir, status.CWD}, client)
	if !ok || s.Lifecycle == guard.SessionCompleted && !s.Overflowed {
		return nil
	}
	usage, name := usageOf(status), filepath.Base(filepath.Dir(path))
	resumed := false
	if s.Report(client, usage, now) {
		waiting, cancel := context.WithTimeout(ctx, reportWithin)
		defer cancel()
		err := guard.Update(waiting, path, func(s *guard.State) error {
			bound := s.SessionID
			s.Report(client, usage, now)
			resumed = s.SessionID != bound && s.Lifecycle == guard.SessionResuming
			return nil
		})
		if err != nil { // the next report does
			g.log.Debug("a report is not stored in the session's state", "session", status.SessionID, "err", err)
			resumed = false
		}
	}
	g.tellRefused(ctx, status.SessionID, path, s)
	if resumed { // once: from now on the session is bound
		_, key := g.usage(ctx, status.SessionID, s)
		key.Ref = "restarted"
		g.tellOperator(ctx, key, name+" goes on in a fresh context.")
	}
	line, err := json.Marshal(api.StatusLine{Line: g.options().Line(name, s)})
	if err != nil {
		return nil // a text has no error
	}
	return line
}

// refusedRestart is why the restart of a full session was refused, as the operator has heard, and
// when that was last seen.
type refusedRestart struct {
	reason string
	at     time.Time
}

// tellRefused tells the operator, once, that a full session does not get the restart that it
// has asked for.
func (g *guarding) tellRefused(ctx context.Context, session, path string, s *guard.State) {
	if !s.Overflowed || s.RestartRefused == "" {
		_ = g.do(context.WithoutCancel(ctx), func(c *core) { delete(c.refused, path) }) // the observer stops: nobody needs to know
		return
	}
	_, key := g.usage(ctx, session, s)
	key.Ref = "not restarted"
	err := g.do(context.WithoutCancel(ctx), func(c *core) {
		told := c.refused[path].reason == s.RestartRefused
		c.refused[path] = refusedRestart{s.RestartRefused, time.Now()}
		if !told {
			c.operator(key.String(), wording.Guard+filepath.Base(filepath.Dir(path))+" is full and was not restarted: "+s.RestartRefused)
		}
	})
	if err != nil { // the next report does
		g.log.Debug("the operator is not told of a refused restart", "session", session, "err", err)
	}
}

// freshenEffect lets a guarded session go on whose context a handoff has renewed.
type freshenEffect struct {
	rotation rotation.Rotation
	at       fleet.Place
}

func (e freshenEffect) run(_ context.Context, r *effectRunner) outcome {
	if r.guard.on() {
		r.guard.freshen(e)
	}
	return nil
}

func (g *guarding) freshen(e freshenEffect) {
	r := &e.rotation
	path, s, ok := guard.Find([]string{r.CWD}, guard.Client{SessionID: r.Left, PID: e.at.PID, Start: e.at.Start})
	if !ok || s.SessionID == r.Next && r.Next != "" {
		return // it is known already that it goes on
	}
	if err := guard.Resumed(path, e.at.PID, e.at.Start); err != nil {
		g.log.Error("a guarded session is not told that its context is new: activate it anew", "path", path, "err", err)
	}
}

func guardClient(session string, o *hook.Origin) guard.Client {
	return guard.Client{SessionID: session, PID: o.PID, Start: o.Start}
}

// usageOf is the used share of the window in a report, by its tokens where it tells them:
// its percentage is rounded.
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

// usage is the used share of a session's window: by its transcript, else by what the policy
// goes by, else by its state file, whose figure also counts when it is the newest. What it
// told before a compaction does not. The key is that of a notice of now.
func (g *guarding) usage(ctx context.Context, session string, s *guard.State) (share float64, key alerts.Key) {
	var at, opened time.Time
	share = guard.UsageUnknown
	err := g.do(ctx, func(c *core) {
		key.Agent, key.Cycle, key.Kind = alerts.AgentID(session), 1, alerts.KindCritical
		v, err := c.fleet.View(session, time.Now())
		if err != nil || v.SessionID != "" && v.SessionID != session {
			return
		}
		p := c.policy(&v)
		if key.Agent = alerts.AgentID(v.Agent); p.Found {
			key.Cycle, opened = p.Cycle, p.Opened
		}
		switch {
		case v.Known && v.Window.Tokens > 0 && v.Source != transcript.FromEstimate:
			share, at = float64(v.Tokens)/float64(v.Window.Tokens), v.Reading
		case p.FromStatusline() && p.Window > 0:
			share, at = float64(p.Tokens)/float64(p.Window), p.Read
		}
	})
	if err != nil { // the loop has ended, or is late
		g.log.Debug("a session's context is not known", "session", session, "err", err)
	}
	told := s.LastHeartbeat
	switch second := at.Truncate(time.Second); {
	case told.Before(opened), share >= 0 && told.After(time.Now().Add(time.Minute)): // of a wrong clock, or made up
	case share < 0 || told.After(second):
		share = s.ContextUsage
	case told.Equal(second): // whichever came first
		share = max(share, s.ContextUsage)
	}
	return share, key
}

// tellOperator tells a notice that the policy does not know of.
func (g *guarding) tellOperator(ctx context.Context, key alerts.Key, text string) {
	err := g.do(context.WithoutCancel(ctx), func(c *core) {
		c.operator(key.String(), wording.Guard+text)
	})
	if err != nil { // the observer stops
		g.log.Warn("for the operator", "key", key, "text", text)
	}
}
