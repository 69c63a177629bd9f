// Package transcripttest generates transcripts of Claude Code together with the
// figures that a reader must find in them, for tests and benchmarks.
//
// [Generate] writes a directory of transcripts, [Session] makes a single one,
// record by record, and [HandWritten] short ones for a particular case. The
// files in versions contain the records of each client version as the client
// writes them, with names in place of the values that change.
//
// Equal options result in equal bytes and equal figures. The generator computes
// the figures from the records that it writes; it never reads its own output.
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

// Figures are the counts of a file that depend on the other files: records copied
// from another file count only there.
type Figures struct {
	Spent       // of the session's own records
	Compactions transcript.TriggerCounts
}

// FileTruth holds the expected figures of one transcript.
type FileTruth struct {
	SessionID string // for a subagent's file, of its session
	AgentID   string // of a subagent's file
	Family    string // the first session that records were copied from, SessionID if none were

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
	Tail                  int64 // bytes of the unterminated last line
	Started, LastActivity time.Time
	Model                 string // of the newest reading
	Version, Cwd          string // the last ones in the file

	// Figures count the events that happened first in this file, Inherited the
	// copied compactions. Alone are the figures if there is no other file.
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

// count adds a record to the figures of its file.
func (s *Session) count(r *record) {
	t := &s.truth
	figures := []*Figures{&t.Alone}
	if !r.copied {
		figures = append(figures, &t.Figures)
	}
	reads := r.usage != Tokens{}
	switch {
	case r.side && reads && !r.copied:
		t.Subagents.add(s.cost(r))
	case r.side:
	case r.prompt:
		t.Turns++
	case reads:
		cost := s.cost(r)
		for _, f := range figures {
			f.Spent.add(cost)
		}
		t.Peak = max(t.Peak, r.usage.Context())
		if !r.at.Before(s.reading) {
			s.reading = r.at
			t.ContextTokens = r.usage.Context()
			t.Model = r.values["model"]
			t.Known = !r.at.Before(s.compaction)
		}
	case r.compacts:
		if !r.at.Before(s.compaction) {
			s.compaction = r.at
		}
		t.Known = t.Known && r.at.Before(s.reading)
		for _, f := range figures {
			f.Compactions[r.trigger]++
		}
		if r.copied {
			t.Inherited++
		}
	}
}

// cost returns the share of a line in the cost of its message, which counts
// once and with the largest output. The lines of a message differ only in their
// output.
func (s *Session) cost(r *record) Spent {
	id := r.values["message"]
	charged, known := s.outputs[id]
	s.outputs[id] = max(charged, r.usage.Output)
	if !known {
		return Spent{1, r.usage}
	}
	return Spent{Tokens: Tokens{Output: s.outputs[id] - charged}}
}
