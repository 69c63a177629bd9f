package claude

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"sm/transcript"
)

// Format is how Claude Code keeps its transcripts: <project>/<session>.jsonl below a folder
// called projects, subagents' in files agent-….jsonl beside or below their session, and
// beside that folder the registry of running clients, sessions/<pid>.json.
func Format() *transcript.Format {
	return &transcript.Format{
		Client:   "claude",
		Identify: identify,
		NewFold: func(f transcript.File) transcript.Fold {
			return NewFold(f.Name, f.Subagent)
		},
		Root:   "projects",
		Folder: isProject,
		RootOf: rootOf,
		Registry: &transcript.Registry{
			Dir: func(root string) string {
				return filepath.Join(filepath.Dir(root), "sessions")
			},
			Entry: isClient,
			Read:  readClient,
		},
	}
}

// identify reads a path: the session's id or the agent's name, and, for the files that
// clients since 2.1.2 write for subagents, the session they belong to. Other .jsonl files
// that clients write among the subagents' are no transcripts.
func identify(path string) (f transcript.File, ok bool) {
	name, ok := strings.CutSuffix(filepath.Base(path), ".jsonl")
	f = transcript.File{Name: name, Subagent: strings.HasPrefix(name, "agent-")}
	i := strings.LastIndex(path, "/subagents/")
	if !f.Subagent {
		return f, ok && name != "" && i < 0
	}
	if i >= 0 {
		f.Parent = filepath.Base(path[:i])
	}
	return f, ok
}

// isProject reports whether a folder is named like a client's project: by its
// absolute path with dashes.
func isProject(name string) bool { return strings.HasPrefix(name, "-") }

// rootOf takes <config>/projects/<project>/<session>.jsonl apart.
func rootOf(path, session string) (root string, ok bool) {
	project := filepath.Dir(path)
	return filepath.Dir(project), session != "" && filepath.Base(path) == session+".jsonl" &&
		isProject(filepath.Base(project))
}

func isClient(name string) bool {
	pid, ok := strings.CutSuffix(name, ".json")
	n, err := strconv.Atoi(pid)
	return ok && err == nil && n > 1
}

// readClient reads an entry of the registry, a file that is internal to the client: a field
// that has changed its type leaves the others. whole is false when the text is no JSON
// object, perhaps not yet.
func readClient(_ string, text []byte) (c transcript.Client, whole bool) {
	var in struct {
		transcript.Client
		Source string `json:"nameSource"`
		Millis int64  `json:"statusUpdatedAt"`
	}
	err := json.Unmarshal(text, &in)
	odd, ofType := errors.AsType[*json.UnmarshalTypeError](err)
	if err != nil && (!ofType || odd.Field == "") {
		return c, false
	}
	if c = in.Client; in.Millis > 0 {
		c.Updated = time.UnixMilli(in.Millis).UTC()
	}
	if in.Source == "derived" { // as web-4a, of the folder: the title says more
		c.Name = ""
	}
	return c, true
}
