package transcript

import "cmp"

// Source is where a context size comes from.
type Source uint8

// Sources of readings. Only transcripts give readings in this package; the others
// come from hooks and from guesses.
const (
	FromTranscript Source = iota
	FromStatusline
	FromEstimate
)

// Reading is a context size in tokens, with its time.
type Reading struct {
	At     Instant
	Tokens int64
	// Cleared is how many tokens of old tool results were left out of the request, by the
	// client or by the API (message.context_management), as the client reckons. They are
	// no part of the context, but the client's automatic compaction goes by the size with
	// them.
	Cleared int64
}

// Session is what the lines of one transcript add up to. It is a plain value:
// copies share nothing.
type Session struct {
	// Reading is the newest context size by timestamp, of equal ones the last in
	// the file; its Tokens are 0 when there has been none. It holds only while
	// Blank is false: after a compaction the size is unknown until the next reply.
	Reading Reading
	Blank   bool `cbor:",omitzero"`
	// InTurn is true while the last prompt's turn has not ended.
	InTurn bool `cbor:",omitzero"`
	// Peak is the largest context size read, in tokens.
	Peak int64
	// Turns counts prompts.
	Turns int
	Sums
	// Model is that of the newest reading; Version and CWD are the last in the
	// file. ID is the first sessionId that a record names, which need not be the
	// file's.
	Model, Version, CWD, ID string
	// Started and Active are the oldest and newest timestamps, 0 for none.
	Started, Active Instant
	// Bytes counts those of complete lines, Lines the lines that are not blank,
	// Bad those of them that are no JSON object.
	Bytes, Lines, Bad int64
	// Particulars are what only some clients' records have, nil for nothing: see
	// [Session.Details]. What it points to never changes.
	Particulars *Particulars `cbor:",omitempty"`
}

// Sums are the figures of a session that its parts add up to.
type Sums struct {
	// Compactions counts by Trigger.
	Compactions TriggerCounts
	// Messages counts API messages with a reading, each once; Tokens is what they
	// cost, each at its largest output. Side is the same for records of subagents
	// that are in the session's own file (clients up to 2.0.27).
	Messages, SideMessages int   `cbor:",omitzero"`
	Tokens, SideTokens     Usage `cbor:",omitzero"`
}

// Total is the number of compactions of all triggers.
func (s *Sums) Total() int { return s.Compactions.Total() }

// Add adds the figures of another part.
func (s *Sums) Add(part *Sums) {
	for i, n := range part.Compactions {
		s.Compactions[i] += n
	}
	s.Messages += part.Messages
	s.SideMessages += part.SideMessages
	s.Tokens = s.Tokens.Plus(part.Tokens)
	s.SideTokens = s.SideTokens.Plus(part.SideTokens)
}

// Subtract takes off the figures of a part. No count falls below 0.
func (s *Sums) Subtract(part *Sums) {
	for i, n := range part.Compactions {
		s.Compactions[i] = max(0, s.Compactions[i]-n)
	}
	s.Messages = max(0, s.Messages-part.Messages)
	s.SideMessages = max(0, s.SideMessages-part.SideMessages)
	s.Tokens = s.Tokens.Minus(part.Tokens)
	s.SideTokens = s.SideTokens.Minus(part.SideTokens)
}

// Add adds what another part of the same session holds, an older one: figures that sum up do,
// and of the rest the session keeps its own.
func (s *Session) Add(older *Session) {
	s.Peak = max(s.Peak, older.Peak)
	s.Turns += older.Turns
	s.Sums.Add(&older.Sums)
	s.Stamp(older.Started)
	s.Stamp(older.Active)
	s.Model = cmp.Or(s.Model, older.Model)
	s.Version = cmp.Or(s.Version, older.Version)
	s.CWD = cmp.Or(s.CWD, older.CWD)
	s.Bytes += older.Bytes
	s.Lines += older.Lines
	s.Bad += older.Bad
	p := s.Details()
	p.Parent = cmp.Or(p.Parent, older.Details().Parent)
	p.Window = cmp.Or(p.Window, older.Details().Window)
	s.SetParticulars(p)
}

// Stamp applies the time of a record, 0 for none.
func (s *Session) Stamp(at Instant) {
	if at != 0 && (s.Started == 0 || at < s.Started) {
		s.Started = at
	}
	s.Active = max(s.Active, at)
}

// Particulars are what only some clients' records have about a session.
type Particulars struct {
	// Client names the client that wrote it, see [Format]; Parent is the id of the session
	// that started this one as its subagent, "" for none.
	Client, Parent string
	// Window is the newest size of the context window in tokens, 0 for none.
	Window int64
	// Estimate is what the client itself takes for the context size while it is Blank, in
	// tokens: its own estimate after a compaction. 0 for none.
	Estimate int64
}

// Details are the session's particulars, zero for none.
func (s *Session) Details() Particulars {
	if s.Particulars == nil {
		return Particulars{}
	}
	return *s.Particulars
}

// SetParticulars changes the particulars of this session. Copies of the session keep theirs.
func (s *Session) SetParticulars(p Particulars) {
	if p != s.Details() {
		s.Particulars = &p
	}
}

// Context is the current context size; ok is false while it is unknown.
func (s *Session) Context() (tokens int64, ok bool) {
	return s.Reading.Tokens, s.Reading.Tokens > 0 && !s.Blank
}

// Message is one API message of a session: what it cost so far.
type Message struct {
	ID    Key
	At    Instant
	Usage Usage
	// Was is the usage in an earlier line of the same message, zero when this is
	// the first; a fleet's totals grow by the difference.
	Was Usage
	// Side marks a subagent's message in the session's own file.
	Side bool
}

// Compaction is one compaction of a session, with all by which its copies in
// other files can be known. Keys are 0 where the records lack them.
type Compaction struct {
	// Key is that of the record it was copied from, else of its own uuid.
	Key Key
	// Was is the key that it had while only its summary was known, before the boundary
	// that names that.
	Was Key
	// Own is the key of its own uuid, by which a copy of this copy names it.
	Own Key
	// Stamp joins time, trigger and preTokens of a boundary.
	Stamp Key
	// Digest is the summary's. Two boundaries are never one for their summaries
	// alone: short summaries repeat.
	Digest    Key
	At        Instant
	Trigger   Trigger
	PreTokens int64
	// Millis is how long the compaction took, 0 when unknown.
	Millis int64
	// Undecided means that a later record may change the trigger. The compaction is
	// reported again when its trigger is final.
	Undecided bool
	// Boundary is false for a compaction known by its summary alone.
	Boundary bool
	// Copied means that the records name another file as their origin.
	Copied bool
}
