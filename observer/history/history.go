// Package history reads many past transcripts and returns each session as a timeline
// of events.
//
// A fork or a resume copies records into another transcript. Read keeps a few
// bytes of each record, Settle finds the transcript in which a record first
// happened, and Each then returns the sessions, originals before copies. An
// event in several timelines is marked as original in exactly one. The order of
// reading has no influence.
//
// Packages report and tune compute the totals. This package has no state
// between calls and does not need an observer.
package history

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"

	"sm/transcript"
	"sm/transcript/clients"
	"sm/transcript/wording"
)

// History has the events of many sessions, in 24 bytes per record, a tenth of a
// transcript.Entry: all records are needed to decide which transcript was
// copied.
type History struct {
	logs    []*log // once settled, originals before their copies
	clients clients.Table
	rules   []transcript.WindowRule
	Strange int    // files without a single record, which are not transcripts
	Noticed bool   // an agent had a notice about its context
	Client  string // set for a part, see Clients
	shared  map[transcript.Key]*common
	own     map[transcript.Key]ownCompaction
	reading sync.Map           // the logs of files being read, by path
	lately  transcript.Instant // sessions with a newer record may continue
}

// log is one session's transcript.
type log struct {
	change  transcript.Change // without entries and messages
	records []record
	rewinds []rewind
	copied  bool // a record refers to its original
	// follows means that the session continues another one: it begins with a
	// summary, a /clear or a handoff.
	follows bool
	begun   bool                              // there was a prompt or a reading
	noticed bool                              // the agent had a notice about its context
	models  []string                          // "" is the first
	origin  map[transcript.Key]transcript.Key // origins of prompts, by the prompts' keys

	before *log               // the session that it continues, nil if unknown
	agent  string             // "" for a session that is skipped
	alone  transcript.Instant // time of its first record without a copy, 0 for none
	last   transcript.Key     // its newest reading
	passed bool               // the last cycle continues elsewhere, or did not end with a compaction
}

// record has the parts of a transcript.Entry that reports need.
type record struct {
	at     transcript.Instant
	key    transcript.Key // the same for copies; for compactions the key of the record itself
	tokens uint32
	model  uint16
	kind   transcript.Kind
	copied bool // it refers to its original
}

// rewind is the range that a rewind has removed from a conversation: the
// records after left, up to and including until. Its record of kind KindRewind
// has the number of the rewind, counted from 1, as its key, and the size of the
// context after the rewind.
type rewind struct {
	left, until transcript.Instant
	prompt      transcript.Key // key of the prompt that shows it, 0 for none
}

// begin returns the function that keeps the records of a file.
func (h *History) begin(path string) func(*transcript.Entry) {
	p := &log{models: []string{""}, origin: map[transcript.Key]transcript.Key{}}
	h.reading.Store(path, p)
	return p.note
}

// add adds a file once it has been read.
func (h *History) add(c transcript.Change) {
	read, ok := h.reading.LoadAndDelete(c.Cursor.Path)
	subagents := c.Parent != "" || strings.HasPrefix(c.Name, "agent-")
	if !ok || subagents && !c.Alone {
		return
	}
	p := read.(*log)
	if c.Session.Lines == c.Session.Bad {
		h.Strange++
		return
	}
	p.records = slices.Clone(p.records) // with the exact capacity
	c.Whole = false                     // emit events record by record, as if the file had been followed
	p.change = c
	h.Noticed = h.Noticed || p.noticed
	h.logs = append(h.logs, p)
}

// note keeps a record.
func (p *log) note(e *transcript.Entry) {
	if e.Text != "" && !p.begun { // a /clear or a handoff began the session
		p.follows = p.follows || e.Kind == transcript.KindAside || wording.IsDocument(e.Text) ||
			wording.MayResume(e.Text)
	}
	p.noticed = p.noticed || strings.Contains(e.Text, wording.Context)
	r, ok := p.record(e)
	if ok {
		p.records = append(p.records, r)
	}
	if e.Rewound {
		p.rewinds = append(p.rewinds, rewind{e.Left, e.Until, r.key})
		p.records = append(p.records, record{
			at:     e.At,
			key:    transcript.Key(len(p.rewinds)),
			kind:   transcript.KindRewind,
			tokens: r.tokens,
		})
	}
}

// Clients returns one part for each client, nil if there is only one client.
func (h *History) Clients() (parts []*History) {
	for _, c := range slices.Backward(h.clients) { // the usual one first
		part := &History{clients: h.clients, Client: c.Client, Noticed: h.Noticed}
		for _, p := range h.logs {
			if p.change.Client == c.Client {
				part.logs = append(part.logs, p)
			}
		}
		if n := len(part.logs); n > 0 && n < len(h.logs) {
			parts = append(parts, part)
		}
	}
	return parts
}

func (p *log) record(e *transcript.Entry) (r record, ok bool) {
	r = record{
		at:     e.At,
		key:    e.UUID,
		kind:   e.Kind,
		tokens: uint32(min(e.Context, math.MaxUint32)),
		copied: e.Origin != 0,
	}
	switch e.Kind {
	case transcript.KindReading:
		// A resume may write its copies with other uuids and times, and a
		// gateway may give all messages the same name.
		if name := cmp.Or(e.Message, e.Origin, e.UUID); name != 0 {
			r.key = transcript.Join(name, transcript.Key(e.Context))
		}
		i := slices.IndexFunc(p.models, func(m string) bool { return m == string(e.Model) })
		if i < 0 && len(p.models) < maxModels { // further models are ignored
			i = len(p.models)
			p.models = append(p.models, string(e.Model))
		}
		r.model = uint16(max(0, i))
		p.begun = true
	case transcript.KindTurnStart, transcript.KindTurnEnd:
		r.key = cmp.Or(e.Origin, e.UUID)
		// The prompt of a turn may come after its start.
		p.begun = p.begun || e.Kind == transcript.KindTurnStart && e.Text != ""
	case transcript.KindContext, transcript.KindOther, transcript.KindRewind, transcript.KindContinued:
		return r, false
	default:
		p.follows = p.follows || !p.begun
	}
	if r.copied {
		p.copied = true
		if e.Kind != transcript.KindReading { // readings are identified by their messages
			p.origin[e.UUID] = e.Origin
		}
	}
	return r, true
}

// maxModels is how many models are distinguished in a transcript.
const maxModels = 1000
