package fleet

import (
	"cmp"
	"slices"
	"strings"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// gauge reads the size of contexts and windows, from transcripts and from the status line.
type gauge struct{ *roster }

// windowOf is the window of a session; a is nil when no more is known than the session.
func (g *gauge) windowOf(a *Agent, s *transcript.Session) int64 {
	reported := int64(0)
	if a != nil {
		reported = a.Window
	}
	return g.client(s).WindowOf(s, reported, g.options.Windows).Tokens
}

// compactsAt is the size in tokens at which a client is assumed to compact by itself. It is 0 when the client never
// does, and when its model and version are unknown. a is nil when only the session is known.
func (g *gauge) compactsAt(a *Agent, s *transcript.Session, window int64) int64 {
	client := g.client(s)
	if a != nil && a.Provider != "" {
		provider := g.options.Clients.OfProvider(a.Provider)
		if provider != client && provider != g.options.Clients.Default() {
			return 0
		}
	}
	setting, version := g.autoCompact(a, s)
	tokens, _ := client.CompactsAt(setting, window, s.Model, version)
	return tokens
}

// basis is how the size is known that compactsAt returns.
func (g *gauge) basis(a *Agent, s *transcript.Session) clients.Basis {
	setting, version := g.autoCompact(a, s)
	_, basis := g.client(s).CompactsAt(setting, 0, s.Model, version)
	return basis
}

// autoCompact returns the compaction settings of an agent's client, and its
// version.
func (g *gauge) autoCompact(a *Agent, s *transcript.Session) (setting *clients.AutoCompact, version string) {
	setting = new(clients.AutoCompact)
	if a == nil {
		return setting, s.Version
	}
	if a.AutoCompact != nil {
		setting = a.AutoCompact
	}
	return setting, cmp.Or(s.Version, g.clients[a.Session].Version)
}

// window is the size of an agent's window, as far as it is known without a report.
func (g *gauge) window(a *Agent) int64 {
	t := a.unread()
	if s := g.sessions[a.Session]; s != nil && len(s.own) > 0 {
		t = &s.own[0].Session
	}
	return g.windowOf(a, t)
}

// reading returns the event of a context size in a transcript. a is nil if only
// the session is known.
func (g *gauge) reading(id string, s *transcript.Session, a *Agent, r transcript.Reading) alerts.Event {
	window := g.windowOf(a, s)
	return alerts.Event{
		Kind:       alerts.EventReading,
		Agent:      alerts.AgentID(id),
		At:         r.At.Time(),
		Tokens:     r.Tokens,
		Cleared:    r.Cleared,
		Window:     window,
		Reserved:   g.client(s).WindowOf(s, 0, nil).Reserved,
		Model:      s.Model,
		CompactsAt: g.compactsAt(a, s, window),
		Source:     transcript.FromTranscript,
	}
}

// again repeats the reading of an agent's session after a change of the values
// that it is compared with.
func (g *gauge) again(a *Agent) (n Update) {
	s := g.sessions[a.Session]
	if s == nil || len(s.own) == 0 {
		return n
	}
	t := &s.own[0].Session
	if _, known := t.Context(); known {
		n.event(g.reading(a.ID, t, a, t.Reading))
	}
	return n
}

// setAutoCompact applies the compaction settings of an agent's client, which sm
// hook and sm statusline report with their time.
func (g *gauge) setAutoCompact(a *Agent, o *hook.Origin) (n Update) {
	if o.At.IsZero() {
		return n
	}
	setting := autoCompact(&o.AutoCompact)
	if a.AutoCompact == nil && setting.Equal(&clients.AutoCompact{}) ||
		a.AutoCompact != nil && setting.Equal(a.AutoCompact) {
		return n
	}
	a.AutoCompact = setting
	g.changed.agent(a.ID)
	return g.again(a)
}

func autoCompact(x *hook.AutoCompact) *clients.AutoCompact {
	setting := &clients.AutoCompact{
		Off:     x.Off,
		Window:  x.Window,
		Percent: x.Percent,
		Output:  x.Output,
		Setting: x.Setting,
		IdleOff: x.IdleOff,
		IdleMin: x.IdleMin,
	}
	for model, tokens := range x.Models {
		setting.Models = append(setting.Models, transcript.WindowRule{Model: model, Tokens: tokens})
	}
	slices.SortFunc(setting.Models, func(a, b transcript.WindowRule) int { return strings.Compare(a.Model, b.Model) })
	return setting
}

// bytesPerToken estimates the bytes of a transcript per token: the usual 4 of
// English text. Records are longer than their part of the context, while system
// prompt and tools are not in them; it is only an order of magnitude.
const bytesPerToken = 4

// What a session must have shown without any figure before it is guessed: turns that
// have ended, and more than prompts alone.
const (
	estimateTurns = 2
	estimateBytes = 16 << 10
)

// estimate is the guess for a session, 0 when there is no need of one.
func (g *gauge) estimate(x *file, a *Agent) int64 {
	s := &x.Session
	if !g.options.Estimate || s.Peak > 0 || s.Turns < estimateTurns || s.Bytes < estimateBytes {
		return 0
	}
	bytes := s.Bytes
	if a != nil {
		bytes -= a.Mark
	}
	return max(0, bytes) / bytesPerToken
}
