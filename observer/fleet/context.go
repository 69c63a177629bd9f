package fleet

import (
	"cmp"
	"reflect"
	"slices"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// sessionOf returns the transcript of an agent's session, or, if there is none,
// a session with the values that its hooks reported.
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

// windowOf returns the context window of an agent's session.
func (f *Fleet) windowOf(a *agent, s *transcript.Session) transcript.Window {
	return f.client(s).WindowOf(s, a.Window, f.options.Windows)
}

// compactsAt returns the size in tokens at which a client is assumed to compact
// by itself. It is 0 if the client never does, or if its model and version are
// unknown.
func (f *Fleet) compactsAt(a *agent, s *transcript.Session, window int64) int64 {
	client := f.client(s)
	if a.Provider != "" {
		provider := f.options.Clients.OfProvider(a.Provider)
		if provider != client && provider != f.options.Clients.Default() {
			return 0
		}
	}
	tokens, _ := client.CompactsAt(&a.AutoCompact, window, s.Model, f.version(a, s))
	return tokens
}

// version returns the version of the client that an agent's session runs in.
func (f *Fleet) version(a *agent, s *transcript.Session) string {
	return cmp.Or(s.Version, f.clients[a.Session].Version)
}

// reading returns the event of a context size in a transcript.
func (f *Fleet) reading(
	a *agent,
	s *transcript.Session,
	r transcript.Reading,
) alerts.Event {
	window := f.windowOf(a, s)
	return alerts.Event{
		Kind:  alerts.EventReading,
		Agent: a.ID,
		At:    r.At.Time(),
		Reading: alerts.Reading{
			Tokens:     r.Tokens,
			Cleared:    r.Cleared,
			Window:     window.Tokens,
			Reserved:   window.Reserved,
			Model:      s.Model,
			CompactsAt: f.compactsAt(a, s, window.Tokens),
			Source:     transcript.FromTranscript,
		},
	}
}

// again emits the reading of an agent's session once more, after a change of
// the values that it is compared with.
func (f *Fleet) again(a *agent) {
	t := f.sessionOf(a)
	if _, known := t.Context(); known {
		f.emit(f.reading(a, t, t.Reading))
	}
}

// setAutoCompact applies the compaction settings of an agent's client, which sm
// hook and sm statusline report with their time.
func (f *Fleet) setAutoCompact(a *agent, o *hook.Origin) {
	if !o.At.IsZero() && !reflect.DeepEqual(a.AutoCompact, o.AutoCompact) {
		a.AutoCompact = o.AutoCompact
		f.again(a)
	}
}

// bytesPerToken estimates the bytes of a transcript per token: the usual 4 of
// English text. Records are longer than their part of the context, and do not
// contain the system prompt and tools; the result is only an order of
// magnitude.
const bytesPerToken = 4

// A context is estimated after estimateTurns ended turns and estimateBytes
// bytes of the transcript, which prompts alone do not reach.
const (
	estimateTurns = 2
	estimateBytes = 16 << 10
)

// estimate returns the estimated context of a session in tokens, 0 if no
// estimate is needed or possible.
func (f *Fleet) estimate(x *file, a *agent) int64 {
	s := &x.Session
	if !f.options.Estimate || s.Peak > 0 || s.Turns < estimateTurns ||
		s.Bytes < estimateBytes {
		return 0
	}
	return max(0, s.Bytes-a.Mark) / bytesPerToken
}

// Sample is the context in one report of the status line, and the result of its
// comparison with the transcript.
type Sample struct {
	At transcript.Instant
	// Tokens and Percent are 0 if the report did not have them, as before the
	// first reply.
	Tokens, Window int64
	Percent        int
	Model          string
	// Rough means that Tokens is computed from the percentage.
	Rough bool
	// Agrees means that the transcript had the same size. Near is a size in the
	// transcript within 5 s of the sample, 0 for none.
	Agrees bool
	Near   int64
	// Back means that the client reported the newest reading before and reports
	// less since: its conversation was rewound. Shown means that the transcript
	// has the rewind, which is written with the next prompt. If Tokens is 0,
	// the conversation was rewound to its beginning.
	Back  bool
	Shown bool
}

// lag is the maximum difference between the times of a sample and a record of
// the same reply.
const lag = transcript.Instant(5 * time.Second)

// compare compares an agent's sample with the newest readings of its session,
// and reports whether the result has changed. A sample belongs to a reading
// that was the newest within 5 s of the sample's time.
func (f *Fleet) compare(a *agent) (changed bool) {
	x := &a.Sample
	was := *x
	if x.Tokens == 0 || x.Agrees || x.Back {
		return false
	}
	all := slices.Clone(a.recent)
	if t := f.sessionOf(a); !t.Blank && t.Reading.Tokens > 0 {
		all = append(all, t.Reading)
	}
	// Forks have their own records before the copied ones.
	slices.SortStableFunc(all, func(r, q transcript.Reading) int { return cmp.Compare(r.At, q.At) })
	for i, r := range all {
		if r.At > x.At+lag {
			break
		}
		if i+1 < len(all) && all[i+1].At != 0 && all[i+1].At < x.At-lag {
			continue
		}
		x.Near = r.Tokens
		x.Agrees = x.Agrees || x.is(r)
	}
	return *x != was
}

// is reports whether sample and reading have the same figures.
func (x *Sample) is(r transcript.Reading) bool {
	window := x.Window
	if window == 0 && x.Rough {
		window = 100 * x.Tokens / int64(max(1, x.Percent))
	}
	return (x.Rough || r.Tokens == x.Tokens) && near(transcript.Window{
		Tokens: window,
	}.Percent(r.Tokens), x.Percent)
}

// near reports whether two percentages are equal except for rounding, or one is
// 0 for unknown.
func near(a, b int) bool { return a == 0 || b == 0 || max(a-b, b-a) <= 1 }

// Results of comparing a sample with the transcript.
const (
	None    = ""        // nothing to compare
	Agrees  = "agrees"  // equal
	Lagging = "lagging" // one of the two may be updated in a moment
	Drift   = "drift"   // they differ
)

// check returns the result of comparing the sample with the transcript. drift
// is the number of tokens that the sample has more: 0 for Agrees, not nil for
// Drift, else nil.
func (x *Sample) check(now transcript.Instant) (state string, drift *int64) {
	switch {
	case x.Tokens == 0:
		return None, nil
	case x.Agrees || x.Back:
		return Agrees, new(int64)
	case now < x.At+lag:
		return Lagging, nil
	case x.Near == 0:
		return None, nil
	}
	return Drift, new(x.Tokens - x.Near)
}

// sample applies the context in a report of an agent's present session. It
// ignores a report that is older than the previous one or than the session.
func (f *Fleet) sample(a *agent, x Sample) {
	if x.At < a.Statusline || x.At < a.Since {
		return
	}
	a.Statusline = x.At
	if x.Window > 0 && x.Window != a.Window {
		a.Window = x.Window
		f.again(a) // the context is another share of the window now
	}
	x.Back = f.wentBack(a, &x)
	x.Shown = x.Back && a.Sample.Shown
	a.Sample = x
	if x.Tokens == 0 && !x.Back {
		return
	}
	t := f.sessionOf(a)
	ev := f.reading(a, t, transcript.Reading{At: x.At, Tokens: x.Tokens})
	ev.Source = transcript.FromStatusline
	ev.Back = x.Back
	ev.Model = cmp.Or(t.Model, x.Model) // transcripts do not have its suffix
	if x.Window > 0 {
		ev.Window = x.Window
		ev.CompactsAt = f.compactsAt(a, t, x.Window)
	}
	tokens, known := t.Context()
	same := known && tokens == x.Tokens
	if same {
		ev.Cleared = t.Reading.Cleared
	}
	f.compare(a)
	if !f.client(t).StatusLine {
		// A hook reports a response with the same size as the record; the first
		// of the two counts.
		if same && x.At <= t.Reading.At+lag {
			return
		}
		ev.Source = transcript.FromTranscript
	}
	f.emit(ev)
}

// maxRecent is how many of an agent's readings are kept for comparison with
// samples.
const maxRecent = 8

// wentBack reports whether a report of the status line shows a rewound
// conversation: the previous report equals the transcript's newest reading, and
// this report is smaller. Between turns only a rewind makes a context smaller
// without a record. A report without a size means a rewind to the beginning, if
// it is from the same run of the client: a client that has just started does
// not report a size either.
func (f *Fleet) wentBack(a *agent, x *Sample) bool {
	was := &a.Sample
	t := f.sessionOf(a)
	tokens, known := t.Context()
	if x.Rough || !known || x.At <= t.Reading.At || t.InTurn && !was.Back ||
		!f.client(t).StatusLine ||
		x.Tokens == 0 && (a.Begun == 0 || a.Begun > was.At) {
		return false
	}
	return was.Back && x.Tokens == was.Tokens ||
		(was.Back || was.Agrees && was.Tokens == tokens) && x.Tokens < was.Tokens
}

// rewound emits a reset if the conversation was rewound before a prompt. The
// transcript shows that, or the status line alone: an old client writes the
// first prompt of a restarted conversation like any other.
func (t *eventMaker) rewound(e *transcript.Entry) {
	a := t.a
	sample := &a.Sample
	back := sample.Back && !sample.Shown
	left := e.Left
	until := e.Until
	switch {
	case e.Rewound:
	case back && e.Kind == transcript.KindTurnStart && sample.Tokens == 0 &&
		e.At > sample.At:
		left = 0
		until = sample.At
	default:
		return
	}

	ev := t.reading(a, &t.seen, e.Reading())
	ev.Kind = alerts.EventReset
	ev.Cause = alerts.CauseRewind
	ev.Left = left
	ev.Until = until
	t.emit(ev)
	if back {
		sample.Shown = true
		t.changed.agent(a.ID)
	}
	if e.Rewound {
		a.recent = slices.DeleteFunc(a.recent, func(r transcript.Reading) bool {
			return r.At > left && r.At <= until // dropped by the rewind
		})
		if sample.Back {
			sample.Back = sample.Tokens == 0
			t.compare(a)
			t.changed.agent(a.ID)
		}
	}
}
