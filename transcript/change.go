package transcript

// Cursor says how far a file has been read, and by what the file can be known
// again. It is what a restart needs to read only what is new.
type Cursor struct {
	// Path is the file's name as it was found.
	Path string
	// Dev and Ino are the file's device and inode.
	Dev, Ino uint64
	// Offset is the end of the last complete line read, in bytes.
	Offset int64
	// Size and Modified are what stat said when Offset was reached: a file for
	// which it says the same again has nothing new. Modified is in nanoseconds
	// since 1970, negated when it was too young to tell the file from one written
	// again at once.
	Size, Modified int64
	// Head is the key of the file's first bytes (at most 1024, of complete lines),
	// Tail of those before Offset (at most 64): a file in which they differ has
	// been rewritten.
	Head, Tail Key
}

// Change is news of one transcript file.
type Change struct {
	// Cursor is where reading stands after this change.
	Cursor Cursor
	// Client is whose format the file has.
	Client string
	// Name is the session's id, or the subagent's name, see [File].
	Name string
	// Parent is the id of the session whose subagent wrote the file; "" for a
	// session's own file.
	Parent string
	// Title is the session's title by the file, if any; Limits are those of [Facts].
	Title  Title
	Limits [2]Limit
	// Cut is that of [Facts].
	Cut bool
	// Alone says that the file was asked for by its name: a subagent's then stands
	// for itself.
	Alone bool
	// Whole says that the file was read from its beginning because it is new, or
	// no longer what it was: Messages and Compactions then list all of it, and
	// Entries its newest records alone. Otherwise they list what the new lines
	// brought.
	Whole bool
	// CaughtUp says that all that existed at the start has been reported; nothing
	// else is set then.
	CaughtUp bool
	// Gone says that the file has been deleted; only Cursor.Path, Name and Parent
	// are set.
	Gone bool
	// From is the path that the file had before, when it has been moved; else "".
	From string
	// Session is the sum over the file.
	Session Session
	// Messages and Compactions are those that are new or changed.
	Messages    []Message
	Compactions []Compaction
	// Bills are those of the file's boundaries that are new or have changed, and Worked is what
	// was done since they were told last: of files whose bills somebody asked for.
	Bills  []Bill
	Worked Worked
	// Unknown are the names in the new records that their reader does not know.
	Unknown []UnknownName
	// Entries are the new records that mean something, in the order of the file. Of
	// their byte slices only a reading's Model is set. Of a whole file they are those
	// of the last 10 minutes, 4096 at most.
	Entries []Entry
}
