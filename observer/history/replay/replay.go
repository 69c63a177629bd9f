// Package replay runs the observer's policy over past transcripts: which
// notices would have been sent when, and which compactions came without a
// warning.
//
// Invariants: each session is replayed separately, record by record, as if its
// file had been followed. Learned compaction sizes are passed from one session
// to the next, in the order in which the sessions began. The same transcripts
// and options give the same events.
//
// It reads no files and sends nothing to any agent.
package replay

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/clients"
)

// Options are the rules to replay by.
type Options struct {
	Policy  alerts.Options
	Windows []transcript.WindowRule
	Clients clients.Table
	Now     time.Time // creation time of the simulated state directory
}

// An Event is a notice or a compaction, one line of sm replay --json. Its
// fields are a contract.
type Event struct {
	Session string     `json:"session_id"`
	Path    string     `json:"path"`
	Project string     `json:"project"`
	At      *time.Time `json:"at"`    // null without a record with a time
	Event   string     `json:"event"` // notice, compaction
	Cycle   int        `json:"cycle"` // that of the notice, or the one that the compaction ended
	// Kind, To, Mode and Text are those of a notice.
	Kind string `json:"kind,omitempty"`
	To   string `json:"to,omitempty"`
	Mode string `json:"delivery_mode,omitempty"`
	Text string `json:"text,omitempty"`
	// Trigger, PreTokens and Warned are those of a compaction.
	Trigger   string `json:"trigger,omitempty"`
	PreTokens int64  `json:"pre_tokens,omitempty"`
	Warned    *bool  `json:"warned,omitempty"`
	// Threshold is the size at which the client was assumed to compact,
	// ThresholdSource its source: configured, seen, assumed.
	Threshold       int64  `json:"threshold_tokens,omitempty"`
	ThresholdSource string `json:"threshold_source,omitempty"`
}

// Run replays each session, in the order of changes, and returns all events by
// time, those without a time first. It drops the records of changes. The error
// means that ctx has ended, or that the policy is invalid.
func Run(ctx context.Context, changes []transcript.Change, o Options) ([]Event, error) {
	f := fleet.New(fleet.Options{
		Windows:    o.Windows,
		Clients:    o.Clients,
		Thresholds: o.Policy.Thresholds,
	}, fleet.Stored{
		Created: o.Now,
		Settled: true,
	})
	var all []Event
	var learned []alerts.ObservedCompactions
	for i := range changes {
		if ended := ctx.Err(); ended != nil {
			return nil, ended
		}
		c := &changes[i]
		c.Whole = false // record for record, as if the file had been followed
		events := f.Apply(*c).Events
		if len(events) == 0 {
			continue
		}
		engine, err := alerts.New(o.Policy)
		if err != nil {
			return nil, err
		}
		engine.Restore(alerts.State{Learned: learned})
		p := player{cycle: 1, session: Event{
			Session: cmp.Or(c.Session.ID, c.Name),
			Path:    c.Cursor.Path,
			Project: c.Session.CWD[strings.LastIndexAny(c.Session.CWD, `/\`)+1:],
		}}
		p.play(engine, events)
		all = append(all, p.events...)
		learned = engine.Learned()
		c.Entries = nil
		c.Messages = nil
	}
	slices.SortStableFunc(all, func(a, b Event) int {
		never := &time.Time{}
		return cmp.Or(a.At, never).Compare(*cmp.Or(b.At, never))
	})
	return all, nil
}

// A player passes the events of one session to an engine, and keeps the
// results.
type player struct {
	session Event // the common fields of its events
	events  []Event
	now     time.Time
	cycle   int // the present one
}

// play passes the events to the engine, and advances the time between them.
func (p *player) play(engine *alerts.Engine, events []alerts.Event) {
	next := time.Time{}
	tick := func(now time.Time) {
		var actions []alerts.Action
		actions, next = engine.Tick(now)
		p.note(engine, actions)
	}
	for _, ev := range events {
		if ev.At.After(p.now) {
			for !next.IsZero() && next.Before(ev.At) {
				tick(next)
			}
			p.now = ev.At
			tick(ev.At)
		}
		before := p.cycle
		p.note(engine, engine.Step(ev))
		if ev.Kind == alerts.EventCompacted && !ev.History && p.cycle == before {
			// It opened no cycle, so it had no notice before it: a fork writes
			// copied compactions after newer records.
			p.compacted(alerts.Opened{
				At:        ev.At,
				Cycle:     p.cycle + 1,
				Trigger:   ev.Trigger,
				PreTokens: ev.PreTokens,
			})
		}
	}
}

func (p *player) add(event string, at time.Time, cycle int) *Event {
	e := p.session
	e.Event = event
	e.At = recorded(at)
	e.Cycle = cycle
	p.events = append(p.events, e)
	return &p.events[len(p.events)-1]
}

func (p *player) compacted(x alerts.Opened) {
	e := p.add("compaction", x.At, x.Cycle-1)
	e.Trigger = x.Trigger.String()
	e.PreTokens = x.PreTokens
	e.Warned = &x.Warned
}

func (p *player) note(engine *alerts.Engine, actions []alerts.Action) {
	for _, action := range actions {
		switch x := action.(type) {
		case alerts.Deliver:
			e := p.add("notice", x.At, x.Key.Cycle)
			if v := engine.Agent(x.Key.Agent); x.To.Role == alerts.Self &&
				v.Threshold > 0 {
				e.Threshold = v.Threshold
				e.ThresholdSource = v.ThresholdSource.String()
			}
			e.Kind = x.Key.Kind.String()
			e.To = x.To.Role.String()
			e.Mode = x.Mode.String()
			e.Text = x.Text
		case alerts.Opened:
			p.cycle = x.Cycle
			if x.Cause == alerts.CauseCompaction {
				p.compacted(x)
			}
		}
	}
}

// recorded returns the time of a record, nil for none: records without a time
// are counted from the year 1.
func recorded(t time.Time) *time.Time {
	if t.Year() < 1971 {
		return nil
	}
	return &t
}
