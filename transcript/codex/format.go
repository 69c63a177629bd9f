package codex

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"sm/transcript"
	"sm/transcript/codex/files"
)

// Format describes the transcripts of Codex:
// sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl below its home, with
// another id at the end after a rewind of the thread, and the same names
// without folders below archived_sessions. Old transcripts may be compressed.
// Beside these folders there is an empty file for each thread that was ever
// opened, locked while it is open. held reports whether a file is locked, and
// by which process. If held is nil, no thread is known to be open.
func Format(held func(path string) (transcript.Holder, bool)) *transcript.Format {
	f := &transcript.Format{
		Client:   Client,
		Identify: identify,
		NewFold:  func(f transcript.File) transcript.Fold { return NewFold(f) },
		Content:  content,
		Root:     "sessions",
		Folder:   isYear,
		RootOf:   rootOf,
	}
	if held != nil {
		f.Registry = &transcript.Registry{
			Dir: func(root string) string {
				return filepath.Join(filepath.Dir(root), "thread-writer-locks")
			},
			Entry: func(name string) bool {
				return len(name) == files.UUIDLength+len(".lock") &&
					strings.HasSuffix(name, ".lock")
			},
			Read: func(name string, _ []byte) (transcript.Client, bool) {
				return transcript.Client{
					SessionID: strings.TrimSuffix(name, ".lock"),
					Held:      true,
				}, true
			},
			Runs: func(path string, c transcript.Client) (now transcript.Client, runs bool) {
				c.Holder, runs = held(path)
				return c, runs
			},
			Index: func(root string) string {
				return filepath.Join(filepath.Dir(root), "session_index.jsonl")
			},
			Names: threadNames,
		}
	}
	return f
}

// identify parses the path of a transcript.
func identify(path string) (f transcript.File, ok bool) {
	f.Name, ok = files.Thread(path)
	return f, ok
}

// threadNames reads session_index.jsonl, to which the client appends a line when the
// user names a thread. The last line of a thread counts.
func threadNames(index []byte) map[string]string {
	names := map[string]string{}
	for line := range bytes.Lines(index) {
		var entry struct {
			ID   string `json:"id"`
			Name string `json:"thread_name"`
		}
		if err := json.Unmarshal(line, &entry); err == nil && entry.ID != "" {
			names[entry.ID] = entry.Name
		}
	}
	return names
}

func isYear(name string) bool {
	return len(name) == 4 && strings.Trim(name, "0123456789") == ""
}

// rootOf returns <home>/sessions of <home>/sessions/YYYY/MM/DD/rollout-….jsonl.
func rootOf(path, session string) (root string, ok bool) {
	f, ok := identify(path)
	year := filepath.Dir(filepath.Dir(filepath.Dir(path)))
	return filepath.Dir(year), ok && f.Name == session && isYear(filepath.Base(year))
}

// Begins reports whether a text begins like a transcript of this client, under
// any file name.
func Begins(head []byte) bool {
	line, _, _ := bytes.Cut(head[:min(len(head), 256)], []byte("\n"))
	return bytes.HasPrefix(line, []byte("{")) &&
		bytes.Contains(line, []byte(`"type":"session_meta"`)) ||
		bytes.HasPrefix(head, zstdMagic())
}
