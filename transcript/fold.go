package transcript

// Fold adds up the lines of one transcript, by the rules of the client that
// writes it. It remembers the records that counted, so it grows with its file.
// Of an idle file only the Session must be kept, because folding the file again
// restores the rest.
//
// The results depend only on the lines and their order. No line ends the fold:
// a line without a record is counted and skipped.
type Fold interface {
	// Line reads one line, without its newline, into e, and adds it; n is its
	// length with the newline, in bytes. fresh is false for records that change
	// only the times: repetitions of an earlier record of this file, records of
	// subagents, and records without a meaning. err is the reason why a line
	// holds no record; e is empty then.
	Line(line []byte, n int, e *Entry) (fresh bool, err error)
	// Peek returns the session after one more line, without changing the fold.
	// It is for a complete last line without its newline. ok is false if the
	// line is no record, or only the beginning of one. Peek is slow.
	Peek(line []byte) (s Session, ok bool)
	// KeepBills makes the fold produce bills. Call it before the first line.
	KeepBills()
	// Take returns the results of the lines since the last call. They belong to
	// the caller.
	Take() News
	// Sum returns the session so far. It belongs to the fold: copy it before
	// the next line.
	Sum() *Session
	// Facts returns the facts about the file from the records so far.
	Facts() Facts
}

// News are the results of some lines, in the order of the file.
type News struct {
	// Messages and Compactions are those that are new or have changed.
	Messages    []Message
	Compactions []Compaction
	// Bills are those that are new or have changed, and Worked is the work
	// done, if the fold produces bills.
	Bills  []Bill
	Worked Worked
	// Unknown are the names that are unknown to the fold.
	Unknown []UnknownName
}

// Facts are facts about a file from the records of some clients. For others
// they come from the path and the status line.
type Facts struct {
	// Title is the session's title so far; a subagent's file has none.
	Title Title
	// Cut means that the first record continues another one and that a
	// compaction follows. If the file had another beginning before, the client
	// has dropped the records that the compaction summarized.
	Cut bool
	// Limits are the newest rate limits in the records, for the whole account:
	// five hours, seven days; zero for none.
	Limits [2]Limit
}

// Limit is one window of an account's rate limits at a certain time; Used is 0
// to 1.
type Limit struct {
	At, Resets Instant
	Used       float64
}
