package fleet

import (
	"maps"
	"slices"
	"strings"
	"time"

	"sm/observer/tally"
	"sm/transcript"
)

// File is what is kept of one transcript file.
type File struct {
	Cursor transcript.Cursor
	// Name and Parent are those of transcript.Change.
	Name   string
	Parent string `cbor:",omitempty"`
	// Key is the key of the file's session where neither name nor path shows it: the
	// file has been moved and its name is no session's id, or it is a subagent's file that was asked
	// for alone. Else "".
	Key     string `cbor:",omitempty"`
	Session transcript.Session
	// Inherited is the part of Session that was copied from other files.
	Inherited Inherited `cbor:",omitzero"`
	// Copies are the keys of the inherited compactions: none counts twice when
	// more becomes known about it.
	Copies []transcript.Key `cbor:",omitempty"`
	// Known are the newest messages, at most 8, that had been counted before this
	// reading of the file began: how far cannot be told, so that nothing of them
	// counts again.
	Known []transcript.Key `cbor:",omitempty"`
	// Title is the session's title by the file.
	Title transcript.Title `cbor:",omitzero"`
	// Undecided are the compactions that wait for a record that decides their trigger.
	// They are not counted yet.
	Undecided []transcript.Compaction `cbor:",omitempty"`
	// Earlier has the totals of what the client has dropped from the file; none or one.
	Earlier []transcript.Session `cbor:",omitempty"`
}

// Inherited is what a file holds of other sessions' history.
type Inherited struct {
	Messages, SideMessages int
	Tokens, SideTokens     transcript.Usage
	Compactions            transcript.TriggerCounts
}

// SessionRecord is what is kept of a session besides its files: what it was given when it was seen first,
// and what was counted since.
type SessionRecord struct {
	// SessionID is the session's key: its id, or where files are not named by an
	// id the path at which the transcript was found first.
	SessionID string
	Agent     string
	Label     string
	Seen      time.Time                // the transcript's newest timestamp at first sight; zero for none
	Counted   transcript.TriggerCounts // compactions since the state directory was made, by trigger
	// PID and ProcStart name the process that holds the session, or was the last
	// to hold it; 0 and "" when that process has gone on to another session.
	PID       int
	ProcStart string
	// Totals are what clients reported that the session cost, and what its boundaries
	// cost. Its lists are never changed in place.
	Totals Totals `cbor:",omitzero"`
}

// Claim is the session that a compaction or message belongs to: the one in which it
// first happened. Owner is the key of that session's id, joined with a constant for
// messages of its subagents' files. A store must not read anything from either.
type Claim struct{ Key, Owner transcript.Key }

// Stored is all that a fleet needs to go on after a restart.
type Stored struct {
	// Created is when the state directory was made.
	Created time.Time
	// Settled means that the history found at the first start has been read to its
	// end; until then a restart begins anew.
	Settled  bool
	Files    []File
	Records  []SessionRecord
	Claims   []Claim // of compactions; those of messages stay on disk
	Counters tally.Counters
	Agents   []Agent // kept by the observer, as values beside the records
}

// Delta is what has changed, to be stored in one transaction.
type Delta struct {
	// Number is that of the Take, 1 and up in each run. It is for Fleet.Stored
	// alone and need not be kept.
	Number   uint64
	Settled  bool
	Files    []File   // new or changed
	Gone     []string // paths of files that are no more
	Records  []SessionRecord
	Claims   []Claim
	Messages []Claim
	Counters *tally.Counters // nil when unchanged
	Agents   []Agent         // new or changed
	Left     []string        // ids of agents that are no more
}

// Ledger finds the owner of a message on disk.
type Ledger interface {
	Owner(message transcript.Key) (owner transcript.Key, ok bool)
}

// changes is what has not been stored yet. What can change again while a Delta is
// being stored has the number of the Take that will hold it.
type changes struct {
	next             uint64 // the number of the next Take
	items            map[item]uint64
	claims, messages []Claim // in the order in which they were made
	taken            struct{ claims, messages int }
}

// item is what is stored under a key: a file by its path, a record by its session,
// an agent by its id, or the counters.
type item struct {
	kind itemKind
	key  string
}

type itemKind uint8

const (
	fileItem itemKind = iota
	recordItem
	agentItem
	countersItem
)

func (c *changes) file(path string)  { c.items[item{fileItem, path}] = c.next }
func (c *changes) record(key string) { c.items[item{recordItem, key}] = c.next }
func (c *changes) agent(id string)   { c.items[item{agentItem, id}] = c.next }
func (c *changes) count()            { c.items[item{kind: countersItem}] = c.next }

// Take returns the changes to store next, in one transaction; ok is false if there
// are none, and always before Settle. Until Stored is called for a Delta, the next
// Take returns its changes again, so that a failed transaction loses nothing. The
// caller may read the Delta.
func (f *Fleet) Take() (d Delta, ok bool) {
	c := &f.changed
	if !f.settled || len(c.items)+len(c.claims)+len(c.messages) == 0 {
		return Delta{}, false
	}
	d = Delta{
		Number:   c.next,
		Settled:  true,
		Claims:   slices.Clip(c.claims),
		Messages: slices.Clip(c.messages),
	}
	c.next++
	c.taken.claims = len(c.claims)
	c.taken.messages = len(c.messages)
	order := slices.SortedFunc(
		maps.Keys(c.items),
		func(a, b item) int { return strings.Compare(a.key, b.key) },
	)
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
		case countersItem:
			counters := f.counters.Clone()
			d.Counters = &counters
		}
	}
	return d, true
}

// Stored marks the Delta of the newest Take as stored. An older Delta is ignored:
// the newest contains all of it.
func (f *Fleet) Stored(d Delta) {
	c := &f.changed
	if d.Number == 0 || d.Number+1 != c.next {
		return
	}
	maps.DeleteFunc(c.items, func(_ item, number uint64) bool { return number <= d.Number })
	if len(c.items) == 0 {
		c.items = map[item]uint64{} // a map keeps the memory of its largest size
	}
	if f.options.Ledger != nil {
		for _, m := range c.messages[:c.taken.messages] {
			delete(f.messages, m.Key)
		}
		if len(f.messages) == 0 {
			f.messages = map[transcript.Key]transcript.Key{} // a map keeps the memory of its largest size
		}
	}
	c.claims = append(
		[]Claim(nil),
		c.claims[c.taken.claims:]...,
	) // not a part, which would keep the memory
	c.messages = append([]Claim(nil), c.messages[c.taken.messages:]...)
	c.taken.claims = 0
	c.taken.messages = 0
}
