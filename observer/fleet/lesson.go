package fleet

import (
	"time"

	"sm/alerts"
	"sm/observer/fleet/backlog"
	"sm/transcript"
	"sm/transcript/clients"
)

// lesson is what one file of the history shows of how contexts grow.
type lesson struct {
	sizes       []int64 // of the context with each message, 0 where it says nothing of this session
	compactions []taught
}

// taught is a compaction; one that happened in another session teaches there.
type taught struct {
	*backlog.Compaction
	own bool
}

// reply adds a message that has been claimed; own says that it is the session's.
func (l *lesson) reply(o *origins, x *file, m *transcript.Message, own bool) {
	if o.options.Teach == nil || x.sub {
		return
	}
	size := int64(0)
	if !m.Side && own {
		if size = m.Usage.Context(); clients.Of(&x.Session) == clients.Codex {
			size += m.Usage.Output // its context includes what was answered
		}
	}
	l.sizes = append(l.sizes, size)
}

func (l *lesson) compaction(c *backlog.Compaction, own bool) {
	l.compactions = append(l.compactions, taught{c, own})
}

// replyTakes is how long a reply is taken to have lasted: long enough for signs of two not to count as one.
const replyTakes = time.Minute

// teach hands the lesson to Options.Teach, if that is set.
func (l *lesson) teach(o *origins, x *file, seen *alerts.ObservedCompactions) {
	if o.options.Teach == nil || len(l.sizes) == 0 || len(l.compactions) == 0 {
		return
	}
	at, newest := x.Session.Started.Time(), int64(0)
	var events []alerts.Event
	add := func(ev alerts.Event) {
		at = at.Add(replyTakes)
		ev.Agent, ev.At, ev.Model, ev.Window, ev.CompactsAt = alerts.AgentID(x.of.key), at, seen.Model, seen.Window, seen.CompactsAt
		events = append(events, ev)
	}
	for i := range l.sizes {
		for ; len(l.compactions) > 0 && l.compactions[0].After <= i; l.compactions = l.compactions[1:] {
			add(l.compactions[0].event())
			newest = 0
		}
		size := l.sizes[i]
		switch {
		case size == 0:
			continue
		case size < newest/2: // the conversation was rewound: no compaction will tell what was foreseen in it
			add(alerts.Event{Kind: alerts.EventReset, Cause: alerts.CauseRewind, Tokens: size})
		}
		newest = size
		add(alerts.Event{Kind: alerts.EventReading, Tokens: size, Source: transcript.FromTranscript})
	}
	for _, c := range l.compactions {
		add(c.event())
	}
	o.options.Teach(events)
}

// event is the compaction as the engine hears of it.
func (c *taught) event() alerts.Event {
	ev := alerts.Event{Kind: alerts.EventCompacted, Sign: alerts.SignBoundary, Key: c.Key, Trigger: c.Trigger, PreTokens: c.PreTokens}
	if !c.own {
		ev.Trigger = transcript.Unknown
	}
	return ev
}
