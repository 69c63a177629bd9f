// Package clients describes the client programs whose sessions sm reads. One
// Client per program holds all its differences from the others; the package of
// each client makes its value, and cmd/sm lists all in one Table.
package clients

import (
	"path/filepath"
	"strings"

	"sm/transcript"
	"sm/transcript/claude/hook"
)

// Claude is the name of Claude Code in metrics and JSON. Sessions stored before
// sm recorded the client are Claude Code's.
const Claude = "claude"

// Client describes a client program. Its functions may be called concurrently.
type Client struct {
	// Format describes the client's transcripts. Its Client field is the name of the
	// client in metrics and JSON.
	*transcript.Format
	// Dirs are the folders where the client keeps transcripts.
	Dirs []string
	// Begins reports whether a transcript that was renamed is the client's, by its
	// first bytes. It is nil for the last client of a table.
	Begins func(head []byte) bool

	// WindowOf returns the context window of a session. reported is the window of
	// the status line in tokens, 0 for none.
	WindowOf func(s *transcript.Session, reported int64, rules []transcript.WindowRule) transcript.Window
	// CompactsAt returns the context size in tokens at which the client is
	// assumed to compact automatically, 0 if unknown or never, and the basis of
	// that assumption.
	CompactsAt func(a *hook.AutoCompact, window int64, model, version string) (int64, Basis)
	// StopAnswered reports whether the answer to a Stop hook reaches the model. agentType
	// is that of the hook, "" for the main agent.
	StopAnswered func(version, agentType string) bool

	// Starts reports whether a command starts the client. It is nil for the last client
	// of a table.
	Starts func(argv []string) bool
	// Again returns the command that starts the client again with a prompt, in place of
	// a conversation that argv began.
	Again func(argv []string, prompt string) ([]string, error)

	// StatusLine is true if the client runs a status line command. Other clients
	// report context sizes by hooks, one per response.
	StatusLine bool
	// CompactStarts is true if SessionStart follows a compaction immediately, not with
	// the next prompt.
	CompactStarts bool
	// WritesAfterStop is true if the last reply of a turn may be written to the
	// transcript after the Stop hook.
	WritesAfterStop bool
	// GuardsTools is true if the guard decides PreToolUse hooks.
	GuardsTools bool
	// Threads is true if the client keeps a message queue for each of its threads,
	// and locks the threads that are open. Without the lock, the state of its screen
	// is unknown.
	Threads bool
}

// Basis is the basis on which a client is assumed to compact.
type Basis string

const (
	// Assumed means that the client compares the context with the computed size.
	Assumed Basis = "assumed"
	// Refusal means that the client compacts when the API refuses a request, near the
	// window.
	Refusal Basis = "refusal"
	// Earliest means that either may hold; the computed size is the smaller.
	Earliest Basis = "earliest"
)

// Table lists all clients. The last one is the default: it gets the transcripts that
// no other client claims, and the sessions of unknown clients.
type Table []Client

// Default returns the last client.
func (t Table) Default() *Client { return &t[len(t)-1] }

// Named returns the client with the name, else the default.
func (t Table) Named(name string) *Client {
	for i := range t {
		if t[i].Client == name {
			return &t[i]
		}
	}
	return t.Default()
}

// Of returns the client that wrote a session.
func (t Table) Of(s *transcript.Session) *Client { return t.Named(s.Details().Client) }

// OfProvider returns the client whose name a provider begins with, such as
// "codex-app", else the default.
func (t Table) OfProvider(provider string) *Client {
	for i := range t {
		if strings.HasPrefix(provider, t[i].Client) {
			return &t[i]
		}
	}
	return t.Default()
}

// Formats returns the formats of all clients.
func (t Table) Formats() (all []*transcript.Format) {
	for _, c := range t {
		all = append(all, c.Format)
	}
	return all
}

// FormatOf returns the format of a transcript by its path and its first bytes, which
// may be nil.
func (t Table) FormatOf(path string, head []byte) *transcript.Format {
	for _, c := range t {
		if c.Begins == nil || c.Begins(head) {
			return c.Format
		}
		if _, ok := c.Identify(path); ok {
			return c.Format
		}
	}
	return t.Default().Format
}

// SessionOf returns the id of the session of a transcript, by its path.
func (t Table) SessionOf(path string) string {
	if f, ok := t.FormatOf(path, nil).Identify(path); ok {
		return f.Name
	}
	return strings.TrimSuffix(filepath.Base(path), ".jsonl")
}
