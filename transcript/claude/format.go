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

// Format describes the transcripts of Claude Code: <project>/<session>.jsonl
// below a folder called projects, those of subagents in files agent-….jsonl
// beside or below their session, and beside that folder the registry of running
// clients, sessions/<pid>.json.
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

// identify parses a path: the session's id or the subagent's name and, for
// subagents of clients since 2.1.2, the session they belong to. Other .jsonl
// files that clients write among those of subagents are no transcripts.
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

// isProject reports whether a folder has the name of a client's project: its
// absolute path with dashes.
func isProject(name string) bool { return strings.HasPrefix(name, "-") }

// rootOf returns <config>/projects of
// <config>/projects/<project>/<session>.jsonl.
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

// readClient parses an entry of the registry, a file that is internal to the
// client. A field whose type has changed does not affect the others. whole is
// false if the text is no JSON object, perhaps because it is incomplete.
func readClient(_ string, text []byte) (c transcript.Client, whole bool) {
	var in struct {
		transcript.Client
		Source  string `json:"nameSource"`
		Millis  int64  `json:"statusUpdatedAt"`
		Started int64  `json:"startedAt"`
		Updated int64  `json:"updatedAt"`
	}
	err := json.Unmarshal(text, &in)
	odd, ofType := errors.AsType[*json.UnmarshalTypeError](err)
	if err != nil && (!ofType || odd.Field == "") {
		return c, false
	}
	if c = in.Client; in.Millis > 0 {
		c.Updated = time.UnixMilli(in.Millis).UTC()
	}
	c.Starting = in.Started > 0 && in.Updated == 0
	if in.Source == "derived" { // such as web-4a, from the folder; the title is better
		c.Name = ""
	}
	return c, true
}
