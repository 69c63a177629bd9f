package observer

import (
	"context"
	"time"

	"sm/alerts"
	"sm/handoff/guard"
	"sm/observer/overflow"
	"sm/transcript"
)

// newGuarding makes what refuses the tool calls of full sessions. A dry run changes nothing for anybody.
func newGuarding(a *App) *overflow.Guarding {
	return &overflow.Guarding{
		Options: func() *GuardOptions {
			o := a.settings.Load().Guard
			o.Enabled = o.Enabled && !a.o.DryRun
			return &o
		},
		Alive: a.o.Alive,
		Log:   a.log,
		Loop:  overflowLoop{a.do},
	}
}

// overflowLoop is what the guarding asks of the loop.
type overflowLoop struct {
	do func(context.Context, func(*core)) error
}

func (l overflowLoop) Context(ctx context.Context, session string) (x overflow.Context, err error) {
	x.Share = guard.UsageUnknown
	err = l.do(ctx, func(c *core) {
		x.Key.Agent = alerts.AgentID(session)
		x.Key.Cycle = 1
		x.Key.Kind = alerts.KindCritical
		v, err := c.fleet.View(session, time.Now())
		if err != nil || v.SessionID != "" && v.SessionID != session {
			return
		}
		p := c.policy(&v)
		if x.Key.Agent = alerts.AgentID(v.Agent); p.Found {
			x.Key.Cycle = p.Cycle
			x.Opened = p.Opened
		}
		switch {
		case v.Known && v.Window.Tokens > 0 && v.Source != transcript.FromEstimate:
			x.Share = float64(v.Tokens) / float64(v.Window.Tokens)
			x.At = v.Reading
		case p.FromStatusline() && p.Window > 0:
			x.Share = float64(p.Tokens) / float64(p.Window)
			x.At = p.Read
		}
	})
	return x, err
}

func (l overflowLoop) NotifyOperator(ctx context.Context, key alerts.Key, text string) error {
	return l.do(ctx, func(c *core) { c.operator(key.String(), text) })
}

func (l overflowLoop) RestartRefused(ctx context.Context, path, reason string, key alerts.Key, text string) error {
	return l.do(ctx, func(c *core) {
		known := c.refused[path].reason == reason
		c.refused[path] = refusedRestart{reason, time.Now()}
		if !known {
			c.operator(key.String(), text)
		}
	})
}

func (l overflowLoop) RestartAllowed(ctx context.Context, path string) error {
	return l.do(ctx, func(c *core) { delete(c.refused, path) })
}
