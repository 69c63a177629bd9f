package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/transcript"
)

// chronicle is what happened in many sessions, in 24 bytes a record where a transcript.Entry takes ten times that: all
// must be known before it can be told which of two transcripts was copied from the other.
type chronicle struct {
	chapters []chapter
	models   [][]byte // "" is the first
	index    map[string]uint16
	count    int // of facts
}

// chapter is one session's transcript.
type chapter struct {
	change transcript.Change // without entries and messages
	facts  []fact
}

// fact is a transcript.Entry without what reports do not look at.
type fact struct {
	at     transcript.Instant
	key    transcript.Key // by which copies are known; for compactions that of the record itself
	tokens uint32
	model  uint16
	kind   transcript.Kind
}

// telling is one session's transcript while it is told. Events are those that happened in it first, in the order of the
// file: what it has copied from another transcript is left out.
type telling struct {
	change *transcript.Change
	events []alerts.Event
}

// chronicle reads all transcripts in paths once. Transcripts of subagents are left out.
func (env *environ) chronicle(ctx context.Context, paths []string) (*chronicle, error) {
	h := &chronicle{models: [][]byte{nil}, index: map[string]uint16{"": 0}}
	err := env.readAll(ctx, paths, true, h.add)
	slices.SortStableFunc(h.chapters, func(a, b chapter) int { return earlier(a.change, b.change) })
	return h, err
}

func (h *chronicle) add(c transcript.Change) {
	if subagents := c.Parent != "" || strings.HasPrefix(c.Name, "agent-"); subagents && !c.Alone {
		return
	}
	p := chapter{facts: make([]fact, 0, len(c.Entries))}
	for i := range c.Entries {
		if r, ok := h.fact(&c.Entries[i]); ok {
			p.facts = append(p.facts, r)
		}
	}
	h.count += len(p.facts)
	c.Entries, c.Messages, c.Whole = nil, nil, false // not whole: it is told record for record, as if it had been followed
	p.change = c
	h.chapters = append(h.chapters, p)
}

func (h *chronicle) fact(e *transcript.Entry) (r fact, ok bool) {
	r = fact{at: e.At, key: e.UUID, kind: e.Kind, tokens: uint32(min(e.Context, math.MaxUint32))}
	switch e.Kind {
	case transcript.KindReading:
		// A resume may write its copies under other uuids and times, and a gateway name all messages alike.
		r.key, r.model = transcript.Join(cmp.Or(e.Message, e.Origin, e.UUID), transcript.Key(e.Context)), h.model(e.Model)
		if e.Message == 0 && e.Origin == 0 && e.UUID == 0 {
			r.key = 0
		}
	case transcript.KindTurnStart, transcript.KindTurnEnd:
		r.key = cmp.Or(e.Origin, e.UUID)
	case transcript.KindHeard, transcript.KindOther:
		return r, false
	}
	return r, true
}

// model numbers a name. When a transcript invents too many, the rest has none.
func (h *chronicle) model(name []byte) uint16 {
	i, known := h.index[string(name)]
	if !known && len(h.models) < math.MaxUint16 {
		i = uint16(len(h.models))
		h.models = append(h.models, name)
		h.index[string(name)] = i
	}
	return i
}

// tell tells one session after the other, origins before their copies, and returns what is known of all. What the
// callback is given is valid until it returns.
func (h *chronicle) tell(rules []transcript.WindowRule, each func(telling)) []fleet.View {
	now := time.Now()
	f := fleet.New(fleet.Options{Created: now, Windows: rules}, fleet.Stored{Settled: true})
	owners := make(map[transcript.Key]int32, h.count)
	var entries []transcript.Entry
	for i := range h.chapters {
		p := &h.chapters[i]
		entries = h.own(p.facts, int32(i), owners, entries[:0])
		p.facts = nil
		p.change.Entries = entries
		events := f.Apply(p.change).Events
		p.change.Entries = nil
		if len(events) > 0 {
			settle(&p.change, rules, events)
			each(telling{&p.change, events})
		}
	}
	return f.Views(now)
}

// own unpacks those facts that happened first in this chapter.
func (h *chronicle) own(facts []fact, at int32, owners map[transcript.Key]int32, entries []transcript.Entry) []transcript.Entry {
	for i := range facts {
		r := &facts[i]
		e := transcript.Entry{Kind: r.kind, At: r.at, UUID: r.key, Context: int64(r.tokens)}
		switch r.kind {
		case transcript.KindReading:
			e.Model = h.models[r.model]
			fallthrough
		case transcript.KindTurnStart, transcript.KindTurnEnd:
			if owner, known := owners[r.key]; known && owner != at {
				continue
			} else if !known && r.key != 0 {
				owners[r.key] = at
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// settle gives each event the window that its model turned out to have, as the status line would have told from the
// beginning: a transcript itself shows a large window only once it is used.
func settle(c *transcript.Change, rules []transcript.WindowRule, events []alerts.Event) {
	s := transcript.Session{Peak: c.Session.Peak, Model: "\x00"}
	window := int64(0)
	for i := range events {
		ev := &events[i]
		if ev.Kind != alerts.EventReading && ev.Kind != alerts.EventCompacted {
			continue
		}
		if ev.Model != s.Model {
			s.Model = ev.Model
			window = transcript.WindowOf(&s, 0, rules).Tokens
		}
		ev.Window = window
	}
}

// earlier puts origins before copies and the older before the younger; those without any time come last.
func earlier(a, b transcript.Change) int {
	copied := func(c transcript.Change) int {
		if slices.ContainsFunc(c.Compactions, func(e transcript.Compaction) bool { return e.Copied }) {
			return 1
		}
		return 0
	}
	return cmp.Or(copied(a)-copied(b), cmp.Compare(uint64(a.Session.Started)-1, uint64(b.Session.Started)-1),
		cmp.Compare(a.Session.Active, b.Session.Active), strings.Compare(a.Name, b.Name), strings.Compare(a.Cursor.Path, b.Cursor.Path))
}
