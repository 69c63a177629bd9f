package transcript

// BillReplies is the number of replies after a boundary that its bill covers.
const BillReplies = 25

// Billed is the kind of a bill's boundary.
type Billed uint8

// The boundaries of a context: it was compacted, replaced by one that continues
// from a handoff document, or cleared without a document.
const (
	BilledCompaction Billed = iota
	BilledHandoff
	BilledClear
)

// String returns the kind as JSON writes it.
func (b Billed) String() string { return [...]string{"compaction", "handoff", "clear"}[b] }

// Bill is the cost of one boundary of a context: the size that the context
// lost, and the work in the next [BillReplies] replies that had been done
// before. It grows until these replies have been read. Work is repeated if the
// same transcript contains it before.
type Bill struct {
	Kind Billed
	// Key is the key of the compaction, see [Compaction]; for the opening of a
	// session, the key of the record with its initial context.
	Key     Key
	At      Instant
	Trigger Trigger // of a compaction
	// Before and After are the sizes of the context in tokens, 0 for unknown.
	Before, After int64
	// Millis is the duration of the boundary, 0 for unknown. For an automatic
	// compaction without a recorded duration it is the time since the previous
	// record.
	Millis int64
	// Replies counts the replies after the boundary, up to BillReplies. Reads
	// counts their calls that read a file, Rereads those that read a file
	// again. Bytes is the size of the rereads, Tokens the growth of the context
	// by them; both are known once the next reply has been read.
	Replies, Reads, Rereads int
	Bytes, Tokens           int64
	// Reruns counts commands that were run before, Reedits edits of files that
	// were edited before, Restated prompts with nearly the text of a prompt
	// before the boundary.
	Reruns, Reedits, Restated int
	// Regrown is the number of replies after which the context had grown by
	// Tokens; 0 for not yet.
	Regrown int
	// Done means that the bill is final.
	Done bool
	// Files are the files that were read again, at most BillFiles.
	Files []Reread
	// Work is the work done for the first time in this transcript after the
	// session's opening. The previous session's transcript shows which part of
	// it is repeated. Grown is the growth of the context in tokens after each
	// reply. Both are nil in other bills.
	Work  []Work
	Grown []int64
}

// BillFiles limits the files that a bill names.
const BillFiles = 16

// Dropped returns by how many tokens the context became smaller, 0 for unknown.
func (b *Bill) Dropped() int64 {
	if b.Before == 0 || b.After == 0 {
		return 0
	}
	return max(0, b.Before-b.After)
}

// Reread is a file that was read again.
type Reread struct {
	Key Key
	// Name is the path below the folder in which the session works, else the
	// last element of the path.
	Name   string
	Reads  int
	Tokens int64
}

// Work is a call that may repeat a call of another transcript, or a prompt that
// may repeat a prompt of it. For a prompt, Tool is ToolOther and Key a sketch
// of its text.
type Work struct {
	Tool          Tool
	Key           Key
	Name          string // of a file that is read
	Bytes, Tokens int64
}

// Worked is the work of a transcript: keys of files read, files edited and
// commands run, which differ by kind, and sketches of prompts.
type Worked struct {
	Keys, Prompts []Key
	// All means that this is all work of the transcript, not only new work.
	All bool
}
