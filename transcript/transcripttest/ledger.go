package transcripttest

import "time"

// deed is what a record means for the truth of its file.
type deed uint8

const (
	nothing  deed = iota
	reads         // a message's line: spends tokens and tells the context
	spends        // a message's line that does not tell the context
	compacts      // a compaction
	merges        // the boundary of a compaction that its summary was counted for
	begins        // a prompt
	titles        // a title, which is a compaction where no client is named
	narrates      // the summary of a boundary, which counts already
)

// effect is a deed with its figures.
type effect struct {
	deed    deed
	message string // id; empty: a message of its own
	tokens  Tokens
	context int64 // 0: as the tokens say
	model   string
	trigger Trigger
	side    bool // of a subagent
	copied  bool // counts where it was copied from
	undated bool // the record names no readable time
}

func (e *effect) size() int64 {
	if e.context > 0 {
		return e.context
	}
	return e.tokens.Context()
}

// cost is what a message was counted for.
type cost struct {
	Tokens
	side, copied bool
}

// ledger keeps the truth of one file while it is written.
type ledger struct {
	file    FileTruth
	named   bool // a record has named a client version
	titled  bool // a title was counted since the last reading
	order   int
	newest  time.Time // of readings and compactions
	reading instant
	latest  instant // compaction
	costs   map[string]cost
}

// instant is when something happened: a time, and of equal times the later line.
type instant struct {
	at    time.Time
	order int
}

func (i instant) before(j instant) bool {
	return i.at.Before(j.at) || i.at.Equal(j.at) && i.order < j.order
}

// line counts a complete line of n bytes, its newline among them.
func (l *ledger) line(n int) {
	l.file.Bytes += int64(n)
	l.file.Lines++
	l.order++
}

// seen takes a record's envelope.
func (l *ledger) seen(at time.Time, version, cwd string) {
	if version != "" {
		l.file.Version, l.named = version, true
	}
	if cwd != "" {
		l.file.Cwd = cwd
	}
	if at.IsZero() {
		return
	}
	at = at.UTC().Truncate(time.Millisecond)
	if l.file.Started.IsZero() || at.Before(l.file.Started) {
		l.file.Started = at
	}
	if at.After(l.file.LastActivity) {
		l.file.LastActivity = at
	}
}

// book enters an effect that happened at a time.
func (l *ledger) book(e *effect, at time.Time) {
	at = at.UTC().Truncate(time.Millisecond)
	switch e.deed {
	case reads, spends:
		l.spend(e)
		if e.deed == reads && !e.side {
			l.read(e, at)
		}
	case compacts, merges:
		if !e.side {
			l.compact(e, at)
		}
	case begins:
		if !e.side {
			l.file.Turns++
		}
	case titles:
		if !l.named && l.reading.order > 0 && !l.titled {
			l.titled = true
			l.compact(e, time.Time{})
		}
	}
}

// place puts an event in time; an undated one happens when the newest did.
func (l *ledger) place(at time.Time) instant {
	if at.IsZero() {
		at = l.newest
	}
	if at.After(l.newest) {
		l.newest = at
	}
	return instant{at, l.order}
}

func (l *ledger) read(e *effect, at time.Time) {
	now := l.place(at)
	l.titled = false
	l.file.Peak = max(l.file.Peak, e.size())
	if l.reading.before(now) {
		l.reading = now
		l.file.ContextTokens = e.size()
		if e.model != "" {
			l.file.Model = e.model
		}
	}
	l.file.Known = l.latest.before(l.reading)
}

func (l *ledger) compact(e *effect, at time.Time) {
	if now := l.place(at); l.latest.before(now) {
		l.latest = now
	}
	l.file.Known = l.reading.order > 0 && l.latest.before(l.reading)
	l.count(e.trigger, 1, e.copied)
	if e.deed == merges {
		l.count(UnknownTrigger, -1, e.copied)
	} else if e.copied {
		l.file.Inherited++
	}
}

func (l *ledger) count(t Trigger, n int, copied bool) {
	l.file.Alone.Compactions.add(t, n)
	if !copied {
		l.file.Compactions.add(t, n)
	}
}

// spend counts a message once, at its largest output.
func (l *ledger) spend(e *effect) {
	if e.tokens == (Tokens{}) {
		return
	}
	old, known := l.costs[e.message]
	if e.message == "" || !known {
		c := cost{e.tokens, e.side, e.copied}
		l.costs[e.message] = c
		l.charge(c, e.tokens, 1)
		return
	}
	// The lines of a message differ in their output alone.
	if more := e.tokens.Output - old.Output; more > 0 {
		l.charge(old, Tokens{Output: more}, 0)
		old.Output = e.tokens.Output
		l.costs[e.message] = old
	}
}

func (l *ledger) charge(c cost, t Tokens, messages int) {
	books := []*Spent{&l.file.Alone.Spent, &l.file.Spent}
	if c.side {
		books = []*Spent{&l.file.Alone.Sidechain, &l.file.Sidechain}
	}
	if c.copied {
		books = books[:1]
	}
	for _, s := range books {
		s.plus(Spent{messages, t})
	}
}
