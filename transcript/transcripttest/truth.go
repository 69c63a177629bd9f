// Package transcripttest generates transcripts of Claude Code together with the
// figures that a reader must find in them, for tests and benchmarks.
//
// [Generate] writes a directory of transcripts, [Session] a single one, record by
// record, and [HandWritten] short ones for a certain case. The files in versions
// hold the records of each client version as the client writes them, with names in
// place of the values that change.
//
// Equal options give equal bytes and equal figures. The figures follow from what
// the generator writes; it never reads its own output.
package transcripttest

import (
	"time"

	"sm/transcript"
)

// Tokens are token counts of API messages.
type Tokens = transcript.Usage

// Spent counts API messages, each id once, and their tokens.
type Spent struct {
	Messages int
	Tokens   Tokens
}

func (s *Spent) add(o Spent) {
	s.Messages += o.Messages
	s.Tokens = s.Tokens.Plus(o.Tokens)
}

// The triggers that a compaction is made with.
const (
	Auto   = transcript.Auto
	Manual = transcript.Manual
)

// Figures are the counts of a file that depend on the other files: records copied
// from another file count only there.
type Figures struct {
	Spent             // of the session's own records
	Sidechain   Spent // of subagents' records in the file
	Compactions transcript.TriggerCounts
}

// FileTruth holds the figures of one transcript.
type FileTruth struct {
	SessionID string // for a subagent's file, of its session
	AgentID   string // of a subagent's file
	// Origin is the session that records were copied from, Family the first
	// session of that line, SessionID if nothing was copied.
	Origin, Family string
	CopyKind       CopyKind

	// ContextTokens is the newest reading by timestamp, the last one in the file
	// among equals. It is only valid if Known: there was a reading, and no
	// compaction after it.
	ContextTokens int64
	Known         bool
	Peak          int64 // the largest reading
	Turns         int   // prompts, including copied ones
	// Lines counts complete lines that are not blank, BadLines those among them
	// that are not a JSON object.
	Lines, BadLines       int
	Bytes, Tail           int64 // of the file, and of its unterminated last line
	Started, LastActivity time.Time
	Model                 string // of the newest reading
	Version, Cwd          string // the last ones in the file

	// Figures count what happened first in this file, Inherited the compactions
	// that were copied. Alone are the figures if there is no other file.
	Figures
	Inherited int
	Alone     Figures

	// Subagents sums up the subagents' records of a session, in its own file and
	// in those of the subagents.
	Subagents Subagents
}

// Subagents counts the messages of a session's subagents.
type Subagents struct {
	Files int
	Spent
}

// Truth holds the figures of all generated files.
type Truth struct {
	Files               map[string]*FileTruth // by path below the directory
	DistinctCompactions int                   // each once, however often it was copied
	Spent                                     // of sessions, each message once
}

// deed is the meaning of a record for the figures of its file.
type deed int

const (
	nothing  deed = iota
	reads         // a line of a message
	compacts      // a compaction
	merges        // the boundary of a compaction that was counted at its summary
	begins        // a prompt
	titles        // a title, which is a compaction unless a version is recorded
)

// effect is a deed with its figures.
type effect struct {
	deed    deed
	message string // "" for a message of its own
	tokens  Tokens
	context int64
	model   string
	trigger transcript.Trigger
	side    bool // of a subagent
	copied  bool // counts where it was copied from
}

// instant is the place of a record in time; of equal times the later line is newer.
type instant struct {
	at    time.Time
	order int
}

func (i instant) before(j instant) bool {
	return i.at.Before(j.at) || i.at.Equal(j.at) && i.order < j.order
}

// ledger computes the figures of one file while it is written.
type ledger struct {
	file    FileTruth
	titled  bool // a title was counted since the last reading
	newest  time.Time
	reading instant
	latest  instant // compaction
	costs   map[string]effect
}

// seen counts the timestamp of a record.
func (l *ledger) seen(at time.Time) {
	if at.IsZero() {
		return
	}
	if l.file.Started.IsZero() || at.Before(l.file.Started) {
		l.file.Started = at
	}
	if at.After(l.file.LastActivity) {
		l.file.LastActivity = at
	}
}

// book counts an effect that happened at a time.
func (l *ledger) book(e effect, at time.Time) {
	if e.deed == reads {
		l.spend(e)
	}
	if e.side {
		return
	}
	switch e.deed {
	case reads:
		l.read(e, l.place(at))
	case compacts, merges:
		l.compact(e, l.place(at))
	case begins:
		l.file.Turns++
	case titles:
		if l.file.Version == "" && l.reading.order > 0 && !l.titled {
			l.titled = true
			l.compact(e, l.place(time.Time{}))
		}
	}
}

// place returns when a record happened; without a time, that of the newest before.
func (l *ledger) place(at time.Time) instant {
	if at.IsZero() {
		at = l.newest
	}
	if at.After(l.newest) {
		l.newest = at
	}
	return instant{at, l.file.Lines}
}

func (l *ledger) read(e effect, now instant) {
	l.titled = false
	l.file.Peak = max(l.file.Peak, e.context)
	if l.reading.before(now) {
		l.reading = now
		l.file.ContextTokens = e.context
		if e.model != "" {
			l.file.Model = e.model
		}
	}
	l.file.Known = l.latest.before(l.reading)
}

func (l *ledger) compact(e effect, now instant) {
	if l.latest.before(now) {
		l.latest = now
	}
	l.file.Known = l.reading.order > 0 && l.latest.before(l.reading)
	l.count(e, e.trigger, 1)
	if e.deed == merges {
		l.count(e, transcript.Unknown, -1)
	} else if e.copied {
		l.file.Inherited++
	}
}

func (l *ledger) count(e effect, t transcript.Trigger, n int) {
	l.file.Alone.Compactions[t] += n
	if !e.copied {
		l.file.Compactions[t] += n
	}
}

// spend counts a message once, with its largest output.
func (l *ledger) spend(e effect) {
	if e.tokens == (Tokens{}) {
		return
	}
	old, known := l.costs[e.message]
	if e.message == "" || !known {
		l.costs[e.message] = e
		l.charge(e, Spent{1, e.tokens})
		return
	}

	// The lines of a message differ in their output alone.
	if more := e.tokens.Output - old.tokens.Output; more > 0 {
		l.charge(old, Spent{0, Tokens{Output: more}})
		old.tokens.Output = e.tokens.Output
		l.costs[e.message] = old
	}
}

func (l *ledger) charge(e effect, cost Spent) {
	for _, figures := range []*Figures{&l.file.Alone, &l.file.Figures} {
		switch {
		case e.copied && figures == &l.file.Figures:
		case e.side:
			figures.Sidechain.add(cost)
		default:
			figures.Spent.add(cost)
		}
	}
}
