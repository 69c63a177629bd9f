package transcript

import (
	"context"
	"io"
	"strings"
	"time"
)

// File has the facts that the path of a transcript shows.
type File struct {
	// Name is the session's id, or the subagent's own name. Several files may
	// have the same name: if a session was moved or copied, or continues in
	// another file.
	Name string
	// Parent is the id of the session whose subagent wrote the file; "" for a
	// session's own file, and if the path lacks it.
	Parent string
	// Subagent means that all records are from a subagent.
	Subagent bool
}

// Format describes the transcripts of one client: their names, their folders,
// and how their lines add up. The code that finds and reads files needs nothing
// else about a client. Its functions may be called concurrently; only those
// whose comments say so may be nil.
type Format struct {
	// Client is the name of the client; two formats of the same name are the
	// same.
	Client string
	// Identify parses the path of a file; ok is false if it is not a
	// transcript. It uses only the path; see [Facts] for the facts in the
	// records.
	Identify func(path string) (f File, ok bool)
	// NewFold returns a new fold for a file.
	NewFold func(f File) Fold
	// Content returns the text of a file that does not consist of lines, such
	// as a compressed one, and nil for a file that does. The text can be read
	// until ctx ends. A file with a Content is read from its beginning whenever
	// it has changed, and never followed. Content may be nil, if all files
	// consist of lines.
	Content func(ctx context.Context, path string, file io.ReaderAt, size int64) Text

	// Root is the name of a folder with all transcripts of a user. Folder
	// reports whether a folder of that name may be in it, and RootOf returns
	// the root of a session's transcript, by the form of the path. They are for
	// folders that a client has reported and that are not configured.
	Root   string
	Folder func(name string) bool
	RootOf func(path, session string) (root string, ok bool)

	// Registry describes the client's files about its running processes. It may
	// be nil, for a client without them.
	Registry *Registry
}

// Text is the text of a file. Size is in bytes, and math.MaxInt64 while that is
// unknown: reading then ends with io.EOF, after which Size is exact.
type Text interface {
	io.ReaderAt
	Size() int64
}

// Registry is a folder in which a client keeps a small file for each of its
// processes, or of its open sessions.
type Registry struct {
	// Dir returns the folder that belongs to a root.
	Dir func(root string) string
	// Entry reports whether a file of that name is an entry.
	Entry func(name string) bool
	// Read parses an entry. whole is false if the entry may be incomplete.
	Read func(name string, text []byte) (c Client, whole bool)
	// Runs reports whether an entry is valid, and its present content; it is
	// called each second. If nil, an entry is valid while its process runs. An
	// entry whose process has ended never becomes valid again; an entry that
	// Runs rejects may.
	Runs func(path string, c Client) (now Client, runs bool)
	// Index returns the path of the file that names the sessions below a root,
	// and Names parses it: names by session id. Index is nil for a client
	// without such a file.
	Index func(root string) (path string)
	Names func(text []byte) map[string]string
}

// Client is one running client, according to its registry. Members that are
// missing or invalid there are empty. The names are those of Claude Code.
type Client struct {
	PID       int    `json:"pid"`
	Held      bool   `json:"-"` // a lock proves that it runs
	Holder    Holder `json:"-"`
	SessionID string `json:"sessionId"`
	CWD       string
	Version   string
	Name      string
	Status    string    // idle, busy, waiting, shell
	Waiting   string    `json:"waitingFor"` // for example "permission prompt"
	Tmux      string    // "session:@window.%pane"
	ProcStart string    `json:"procStart"` // the process's start time, to detect a reused pid
	Updated   time.Time `json:"-"`
	// Starting means that the client has not updated its entry since it started.
	// The entry may name a session that the client leaves at once for the one it
	// continues.
	Starting bool `json:"-"`
}

// Holder is the process that holds the lock of an open session. It is zero if
// the system does not show it.
type Holder struct {
	PID   int
	Start string // its start time, to detect a reused pid
	// Own means that the client has a terminal, and so only one user, unlike a
	// daemon, which has the sessions of several.
	Own bool
}

// Runs reports whether the client runs.
func (c Client) Runs() bool { return c.PID != 0 || c.Held }

// Within reports whether a cleaned path is dir or in it.
func Within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(dir, "/"))
}
