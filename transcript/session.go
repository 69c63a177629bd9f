package transcript

import "cmp"

// Source is the source of a context size.
type Source uint8

// Sources of readings. The readings in this package come from transcripts; the
// others come from hooks and from estimates.
const (
	FromTranscript Source = iota
	FromStatusline
	FromEstimate
)

// Reading is a context size in tokens, with its time.
type Reading struct {
	At     Instant
	Tokens int64
	// Cleared is the number of tokens of old tool results that were left out of
	// the request, by the client or by the API (message.context_management), by
	// the client's own figures. They are not part of the context, but the
	// client adds them when it decides about automatic compaction.
	Cleared int64
}

// Session is the sum of the lines of one transcript. It is a plain value:
// copies share nothing.
type Session struct {
	// Reading is the newest context size by timestamp, of equal ones the last
	// in the file; its Tokens are 0 if there was none. It is valid only while
	// Blank is false: after a compaction the size is unknown until the next
	// reply.
	Reading Reading
	Blank   bool `cbor:",omitzero"`
	// InTurn is true while the last prompt's turn has not ended.
	InTurn bool `cbor:",omitzero"`
	// Peak is the largest context size read, in tokens.
	Peak int64
	// Turns counts prompts.
	Turns int
	Sums
	// Model is the model of the newest reading; Version and CWD are the last in
	// the file. ID is the first sessionId in a record, which need not be the
	// file's.
	Model, Version, CWD, ID string
	// Started and Active are the oldest and newest timestamps, 0 for none.
	Started, Active Instant
	// Bytes counts the bytes of complete lines, Lines the lines that are not
	// blank, and Bad those among them that are not a JSON object.
	Bytes, Lines, Bad int64
	// Particulars are the facts that only some clients record, nil for none:
	// see [Session.Details]. The value that it points to never changes.
	Particulars *Particulars `cbor:",omitempty"`
}

// Sums are the figures of a session that are sums over its parts.
type Sums struct {
	// Compactions counts by Trigger.
	Compactions TriggerCounts
	// Messages counts API messages with a reading, each once; Tokens is their
	// cost, each at its largest output. SideMessages and SideTokens are the
	// same for records of subagents that are in the session's own file (clients
	// up to 2.0.27).
	Messages, SideMessages int   `cbor:",omitzero"`
	Tokens, SideTokens     Usage `cbor:",omitzero"`
}

// Total returns the number of compactions of all triggers.
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

// Subtract subtracts the figures of a part. No count falls below 0.
func (s *Sums) Subtract(part *Sums) {
	for i, n := range part.Compactions {
		s.Compactions[i] = max(0, s.Compactions[i]-n)
	}
	s.Messages = max(0, s.Messages-part.Messages)
	s.SideMessages = max(0, s.SideMessages-part.SideMessages)
	s.Tokens = s.Tokens.Minus(part.Tokens)
	s.SideTokens = s.SideTokens.Minus(part.SideTokens)
}

// Add adds an older part of the same session. Figures that are sums are added;
// of the others the session keeps its own.
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

// Particulars are facts about a session that only some clients record.
type Particulars struct {
	// Client is the name of the client that wrote the transcript, see [Format].
	// Parent is the id of the session that started this one as its subagent, ""
	// for none.
	Client, Parent string
	// Window is the newest size of the context window in tokens, 0 for none.
	Window int64
	// Estimate is the client's own estimate of the context size while the
	// session is Blank, after a compaction, in tokens; 0 for none.
	Estimate int64
}

// Details returns the session's particulars, zero for none.
func (s *Session) Details() Particulars {
	if s.Particulars == nil {
		return Particulars{}
	}
	return *s.Particulars
}

// SetParticulars sets the particulars of this session. Copies of the session
// keep theirs.
func (s *Session) SetParticulars(p Particulars) {
	if p != s.Details() {
		s.Particulars = &p
	}
}

// Context returns the current context size; ok is false while it is unknown.
func (s *Session) Context() (tokens int64, ok bool) {
	return s.Reading.Tokens, s.Reading.Tokens > 0 && !s.Blank
}

// Message is one API message of a session with its cost so far.
type Message struct {
	ID    Key
	At    Instant
	Usage Usage
	// Was is the usage in an earlier line of the same message, zero if this is
	// the first; a fleet's totals grow by the difference.
	Was Usage
	// Side marks a subagent's message in the session's own file.
	Side bool
}

// Compaction is one compaction of a session, with the data that identify its
// copies in other files. Keys are 0 if the records lack them.
type Compaction struct {
	// Key is the key of the record that it was copied from, else of its own
	// uuid.
	Key Key
	// Was is its key while only its summary was known, before the boundary that
	// names the summary.
	Was Key
	// Own is the key of its own uuid, by which a copy of this copy refers to
	// it.
	Own Key
	// Stamp joins time, trigger and preTokens of a boundary.
	Stamp Key
	// Digest is the digest of the summary. Equal summaries do not make two
	// boundaries equal, because short summaries repeat.
	Digest    Key
	At        Instant
	Trigger   Trigger
	PreTokens int64
	// Millis is the duration of the compaction, 0 if unknown.
	Millis int64
	// Undecided means that a later record may change the trigger. The compaction is
	// reported again when its trigger is final.
	Undecided bool
	// Boundary is false for a compaction that is known by its summary only.
	Boundary bool
	// Copied means that the records name another file as their origin.
	Copied bool
}
