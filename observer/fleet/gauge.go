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

// sessionOf is the transcript of an agent's session, or a value with what its hooks
// reported while none has been read.
func (f *Fleet) sessionOf(a *agent) *transcript.Session {
	if x := f.transcript(a.Session); x != nil {
		return &x.Session
	}
	t := &transcript.Session{Model: a.Sample.Model}
	if a.Client != "" {
		t.SetParticulars(transcript.Particulars{Client: a.Client})
	}
	return t
}

// client returns the client that wrote a session.
func (f *Fleet) client(s *transcript.Session) *clients.Client { return f.options.Clients.Of(s) }

// windowOf is the window of a session; a is nil when only the session is known.
func (f *Fleet) windowOf(a *agent, s *transcript.Session) transcript.Window {
	reported := int64(0)
	if a != nil {
		reported = a.Window
	}
	return f.client(s).WindowOf(s, reported, f.options.Windows)
}

// compactsAt is the size in tokens at which a client is assumed to compact by
// itself. It is 0 when the client never does, and when its model and version are
// unknown. a is nil when only the session is known.
func (f *Fleet) compactsAt(a *agent, s *transcript.Session, window int64) int64 {
	client := f.client(s)
	if a != nil && a.Provider != "" {
		provider := f.options.Clients.OfProvider(a.Provider)
		if provider != client && provider != f.options.Clients.Default() {
			return 0
		}
	}
	setting, version := f.autoCompact(a, s)
	tokens, _ := client.CompactsAt(setting, window, s.Model, version)
	return tokens
}

// basis is how the size is known that compactsAt returns.
func (f *Fleet) basis(a *agent, s *transcript.Session) clients.Basis {
	setting, version := f.autoCompact(a, s)
	_, basis := f.client(s).CompactsAt(setting, 0, s.Model, version)
	return basis
}

// autoCompact returns the compaction settings of an agent's client, and its
// version.
func (f *Fleet) autoCompact(a *agent, s *transcript.Session) (setting *clients.AutoCompact, version string) {
	setting = new(clients.AutoCompact)
	if a == nil {
		return setting, s.Version
	}
	if a.AutoCompact != nil {
		setting = a.AutoCompact
	}
	return setting, cmp.Or(s.Version, f.clients[a.Session].Version)
}

// reading returns the event of a context size in a transcript. a is nil if only
// the session is known.
func (f *Fleet) reading(id string, s *transcript.Session, a *agent, r transcript.Reading) alerts.Event {
	window := f.windowOf(a, s)
	return alerts.Event{
		Kind:       alerts.EventReading,
		Agent:      alerts.AgentID(id),
		At:         r.At.Time(),
		Tokens:     r.Tokens,
		Cleared:    r.Cleared,
		Window:     window.Tokens,
		Reserved:   window.Reserved,
		Model:      s.Model,
		CompactsAt: f.compactsAt(a, s, window.Tokens),
		Source:     transcript.FromTranscript,
	}
}

// again repeats the reading of an agent's session after a change of the values
// that it is compared with.
func (f *Fleet) again(a *agent) {
	t := f.sessionOf(a)
	if _, known := t.Context(); known {
		f.emit(f.reading(a.ID, t, a, t.Reading))
	}
}

// setAutoCompact applies the compaction settings of an agent's client, which sm
// hook and sm statusline report with their time.
func (f *Fleet) setAutoCompact(a *agent, o *hook.Origin) {
	if o.At.IsZero() {
		return
	}
	setting := autoCompact(&o.AutoCompact)
	if a.AutoCompact == nil && setting.Equal(&clients.AutoCompact{}) ||
		a.AutoCompact != nil && setting.Equal(a.AutoCompact) {
		return
	}
	a.AutoCompact = setting
	f.again(a)
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
func (f *Fleet) estimate(x *file, a *agent) int64 {
	s := &x.Session
	if !f.options.Estimate || s.Peak > 0 || s.Turns < estimateTurns || s.Bytes < estimateBytes {
		return 0
	}
	bytes := s.Bytes
	if a != nil {
		bytes -= a.Mark
	}
	return max(0, bytes) / bytesPerToken
}
