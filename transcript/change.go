package transcript

// Cursor is how far a file has been read, with what identifies the file
// again. It is what a restart needs to read only what is new.
type Cursor struct {
	// Path is the file's name as it was found.
	Path string
	// Dev and Ino are the file's device and inode.
	Dev, Ino uint64
	// Offset is the end of the last complete line read, in bytes.
	Offset int64
	// Size and Modified are the results of stat when Offset was reached. A file with
	// the same results has nothing new. Modified is in nanoseconds since 1970,
	// negated if it was too recent to distinguish the file from one that is
	// rewritten at once.
	Size, Modified int64
	// Head is the key of the file's first bytes (at most 1024, of complete lines),
	// Tail of those before Offset (at most 64): a file in which they differ has
	// been rewritten.
	Head, Tail Key
}

// Change is news of one transcript file.
type Change struct {
	// Cursor is where reading goes on after this change.
	Cursor Cursor
	// Client is whose format the file has.
	Client string
	// Name is the session's id, or the subagent's name, see [File].
	Name string
	// Parent is the id of the session whose subagent wrote the file; "" for a
	// session's own file.
	Parent string
	// Facts are those of the file so far.
	Facts
	// Alone means that the file was named by the user: a subagent's file then counts
	// by itself.
	Alone bool
	// Whole means that the file was read from its beginning, because it is new or its
	// beginning changed: Messages and Compactions then have all of it, and Entries only
	// its newest records. Otherwise they have the records of the new lines.
	Whole bool
	// CaughtUp means that everything that existed at the start has been reported. No
	// other field is set then.
	CaughtUp bool
	// Gone means that the file was deleted. Only Cursor.Path, Name and Parent are set.
	Gone bool
	// From is the path that the file had before, when it has been moved; else "".
	From string
	// Session is the sum over the file.
	Session Session
	// News is what the new records have brought. Its Worked is complete in the first change
	// of a file.
	News
	// Entries are the new records that mean something, in the order of the file. Of
	// their byte slices only a reading's Model is set, and Version, which is that of
	// the session at the record. Of a whole file they are those of the last 10
	// minutes.
	Entries []Entry
}
