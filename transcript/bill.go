package transcript

// BillReplies is how many replies after a boundary its bill covers.
const BillReplies = 25

// Billed is the kind of boundary of a bill.
type Billed uint8

// The boundaries of a context: it was compacted, it went on with a handoff document, or it was
// cleared without one.
const (
	BilledCompaction Billed = iota
	BilledHandoff
	BilledClear
)

// String is the kind as JSON writes it.
func (b Billed) String() string { return [...]string{"compaction", "handoff", "clear"}[b] }

// Bill is the cost of one boundary of a context: what the context lost, and which
// work in the next [BillReplies] replies had been done before. It grows while
// these replies come. Work is repeated if the same transcript has it before.
type Bill struct {
	Kind Billed
	// Key is the key of the compaction, see [Compaction]; for the opening of a session,
	// the key of the record with its initial context.
	Key     Key
	At      Instant
	Trigger Trigger // of a compaction
	// Before and After are the sizes of the context in tokens, 0 for unknown.
	Before, After int64
	// Millis is how long it took, 0 for unknown. Where an automatic compaction has no duration,
	// it is the time since the record before.
	Millis int64
	// Replies counts those that followed, up to BillReplies; Reads the calls in
	// them that read a file, Rereads those of a file that was read before.
	// Bytes is how much the rereads brought, Tokens by how much the context
	// grew by them: both are known once the next reply has come.
	Replies, Reads, Rereads int
	Bytes, Tokens           int64
	// Reruns counts commands that were run before, Reedits edits of files that were edited
	// before, Restated prompts with nearly the text of one before the boundary.
	Reruns, Reedits, Restated int
	// Regrown is after how many replies the context had grown by Tokens; 0 for not yet.
	Regrown int
	// Done means that the bill is final.
	Done bool
	// Files are those that were read again, at most BillFiles.
	Files []Reread
	// Work is what was done for the first time in this transcript after the
	// session's opening: the transcript before shows which of it was done again. Grown
	// is the growth of the context in tokens after each reply. Both are nil in other bills.
	Work  []Work
	Grown []int64
}

// BillFiles bounds the files that a bill names.
const BillFiles = 16

// Dropped is by how many tokens the context became smaller, 0 for unknown.
func (b *Bill) Dropped() int64 {
	if b.Before == 0 || b.After == 0 {
		return 0
	}
	return max(0, b.Before-b.After)
}

// Reread is a file that was read again.
type Reread struct {
	Key Key
	// Name is its path below the folder that the session works in, else its last element.
	Name   string
	Reads  int
	Tokens int64
}

// Work is a call that may repeat one of another transcript, or a prompt that may repeat
// one: then Tool is ToolOther, and Key a sketch of its text.
type Work struct {
	Tool          Tool
	Key           Key
	Name          string // of a file that is read
	Bytes, Tokens int64
}

// Worked is what was done by the transcript: files read, files edited and commands run, by keys
// that differ for each, and sketches of prompts.
type Worked struct {
	Keys, Prompts []Key
	// All means that the work is complete for the transcript, not only what is new.
	All bool
}
