package transcript

// Cursor is the position up to which a file has been read, and the data that
// identify the file. A restart needs it to read only new lines.
type Cursor struct {
	// Path is the path under which the file was found.
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
	// Head is the key of the file's first bytes (at most 1024, of complete
	// lines), Tail of the bytes before Offset (at most 64). If they differ, the
	// file has been rewritten.
	Head, Tail Key
}

// Change is a change of one transcript file.
type Change struct {
	// Cursor is the position after this change.
	Cursor Cursor
	// Client is the name of the client whose format the file has.
	Client string
	// Name is the session's id, or the subagent's name, see [File].
	Name string
	// Parent is the id of the session whose subagent wrote the file; "" for a
	// session's own file.
	Parent string
	// Facts are the facts about the file so far.
	Facts
	// Alone means that the user named the file: a subagent's file then counts
	// as a session of its own.
	Alone bool
	// Whole means that the file was read from its beginning, because it is new
	// or its beginning changed. Messages and Compactions then are those of the
	// complete file, and Entries only its newest records. Otherwise they are
	// those of the new lines.
	Whole bool
	// CaughtUp means that all files that existed at the start have been
	// reported. No other field is set then.
	CaughtUp bool
	// Gone means that the file was deleted. Only Cursor.Path, Name and Parent are set.
	Gone bool
	// From is the previous path of a file that was moved; else "".
	From string
	// Session is the sum of the file's records.
	Session Session
	// News are the results of the new records. Worked is complete in the first
	// change of a file.
	News
	// Entries are the new records with a meaning, in the order of the file. Of
	// their byte slices only the Model of a reading and Version are set;
	// Version is that of the session at the record. If Whole, they are the
	// records of the last 10 minutes.
	Entries []Entry
}
