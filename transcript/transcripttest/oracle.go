package transcripttest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"time"
)

// Oracle reads one transcript with encoding/json and says what it holds. What the
// file's name or other files would tell is left out: Figures and Alone are equal,
// Inherited is 0. An unterminated last line is not read; it only counts as Tail.
func Oracle(data []byte) FileTruth { return reread(data, false).truth() }

// OracleSubagent reads a subagent's file for itself, as if its records were those
// of a session: its context, its turns, its compactions.
func OracleSubagent(data []byte) FileTruth { return reread(data, true).truth() }

// moment is a place in the order of a file's events: by time, then by line.
type moment struct {
	at   time.Time
	line int
}

func (m moment) after(n moment) bool {
	if !m.at.Equal(n.at) {
		return m.at.After(n.at)
	}
	return m.line > n.line
}

// event is one compaction as its records tell of it.
type event struct {
	uuid, origin, parent, anchor string
	at                           time.Time // of the boundary, else of the summary
	trigger                      Trigger
	preTokens                    int64
	boundary, summarised         bool
	digest                       string // of the summary's text and time
}

// reader holds what has been read of one file.
type reader struct {
	out             FileTruth
	flat            bool // take sidechain records for the session's own
	seen            map[string]bool
	titled          bool // a bare summary was counted since the last reading
	clock           time.Time
	reading, latest moment     // the newest reading and the newest compaction
	history         writeOrder // what a rewind goes back to
	marker          *event
	events          []*event
	costs           map[string]Tokens // by message id
	side            map[string]bool
	nameless        Spent // messages without any id
	namelessSide    Spent
}

func reread(data []byte, flat bool) *reader {
	r := &reader{flat: flat, seen: map[string]bool{}, costs: map[string]Tokens{}, side: map[string]bool{}}
	r.out.Bytes = int64(len(data))
	for line := range bytes.Lines(data) {
		if line, whole := bytes.CutSuffix(line, []byte{'\n'}); whole {
			r.line(line)
		} else {
			r.out.Tail = int64(len(line))
		}
	}
	return r
}

func (r *reader) line(line []byte) {
	if len(bytes.Trim(line, " \t\r")) == 0 {
		return
	}
	r.out.Lines++
	o := objectOf(line)
	if o == nil {
		r.out.BadLines++
		return
	}
	r.record(o)
}

func (r *reader) record(o object) {
	r.common(o)
	if uuid := o.text("uuid"); uuid != "" {
		if r.seen[uuid] {
			return // a replay
		}
		r.seen[uuid] = true
	}
	side := o.yes("isSidechain") && !r.flat
	if !side {
		r.history.user(r, o)
	}
	switch kind := o.text("type"); {
	case kind == "assistant":
		r.assistant(o, side)
	case side:
	case kind == "system" && o.text("subtype") == "compact_boundary":
		r.boundary(o)
	case kind == "user" && o.yes("isCompactSummary"):
		r.summary(o)
	case kind == "user" && !o.yes("isMeta") && isPrompt(objectOf(o["message"])["content"]):
		r.out.Turns++
	case kind == "summary":
		r.title()
	}
}

// common takes what any record may carry, replays too: their writer is the client
// of the moment.
func (r *reader) common(o object) {
	at := o.when()
	if !at.IsZero() {
		if r.out.Started.IsZero() || at.Before(r.out.Started) {
			r.out.Started = at
		}
		if at.After(r.out.LastActivity) {
			r.out.LastActivity = at
		}
	}
	if id := o.text("sessionId"); r.out.SessionID == "" {
		r.out.SessionID = id
	}
	if v := o.text("version"); v != "" {
		r.out.Version = v // from here on a title is no compaction
	}
	if v := o.text("cwd"); v != "" {
		r.out.Cwd = v
	}
}

// place says when a record happened: one without a time, when the newest event
// before it in the file did.
func (r *reader) place(at time.Time) moment {
	if at.IsZero() {
		at = r.clock
	} else if at.After(r.clock) {
		r.clock = at
	}
	return moment{at, r.out.Lines}
}

func (r *reader) assistant(o object, side bool) {
	m := objectOf(o["message"])
	usage := objectOf(m["usage"])
	if o.yes("isApiErrorMessage") || m.text("model") == syntheticModel || usage == nil {
		return
	}
	cost, context := usage.usage()
	if cost != (Tokens{}) {
		r.spend(o, m.text("id"), cost, side)
	}
	if side || context <= 0 {
		return
	}
	now := r.inFile(o.when())
	r.titled = false
	r.out.Peak = max(r.out.Peak, context)
	r.history.newest = &view{now, context}
	if r.reading.line > 0 && !now.after(r.reading) {
		return
	}
	r.reading = now
	r.out.ContextTokens = context
	if model := m.text("model"); model != "" {
		r.out.Model = model
	}
}

// spend counts a message once, at its largest output. One without an id counts
// by its record's uuid, one without that by itself.
func (r *reader) spend(o object, id string, cost Tokens, side bool) {
	if id = cmp.Or(id, o.text("uuid")); id == "" {
		if side {
			r.namelessSide.add(cost)
		} else {
			r.nameless.add(cost)
		}
		return
	}
	old, known := r.costs[id]
	if !known || cost.costlier(old) {
		r.costs[id] = cost
	}
	if !known {
		r.side[id] = side
	}
}

func (r *reader) boundary(o object) {
	meta := objectOf(o["compactMetadata"])
	ev := &event{
		uuid: o.text("uuid"), origin: objectOf(o["forkedFrom"]).text("messageUuid"),
		at: o.when(), trigger: triggerOf(meta.text("trigger")), preTokens: meta.figure("preTokens"),
		boundary: true,
	}
	for _, key := range []string{"preservedSegment", "preservedMessages"} {
		if anchor := objectOf(meta[key]).text("anchorUuid"); anchor != "" {
			ev.anchor = anchor
		}
	}
	if preserved := objectOf(meta["preservedMessages"]); ev.uuid != "" && preserved.text("anchorUuid") == ev.uuid && number(meta["durationMs"]) && meta.figure("durationMs") == 0 {
		r.marker = ev
		return
	}
	for i, old := range r.events {
		if !old.boundary && (old.parent != "" && old.parent == ev.uuid || old.uuid != "" && old.uuid == ev.anchor) {
			ev.summarised, ev.digest = true, old.digest
			r.events[i] = ev
			r.compacted(ev.at)
			return
		}
	}
	r.events = append(r.events, ev)
	r.compacted(ev.at)
}

func (r *reader) summary(o object) {
	uuid, parent, at := o.text("uuid"), o.text("parentUuid"), o.when()
	digest := digestOf(textOf(objectOf(o["message"])["content"]), at)
	for _, ev := range r.events {
		if ev.boundary && (ev.uuid != "" && ev.uuid == parent || ev.anchor != "" && ev.anchor == uuid) {
			ev.summarised, ev.digest = true, digest
			return
		}
	}
	if n := len(r.events); n > 0 && r.events[n-1].boundary && !r.events[n-1].summarised {
		r.events[n-1].summarised, r.events[n-1].digest = true, digest
		return
	}
	if m := r.marker; m != nil {
		r.marker = nil
		m.summarised, m.digest = true, digest
		r.events = append(r.events, m)
		r.compacted(at)
		return
	}
	r.events = append(r.events, &event{
		uuid: uuid, parent: parent, origin: objectOf(o["forkedFrom"]).text("messageUuid"),
		at: at, trigger: UnknownTrigger, summarised: true, digest: digest,
	})
	r.compacted(at)
}

// title counts a summary record as a compaction where no client is named and a
// reading came before, once until the next reading.
func (r *reader) title() {
	if r.out.Version != "" || r.reading.line == 0 || r.titled {
		return
	}
	r.titled = true
	r.events = append(r.events, &event{trigger: UnknownTrigger, summarised: true})
	r.compacted(time.Time{})
}

func (r *reader) compacted(at time.Time) {
	r.history.newest = nil
	if now := r.inFile(at); now.after(r.latest) {
		r.latest = now
	}
}

func (r *reader) truth() FileTruth {
	t := r.out
	t.Known = r.reading.line > 0 && r.reading.after(r.latest)
	for _, ev := range r.events {
		t.Alone.Compactions.add(ev.trigger, 1)
	}
	for id, cost := range r.costs {
		if r.side[id] {
			t.Alone.Sidechain.add(cost)
		} else {
			t.Alone.add(cost)
		}
	}
	t.Alone.plus(r.nameless)
	t.Alone.Sidechain.plus(r.namelessSide)
	t.Figures = t.Alone
	t.Family = t.SessionID
	t.Subagents.Spent = t.Sidechain
	return t
}

// isPrompt reports whether a user message's content was typed: no tool result, no
// record of a command, no note of an interruption.
func isPrompt(content json.RawMessage) bool {
	if !isTyped(content) {
		return false
	}
	text := strings.TrimLeft(textOf(content), " \t\r\n")
	for _, prefix := range []string{"<command-name>", "<command-message>", "<local-command-", "<bash-", "[Request interrupted by user"} {
		if strings.HasPrefix(text, prefix) {
			return false
		}
	}
	return true
}

// textOf is the string that a message's content is, or the lines of its text blocks.
func textOf(content json.RawMessage) string {
	if list := listOf(content); list != nil {
		var parts []string
		for _, block := range list {
			if b := objectOf(block); b.text("type") == "text" {
				parts = append(parts, b.text("text"))
			}
		}
		return strings.Join(parts, "\n")
	}
	return decoded[string](content, '"')
}

// digestOf names a summary by text and time; short or undated ones have no digest.
func digestOf(text string, at time.Time) string {
	if len(text) < 200 || at.IsZero() {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return string(sum[:]) + at.Format(time.RFC3339Nano)
}
