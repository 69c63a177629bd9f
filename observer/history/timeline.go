package history

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/observer/projects"
	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// ownCompaction is the transcript in which a compaction happened.
type ownCompaction struct {
	log  *log
	size int64 // of the context; 0 if unknown
}

// A Timeline is the sequence of events in one transcript, including events copied
// from the session it was forked from.
type Timeline struct {
	Change *transcript.Change
	Events []alerts.Event
	// First marks events that first happened in this transcript. Copied
	// compactions are not counted again.
	First []bool
	// Sizes has, for each compaction that happened here, the size of the context in
	// tokens; else, and while unknown, 0.
	Sizes []int64
	// Open means that the last cycle is over and counts: nothing else ended it,
	// and no other transcript continues it. Active means that it may not be
	// over.
	Open, Active bool
}

// stillActive is how long after its last record a session may still continue,
// as in the observer.
const stillActive = 10 * time.Minute

// Settle finds the originals of copied records, and returns the views of all
// sessions.
func (h *History) Settle(rules []transcript.WindowRule, now time.Time) []fleet.View {
	h.rules = rules
	h.share()
	for _, p := range h.logs {
		h.restoreOrder(p)
	}
	slices.SortStableFunc(h.logs, (*log).earlier)
	h.owners()
	f := fleet.New(fleet.Options{
		Windows: rules,
		Clients: h.clients,
		Project: new(projects.Names).Of,
	}, fleet.Stored{
		Created: now,
		Settled: true,
	})
	h.own = map[transcript.Key]ownCompaction{}
	for _, p := range h.logs {
		h.claim(f, p)
	}
	h.precede()
	h.lately = transcript.InstantOf(now.Add(-stillActive))
	for _, p := range h.logs {
		if q := p.before; q != nil && q.change.Session.Active <= p.change.Session.Started {
			q.passed = true
		}
	}
	return f.Views(now)
}

// claim applies a transcript to the fleet, which determines its agent and the
// compactions that happened there first. Older copies of a session get no
// agent.
func (h *History) claim(f *fleet.Fleet, p *log) {
	p.change.Entries = []transcript.Entry{{
		Kind: transcript.KindTurnEnd,
	}} // the event has the agent
	events := f.Apply(p.change).Events
	p.change.Entries = nil
	for j := range events {
		ev := &events[j]
		p.agent = ev.Agent
		if ev.Kind != alerts.EventCompacted || ev.History {
			continue
		}
		if _, known := h.own[ev.Key]; !known {
			h.own[ev.Key] = ownCompaction{
				log:  p,
				size: cmp.Or(ev.PreTokens, p.sizeAt(ev.Key)),
			}
		}
	}
}

// nameOf returns the key that identifies a compaction.
func nameOf(c *transcript.Compaction) transcript.Key { return cmp.Or(c.Was, c.Key) }

// compactionOf returns the compaction of a record, nil if the record is only
// its summary.
func (p *log) compactionOf(r *record) *transcript.Compaction {
	switch r.kind {
	case transcript.KindBoundary, transcript.KindSummary, transcript.KindTitle:
		for i := range p.change.Compactions {
			if c := &p.change.Compactions[i]; c.Own != 0 && c.Own == r.key ||
				c.Own == 0 && c.At == r.at {
				return c
			}
		}
	}
	return nil
}

// sizeAt returns the size of the context at a compaction whose records do not
// have it: the newest reading of its cycle that is not later, wherever it is in
// the file; 0 without any.
func (p *log) sizeAt(name transcript.Key) (size int64) {
	at := transcript.Instant(0)
	newest := transcript.Instant(-1)
	over := false
	for i := range p.records {
		r := &p.records[i]
		if c := p.compactionOf(r); c != nil {
			if over {
				break
			}
			if over = nameOf(c) == name; over {
				at = c.At
			} else {
				newest = -1
				size = 0
			}
			continue
		}
		if r.kind != transcript.KindReading && r.kind != transcript.KindRewind ||
			over && (r.at == 0 || at == 0 || r.at > at) {
			continue
		}
		if r.at == 0 || r.at >= newest {
			newest = max(newest, r.at)
			size = int64(r.tokens)
		}
	}
	return size
}

// followsWithin is the maximum time between a session's last record and the
// beginning of the session that continues it.
const followsWithin = time.Hour

// precede guesses which session each session continues, as no record shows it:
// the last active session of the same folder before it, unless that was active
// again during this session.
func (h *History) precede() {
	for _, p := range h.logs {
		if !p.follows {
			continue
		}
		s := &p.change.Session
		newest := s.Started - transcript.Instant(followsWithin)
		for _, q := range h.logs {
			if q.change.Session.Started >= s.Started || q.folder() != p.folder() {
				continue
			}
			active, next, _ := q.until(s.Started)
			if active >= newest && (next == 0 || next >= s.Active) {
				newest = active
				p.before = q
			}
		}
	}
}

// folder returns the folder of a session's work. Codex has one folder for the
// transcripts of a day.
func (p *log) folder() string {
	if p.change.Client == clients.Claude {
		return filepath.Dir(p.change.Cursor.Path)
	}
	return p.change.Session.CWD
}

// until returns when a session was last active up to a time, when it continued,
// 0 for never, and the size of its context at that time.
func (p *log) until(at transcript.Instant) (active, next transcript.Instant, size int64) {
	if s := &p.change.Session; s.Active <= at {
		size, _ = s.Context()
		return s.Active, 0, size
	}
	for _, r := range p.records {
		if r.at > at {
			next = cmp.Or(next, r.at)
			continue
		}
		active = max(active, r.at)
		if r.tokens > 0 {
			size = int64(r.tokens)
		}
	}
	return active, next, size
}

// Sizes returns the known sizes of contexts at compactions that were not
// manual.
func (h *History) Sizes() (all []int64) {
	for p, c := range h.compactions {
		own := h.own[nameOf(c)]
		if own.log == p && own.size > 0 && c.Trigger.Forced() {
			all = append(all, own.size)
		}
	}
	return all
}

// Each calls each for each session, originals before copies. The timeline is
// valid until the callback returns, which drops the session's records.
func (h *History) Each(ctx context.Context, each func(Timeline)) error {
	var t Timeline
	for _, p := range h.logs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.agent != "" {
			h.unpack(p, &t)
			if len(t.Events) > 0 {
				each(t)
			}
		}
		p.records = nil
	}
	return nil
}

// unpack converts a log's records to events.
func (h *History) unpack(p *log, t *Timeline) {
	*t = Timeline{
		Change: &p.change,
		Events: t.Events[:0],
		First:  t.First[:0],
		Sizes:  t.Sizes[:0],
		Active: !p.passed && p.change.Session.Active > h.lately,
	}
	t.Open = !p.passed && !t.Active
	model := ""
	for j := range p.records {
		r := &p.records[j]
		ev := alerts.Event{Agent: p.agent, At: r.at.Time()}
		first := true
		size := int64(0)
		if c := h.common(r); c != nil {
			first = c.owner == p
		}
		switch r.kind {
		case transcript.KindReading:
			model = cmp.Or(p.models[r.model], model)
			ev.Kind = alerts.EventReading
			ev.Tokens = int64(r.tokens)
			ev.Model = model
		case transcript.KindTurnStart:
			ev.Kind = alerts.EventTurnStart
		case transcript.KindTurnEnd:
			ev.Kind = alerts.EventTurnEnd
		case transcript.KindRewind:
			back := p.rewinds[r.key-1]
			ev.Kind = alerts.EventReset
			ev.Cause = alerts.CauseRewind
			ev.Left = back.left
			ev.Until = back.until
			ev.Tokens = int64(r.tokens)
			ev.Model = model
			if c := h.shared[back.prompt]; c != nil {
				first = c.owner == p
			}
		default:
			c := p.compactionOf(r)
			if c == nil {
				continue
			}
			own := h.own[nameOf(c)]
			first = own.log == p
			ev.Kind = alerts.EventCompacted
			ev.Sign = alerts.SignBoundary
			ev.Key = nameOf(c)
			ev.Trigger = c.Trigger
			ev.Model = cmp.Or(model, p.change.Session.Model)
			if first {
				ev.PreTokens = c.PreTokens
				size = own.size // copies count no size
			}
		}
		t.Events = append(t.Events, ev)
		t.First = append(t.First, first)
		t.Sizes = append(t.Sizes, size)
	}
	h.settle(&p.change, t.Events)
}

// settle gives each event the final window of its model, as the status line
// would have reported from the beginning, and the size at which the client is
// assumed to compact. A transcript shows a large window only once it is used.
func (h *History) settle(c *transcript.Change, events []alerts.Event) {
	s := transcript.Session{
		Peak:        c.Session.Peak,
		Model:       "\x00",
		Particulars: c.Session.Particulars,
	}
	var window transcript.Window
	var compactsAt int64
	for i := range events {
		ev := &events[i]
		if ev.Kind == alerts.EventTurnStart || ev.Kind == alerts.EventTurnEnd {
			continue
		}
		if ev.Model != s.Model {
			s.Model = ev.Model
			client := h.clients.Of(&s)
			window = client.WindowOf(&s, 0, h.rules)
			compactsAt, _ = client.CompactsAt(
				new(hook.AutoCompact),
				window.Tokens,
				ev.Model,
				c.Session.Version,
			)
		}
		ev.Window = window.Tokens
		ev.Reserved = window.Reserved
		ev.CompactsAt = compactsAt
	}
}
