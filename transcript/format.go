package transcript

import (
	"context"
	"io"
	"strings"
	"time"
)

// File is what is known of a transcript by its path.
type File struct {
	// Name is the session's id, or the subagent's own name. Several files may have one: a
	// session that was moved or copied, or one that goes on in another file.
	Name string
	// Parent is the id of the session whose subagent wrote the file; "" for a session's own
	// file, and where the path lacks it.
	Parent string
	// Subagent means that all records are of a subagent.
	Subagent bool
}

// Format is how one client keeps its transcripts: what they are called, where they lie, and
// how their lines add up. The code that finds and reads files needs nothing else of a client.
// Its functions may be called concurrently; the comment names those that may be nil.
type Format struct {
	// Client names the client; two formats of one name are the same.
	Client string
	// Identify parses the path of a file; ok is false if it is not a transcript. It
	// uses only the path; see [Facts] for what the records contain about the file.
	Identify func(path string) (f File, ok bool)
	// NewFold begins the fold of a file.
	NewFold func(f File) Fold
	// Content returns the text of a file that is not kept as lines, such as a compressed
	// one, and nil for one that is. The text can be read until ctx ends. Such a file is read
	// from its beginning whenever it has changed, and never followed. nil where all files
	// are kept as lines.
	Content func(ctx context.Context, path string, file io.ReaderAt, size int64) Text

	// Root is the name of a folder with all transcripts of a user. Folder reports
	// whether a folder may contain one of that name, and RootOf returns the root of a
	// session's transcript, by the form of the path. They are for folders that a client
	// has reported and that are not configured.
	Root   string
	Folder func(name string) bool
	RootOf func(path, session string) (root string, ok bool)

	// Registry is where the client notes its running processes, nil for nowhere.
	Registry *Registry
}

// Text is what a file holds. Size is in bytes, and math.MaxInt64 while that is unknown: reading
// then ends with io.EOF, after which Size is exact.
type Text interface {
	io.ReaderAt
	Size() int64
}

// Registry is a folder in which a client keeps a small file for each of its processes, or of
// its open sessions.
type Registry struct {
	// Dir is the folder that belongs to a root.
	Dir func(root string) string
	// Entry reports whether a file of that name is an entry.
	Entry func(name string) bool
	// Read reads an entry. whole is false when it may be half written.
	Read func(name string, text []byte) (c Client, whole bool)
	// Runs reports whether an entry is valid, and its present content; it is called each
	// second. If nil, an entry is valid while its process runs. An entry whose process
	// has ended never becomes valid again; one that Runs rejects may.
	Runs func(path string, c Client) (now Client, runs bool)
	// Index is the file that names the sessions below a root, and Names reads it: names
	// by session ID. Index is nil for a client without such a file.
	Index func(root string) (path string)
	Names func(text []byte) map[string]string
}

// Client is one running client, as its registry has it. What is absent or odd there is
// empty here. The names are those of Claude Code.
type Client struct {
	PID       int    `json:"pid"`
	Held      bool   `json:"-"` // a lock shows that it runs
	Holder    Holder `json:"-"`
	SessionID string `json:"sessionId"`
	CWD       string
	Version   string
	Name      string
	Status    string    // idle, busy, waiting, shell
	Waiting   string    `json:"waitingFor"` // for example "permission prompt"
	Tmux      string    // "session:@window.%pane"
	ProcStart string    `json:"procStart"` // the process's start time, to know a reused pid
	Updated   time.Time `json:"-"`
}

// Holder is the process that has a session open, as a lock shows. The zero value is one that
// the system does not show it.
type Holder struct {
	PID   int
	Start string // its start time, to know a reused pid
	// Own means that the client has a terminal, and so one user: a daemon has sessions
	// of several.
	Own bool
}

// Runs reports whether the client runs.
func (c Client) Runs() bool { return c.PID != 0 || c.Held }

// Within reports whether a cleaned path is a folder or in it.
func Within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(dir, "/"))
}
