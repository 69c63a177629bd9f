// Package clients knows all clients whose transcripts are read: their formats, and what
// follows from who wrote a session.
//
// Invariants: a session whose client is not known counts as Claude Code's, the first client
// that sm knew; each client is asked about its own sessions alone.
//
// It reads nothing and keeps nothing. What the records of a client mean is for that client's
// package.
package clients

import (
	"cmp"
	"path/filepath"
	"strings"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/codex"
	"sm/transcript/codex/files"
)

// Names of the clients, as metrics and JSON write them.
const (
	Claude = "claude"
	Codex  = codex.Client
)

// Of names the client that wrote a session.
func Of(s *transcript.Session) string {
	return cmp.Or(s.Also().Client, Claude)
}

// WindowOf returns the window of a session; reported is the window of its status
// line, 0 for none.
func WindowOf(s *transcript.Session, reported int64, rules []transcript.WindowRule) transcript.Window {
	if Of(s) == Codex {
		return codex.WindowOf(s, rules)
	}
	return claude.WindowOf(s, reported, rules)
}

// CompactsAt returns the assumed size in tokens at which a client compacts
// automatically, 0 if unknown or never. setting has the settings of Claude Code.
func CompactsAt(s *transcript.Session, setting *claude.AutoCompact, window int64, model, version string) int64 {
	if Of(s) == Codex {
		return codex.CompactsAt(window)
	}
	return setting.CompactsAt(window, model, version)
}

// BasisOf is how the size is known that CompactsAt returns.
func BasisOf(s *transcript.Session, setting *claude.AutoCompact, model, version string) claude.Basis {
	if Of(s) == Codex {
		return claude.Assumed
	}
	return setting.Basis(model, version)
}

// Formats are those of all clients, each with names that none before it claims. held is for
// [codex.Format].
func Formats(held func(path string) (transcript.Holder, bool)) []*transcript.Format {
	return []*transcript.Format{codex.Format(held), claude.Format()}
}

// FormatOf is the format of a transcript of that name which begins with head; nil or any part
// of it will do for one that has its client's own name.
func FormatOf(path string, head []byte) *transcript.Format {
	f := codex.Format(nil)
	if _, named := f.Identify(path); named || codex.Begins(head) {
		return f
	}
	return claude.Format()
}

// SessionOf is the id of the session that a transcript of that path is of, by its name alone.
func SessionOf(path string) string {
	if thread, ok := files.Thread(path); ok {
		return thread
	}
	return strings.TrimSuffix(filepath.Base(path), ".jsonl")
}
