package transcript

// Fold adds up the lines of one transcript, by the rules of the client that writes it. It
// remembers the records that counted, so it grows with its file; what must be kept of an
// idle file is its Session alone, for folding the file again gives the rest.
//
// What it gives depends on the lines and their order alone. No line is an error that ends
// it: one that holds no record is counted and passed over.
type Fold interface {
	// Line reads one line, without its newline, into e, and adds it; n is its length with
	// the newline, in bytes. fresh is false for records that change nothing but the times:
	// those that repeat an earlier one of this file, those of subagents, and those of no
	// meaning. err is the reason why a line holds no record; e is empty then.
	Line(line []byte, n int, e *Entry) (fresh bool, err error)
	// Peek returns the session after one line more, and does not change the fold: for
	// a complete last line without its newline. ok is false if the line is no record,
	// or only the beginning of one. It is slow.
	Peek(line []byte) (s Session, ok bool)
	// KeepBills has the fold make bills, from its first line on.
	KeepBills()
	// Take returns what the lines since the last call have brought. It is the caller's.
	Take() News
	// Sum is the session so far. It is the fold's own: copy it before the next line.
	Sum() *Session
	// Facts are the facts about the file by the records so far.
	Facts() Facts
}

// News is what some lines have brought, in the order of the file.
type News struct {
	// Messages and Compactions are those that are new or have changed.
	Messages    []Message
	Compactions []Compaction
	// Bills are those that are new or have changed, and Worked is what was done, where
	// the fold makes bills.
	Bills  []Bill
	Worked Worked
	// Unknown are the names that the fold does not know.
	Unknown []UnknownName
}

// Facts are facts about a file that the records of some clients have; others
// leave them to its path and to the status line.
type Facts struct {
	// Title is the session's title so far; none of a subagent's file.
	Title Title
	// Cut means that the first record continues another and a compaction follows: if
	// the file had another beginning before, the client has dropped the records that
	// the compaction summarized.
	Cut bool
	// Limits are the newest rate limits that the records name, of the whole account: five
	// hours, seven days; zero for none.
	Limits [2]Limit
}

// Limit is one window of an account's rate limits at a time; Used is 0 to 1.
type Limit struct {
	At, Resets Instant
	Used       float64
}
