package fleet

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sm/observer/tally"
	"sm/transcript"
)

// File is the stored state of one transcript file.
type File struct {
	Cursor transcript.Cursor
	// Name and Parent are those of transcript.Change.
	Name   string
	Parent string `cbor:",omitempty"`
	// Key is the key of the file's session if neither name nor path shows it:
	// the file has been moved and its name is not a session's id, or it is a
	// subagent's file that was requested alone. Otherwise it is "".
	Key     string `cbor:",omitempty"`
	Session transcript.Session
	// Inherited is the part of Session that was copied from other files.
	Inherited transcript.Sums `cbor:",omitzero"`
	// Copies has the keys of the inherited compactions, so that none counts
	// twice when a later record completes it.
	Copies []transcript.Key `cbor:",omitempty"`
	// Known has the newest messages, at most 8, that were counted before this
	// reading of the file began. How much of them was counted is unknown, so
	// they do not count again.
	Known []transcript.Key `cbor:",omitempty"`
	// Title is the session's title according to the file.
	Title transcript.Title `cbor:",omitzero"`
	// Undecided has the compactions that wait for a record that decides their
	// trigger. They are not counted yet.
	Undecided  []transcript.Compaction `cbor:",omitempty"`
	Unreported Unreported              `cbor:"Day,omitzero"` // Day is its former name
	// Earlier has the totals of the records that the client has dropped from
	// the file; it has at most one element.
	Earlier []transcript.Session `cbor:",omitempty"`
}

// Unreported is the usage since a client last reported a cost of the session,
// on the newest day with messages.
type Unreported struct {
	// Since is the time of the first message; earlier versions stored the day's midnight.
	Since  transcript.Instant `cbor:"Begins"`
	Tokens transcript.Usage
}

// SessionRecord is the stored state of a session besides its files: its
// assigned agent and label, and its counters.
type SessionRecord struct {
	// SessionID is the session's key: its id, or the path at which the
	// transcript was first found if file names have no id.
	SessionID string
	Agent     string
	Label     string
	Counted   transcript.TriggerCounts // compactions since the state directory was made, by trigger
	// PID and ProcStart identify the last process that held the session; 0 and
	// "" if that process continued in another session.
	PID       int
	ProcStart string
	// Totals has the costs that clients reported of the session, and the bills
	// of its boundaries. Its lists are never changed in place.
	Totals Totals `cbor:",omitzero"`
}

func (r *SessionRecord) process() Process { return Process{r.PID, r.ProcStart} }

// Claim is the session in which a compaction or message first happened. Owner
// is the key of that session's id, joined with a constant for messages of its
// subagents' files. A store must treat both as opaque.
type Claim struct{ Key, Owner transcript.Key }

// Stored is the state that a fleet needs after a restart.
type Stored struct {
	// Created is when the state directory was created.
	Created time.Time
	// Settled means that the history found at the first start has been read to
	// its end. If not, a restart begins again.
	Settled  bool
	Files    []File
	Records  []SessionRecord
	Claims   []Claim // of compactions; those of messages stay on disk
	Counters tally.Counters
	Agents   []Agent // kept by the observer, as values beside the records
}

// Delta has the changes to store in one transaction.
type Delta struct {
	Settled  bool
	Files    []File   // new or changed
	Gone     []string // paths of removed files
	Records  []SessionRecord
	Claims   []Claim
	Messages []Claim
	Counters *tally.Counters // nil for a Delta without changes
	Agents   []Agent         // new or changed
	Left     []string        // ids of removed agents
}

// Ledger finds the owner of a message on disk.
type Ledger interface {
	Owner(message transcript.Key) (owner transcript.Key, ok bool)
}

// changes has the changes since the last Take. The claims are in the order in
// which they were made.
type changes struct {
	items            map[item]bool
	claims, messages []Claim
	counters         bool // store the counters even if nothing else has changed
}

// item identifies a stored value: a file by its path, a record by its session,
// or an agent by its id.
type item struct {
	kind itemKind
	key  string
}

type itemKind uint8

const (
	fileItem itemKind = iota
	recordItem
	agentItem
)

func (c *changes) file(path string)  { c.items[item{fileItem, path}] = true }
func (c *changes) record(key string) { c.items[item{recordItem, key}] = true }
func (c *changes) agent(id string)   { c.items[item{agentItem, id}] = true }

// Take returns the changes to store next, in one transaction; ok is false if there
// are none, and always before Settle. The caller stores them before those of the next
// Take, and calls Stored then. It may read the Delta.
func (f *Fleet) Take() (d Delta, ok bool) {
	c := &f.changed
	if !f.settled || !c.counters && len(c.items)+len(c.claims)+len(c.messages) == 0 {
		return Delta{}, false
	}
	d = Delta{
		Settled:  true,
		Claims:   c.claims,
		Messages: c.messages,
		Counters: new(f.counters.Clone()),
	}
	order := slices.SortedFunc(
		maps.Keys(c.items),
		func(a, b item) int { return strings.Compare(a.key, b.key) },
	)
	*c = changes{items: map[item]bool{}} // a map keeps the memory of its largest size
	for _, i := range order {
		switch i.kind {
		case fileItem:
			if x := f.files[i.key]; x != nil {
				d.Files = append(d.Files, x.File)
			} else {
				d.Gone = append(d.Gone, i.key)
			}
		case recordItem:
			d.Records = append(d.Records, *f.recordOf(i.key))
		case agentItem:
			if a := f.agents[i.key]; a != nil {
				d.Agents = append(d.Agents, a.Agent)
			} else {
				d.Left = append(d.Left, i.key)
			}
		}
	}
	return d, true
}

// Stored marks a Delta as stored: from now on the Ledger finds its messages.
func (f *Fleet) Stored(d Delta) {
	if f.options.Ledger == nil {
		return
	}
	for _, m := range d.Messages {
		delete(f.messages, m.Key)
	}
	if len(f.messages) == 0 {
		f.messages = map[transcript.Key]transcript.Key{} // a map keeps the memory of its largest size
	}
}
