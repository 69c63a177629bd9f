package transcripttest

import (
	"cmp"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"time"
	"unicode/utf16"
)

// SessionOptions say what a session is called. Zero fields are drawn from the seed.
type SessionOptions struct {
	ID, Cwd, Branch, Model string
	// Version is one of a client; it decides over the era.
	Version string
	// Start is when the session begins.
	Start time.Time
	// Forget keeps no records, for files too large to hold: the session can then
	// neither be copied nor replayed.
	Forget bool
}

// Session writes one transcript, each line with one call of its writer's Write, and
// keeps the truth about it. A method for records that the session's client never
// wrote does nothing. A Session is not safe for concurrent use.
type Session struct {
	w       io.Writer
	err     error
	options SessionOptions
	client  client
	rng     *rand.Rand
	prose   *prose

	project                      string // the folder of the file, named after the first cwd
	id, cwd, branch, model, slug string
	agent                        string // id of the subagent that this file is of
	promptID                     string
	side                         bool   // records are a subagent's for the moment
	shared                       []byte // the envelope, until something in it changes
	now                          time.Time
	last                         string  // uuid of the last record
	caveat, head                 *record // the last caveat; the summary that the file begins with
	calls                        []call
	context, output              int64 // of the last reading

	books ledger
	kept  []*record
	late  *record // a summary that is written after the next reply
	line  []byte
	// A compaction could not be told from another one, but for its uuid.
	unprovable bool
	half       []byte  // what is missing of an unterminated line,
	torn       *record // and its record
}

// call is a tool's call that waits for its result.
type call struct {
	id, uuid string
	task     bool
}

// NewSession begins a transcript that is written to w. Nothing is written before
// the first record.
func NewSession(w io.Writer, seed uint64, era Era, o SessionOptions) *Session {
	rng := rand.New(rand.NewPCG(seed, uint64(era)+1))
	if o.Version == "" {
		o.Version = pick(rng, era.Versions())
	}
	return newSession(w, rng, newProse(rng, 32<<10, false), o)
}

func newSession(w io.Writer, rng *rand.Rand, text *prose, o SessionOptions) *Session {
	s := &Session{w: w, rng: rng, prose: text, options: o, client: clientOf(o.Version)}
	s.id = cmp.Or(o.ID, newUUID(rng))
	s.cwd = cmp.Or(o.Cwd, "/home/dev/"+pick(rng, []string{"web", "api-server", "läden", "a_b.c"}))
	s.project = munge(s.cwd)
	s.branch = cmp.Or(o.Branch, pick(rng, []string{"main", "master", "feature/über-\"x\""}))
	s.model = cmp.Or(o.Model, pick(rng, s.client.models()))
	s.now = o.Start
	if s.now.IsZero() {
		s.now = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	}
	s.context = 12_000 + rng.Int64N(16_000)
	s.books.costs = map[string]cost{}
	s.books.file.SessionID = s.id
	s.books.file.Family = s.id
	return s
}

// spawn begins another session of the same client.
func (s *Session) spawn(w io.Writer) *Session {
	rng := rand.New(rand.NewPCG(s.rng.Uint64(), s.rng.Uint64()))
	n := newSession(w, rng, s.prose, SessionOptions{
		Cwd: s.cwd, Branch: s.branch, Model: s.model, Version: s.client.version, Start: s.now, Forget: s.options.Forget,
	})
	n.project = s.project
	return n
}

func (c client) models() []string {
	switch {
	case c.in(0, 1_000_128):
		return []string{"claude-sonnet-4-20250514", "claude-opus-4-1-20250805"}
	case c.in(0, 2_001_080):
		return []string{"claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101", "claude-haiku-4-5-20251001"}
	}
	return []string{"claude-opus-4-8", "claude-sonnet-5", "claude-fable-5"}
}

// ID is the session's id. An early client's file may hold several.
func (s *Session) ID() string { return s.id }

// Version is the client's.
func (s *Session) Version() string { return s.client.version }

// Now is the time of the last record, in the session's own clock.
func (s *Session) Now() time.Time { return s.now }

// Pass lets time pass.
func (s *Session) Pass(d time.Duration) { s.now = s.now.Add(d) }

// Err is the first error of the writer; nothing is written after it.
func (s *Session) Err() error { return s.err }

// Context is the size of the last reading.
func (s *Session) Context() int64 { return s.context }

// Truth is what the file holds so far.
func (s *Session) Truth() FileTruth {
	t := s.books.file
	t.AgentID = s.agent
	t.Subagents.Spent = t.Sidechain
	return t
}

// Path is where the client keeps the file, below its projects directory.
func (s *Session) Path() string {
	switch {
	case s.agent == "":
		return path.Join(s.project, s.books.file.SessionID+".jsonl")
	case s.client.siblings():
		return path.Join(s.project, "agent-"+s.agent+".jsonl")
	}
	return path.Join(s.project, s.books.file.SessionID, "subagents", "agent-"+s.agent+".jsonl")
}

// munge makes a folder name of a path as the client does.
func munge(cwd string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(cwd)) {
		if u < 128 && (u|0x20 >= 'a' && u|0x20 <= 'z' || u >= '0' && u <= '9') {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	return b.String()
}

// Upgrade goes on with another version of the client, as when it was resumed with
// a newer one.
func (s *Session) Upgrade(version string) {
	s.client, s.shared = clientOf(version), nil
	s.id = s.books.file.SessionID
}

// Move changes the working directory that records name. The file stays.
func (s *Session) Move(cwd string) { s.cwd, s.shared = cwd, nil }

// Switch changes the model of later replies.
func (s *Session) Switch(model string) { s.model = model }

// tick lets a moment pass and returns the time.
func (s *Session) tick() time.Time {
	s.now = s.now.Add(time.Duration(1+s.rng.IntN(400)) * time.Millisecond)
	return s.now
}

// put writes to the file.
func (s *Session) put(b []byte) {
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// chance is true in n of 100 cases.
func (s *Session) chance(n int) bool { return s.rng.IntN(100) < n }
