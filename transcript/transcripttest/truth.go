// Package transcripttest makes fleets of Claude Code transcripts together with the
// truth about them, for tests, fuzz seeds, benchmarks and an independent check of
// whatever reads transcripts.
//
// [Generate] writes a whole fleet; a [Session] writes one transcript, line by line,
// so that a test can look in between; [Oracle] reads a transcript slowly and plainly.
//
// Invariants: equal options give equal bytes and equal truth, in every run. Truth
// is kept by what the generator means while it writes, never by reading again what
// it wrote; the oracle knows nothing of the generator and decodes with
// encoding/json alone, so that the two check each other. Records look as the real
// clients of their [Era] write them: fields, order of keys, order of records.
//
// It checks nothing: whether a reader is right is for the test that uses it. It
// imports nothing of the project that it tests, and it is not meant to be fast,
// except that [Generate] fills a gigabyte within seconds.
package transcripttest

import "time"

// Tokens are token counts of API messages.
type Tokens struct {
	Input, CacheCreation, CacheRead, Output int64
}

// Context is the size of the context that the figures describe: input, no output.
func (t Tokens) Context() int64 { return t.Input + t.CacheCreation + t.CacheRead }

func (t Tokens) plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.CacheCreation + u.CacheCreation, t.CacheRead + u.CacheRead, t.Output + u.Output}
}

func (t Tokens) minus(u Tokens) Tokens {
	return Tokens{t.Input - u.Input, t.CacheCreation - u.CacheCreation, t.CacheRead - u.CacheRead, t.Output - u.Output}
}

// Spent counts API messages, each id once, and what they cost.
type Spent struct {
	Messages int
	Tokens   Tokens
}

func (s *Spent) add(t Tokens) { s.plus(Spent{1, t}) }

func (s *Spent) plus(o Spent) {
	s.Messages += o.Messages
	s.Tokens = s.Tokens.plus(o.Tokens)
}

// Compactions counts compactions by what set them off.
type Compactions struct {
	Auto, Manual, Unknown int
}

// Total is the sum.
func (c Compactions) Total() int { return c.Auto + c.Manual + c.Unknown }

func (c *Compactions) add(t Trigger, n int) {
	switch t {
	case Auto:
		c.Auto += n
	case Manual:
		c.Manual += n
	default:
		c.Unknown += n
	}
}

// Figures are those counts of a file that depend on whether other files are known:
// what a file copied from another one counts there and not here.
type Figures struct {
	Spent             // of the session's own records
	Sidechain   Spent // of the subagents' records (isSidechain) that stand in the file
	Compactions Compactions
}

// FileTruth is what one transcript holds.
type FileTruth struct {
	// SessionID is that of the file's name; for a subagent's file, of its session.
	// The oracle, which knows no name, takes the first that a record names.
	SessionID string
	// AgentID is that of a subagent's file, else empty.
	AgentID string
	// Origin is the session that this file copied records from, and Family the
	// first of that line; Family is the SessionID where nothing is copied.
	Origin, Family string
	// CopyKind says how the file was copied, None where it was not.
	CopyKind CopyKind

	// ContextTokens is the newest reading by timestamp, of equal times the last in
	// the file. It says nothing unless Known: not before the first reading, nor
	// after a compaction that is newer than the newest reading.
	ContextTokens int64
	Known         bool
	// Peak is the largest reading.
	Peak int64
	// Turns counts prompts, copied ones too.
	Turns int
	// Lines counts complete lines that are not blank; BadLines those of them that
	// are no JSON object.
	Lines, BadLines int
	// Bytes is the size of the file, Tail that of its unterminated last line.
	Bytes, Tail int64
	// Started and LastActivity are the oldest and newest timestamps.
	Started, LastActivity time.Time
	// Model is that of the newest reading; Version and Cwd are the last ones named,
	// be it by a replay.
	Model, Version, Cwd string

	// Figures count what happened first in this file, Inherited the compactions
	// that it copied. Alone is the same when no other file is known: copies count
	// in full there.
	Figures
	Inherited int
	Alone     Figures

	// Subagents adds up, for a session's own file, the subagents' records in it
	// and in the session's subagent files.
	Subagents Subagents
}

// Subagents is what a session's subagents cost.
type Subagents struct {
	Files int
	Spent
}

// Truth is what a fleet of transcripts holds.
type Truth struct {
	// Files is keyed by path below the directory, with slashes.
	Files map[string]*FileTruth
	// DistinctCompactions counts the compactions of sessions, each once however
	// often it was copied; compactions of subagents are none.
	DistinctCompactions int
	// Spent counts the messages of sessions, Subagents those of subagents: each
	// id once in the whole fleet.
	Spent
	Subagents Spent
	// Lines, BadLines and Bytes are sums over all files.
	Lines, BadLines int
	Bytes           int64
}

// add takes a finished file into the fleet.
func (t *Truth) add(path string, f *FileTruth) {
	t.Files[path] = f
	t.DistinctCompactions += f.Compactions.Total()
	t.Spent.plus(f.Spent)
	t.Subagents.plus(f.Sidechain)
	t.Lines += f.Lines
	t.BadLines += f.BadLines
	t.Bytes += f.Bytes
}
