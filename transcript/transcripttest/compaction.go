package transcripttest

import (
	"cmp"
	"io"
	"time"
)

// Compaction says how the context is compacted. What its client cannot write is
// left out: before 1.0.113 there is a summary and no boundary.
type Compaction struct {
	Trigger Trigger
	// Direction is "from" or "up_to" when part of the conversation was summarised
	// from the rewind menu.
	Direction string
	// SummaryFirst writes the summary before its boundary, SummaryLate after the
	// first line of the next reply.
	SummaryFirst, SummaryLate bool
	// NoMetadata leaves out what the boundary tells of trigger and size.
	NoMetadata bool
	// Short makes the summary too short to prove where it is from.
	Short bool
	// Link is what ties the summary to its boundary, besides their places.
	Link Link
}

// Link is a way in which a compaction's summary is known to be that of a boundary.
type Link uint8

// The links.
const (
	ByParent Link = iota // the summary names the boundary as its parent
	ByAnchor             // the boundary names the summary, where its client does so
	ByPlace              // nothing: the summary follows a boundary that has none
)

// Compact writes a compaction in the shape of the client.
func (s *Session) Compact(o Compaction) {
	s.Pass(time.Duration(4+s.rng.IntN(30)) * time.Second)
	late := s.late
	s.late = nil
	defer func() { // the summary of an earlier compaction, later than all
		if now := s.late; late != nil {
			s.late = late
			s.writeLate()
			s.late = now
		}
	}()
	s.unprovable = s.unprovable || o.NoMetadata && o.SummaryFirst || o.Short && (o.NoMetadata || !s.client.boundaries())
	switch {
	case s.client.bare():
		s.writeTitle(words(s.rng, 3))
	case !s.client.boundaries():
		r := s.summary("", o)
		r.parent = ""
		r.effect = effect{deed: compacts, trigger: UnknownTrigger}
		s.write(r)
	default:
		if s.client.in(2_001_226, 0) && o.Trigger == Manual {
			s.QueueOperation("enqueue", "/compact")
			s.QueueOperation("dequeue", "")
			s.Title()
			s.Mode()
		}
		s.boundaryAndSummary(o)
	}
	if o.Trigger == Manual && o.Direction == "" && !s.client.bare() {
		s.calls = nil
		s.commandRecords("/compact", "Compacted", 80*time.Millisecond)
		s.Attachment(300)
	}
	s.context = min(s.context, 20_000+s.rng.Int64N(30_000))
}

func (s *Session) boundaryAndSummary(o Compaction) {
	if s.client.slug() && s.slug == "" {
		s.slug, s.shared = pick(s.rng, []string{"greedy-wobbling-clarke", "rosy-moseying-meadow"}), nil
	}
	if s.client.snapshots() && !s.client.trailing() {
		s.snapshot(&record{uuid: newUUID(s.rng), at: s.now})
	}
	boundary := s.body(members(nil).str("type", "system").str("subtype", "compact_boundary").
		str("content", "Conversation compacted").flag("isMeta", false))
	boundary.logical, boundary.parent, boundary.stampFirst = s.last, "", true
	boundary.effect = effect{deed: compacts, trigger: o.Trigger}
	summary := s.summary(boundary.uuid, o)
	boundary.extra = members(nil).str("level", "info")
	if o.NoMetadata {
		boundary.effect.trigger = UnknownTrigger
	} else {
		boundary.extra = append(members(boundary.extra).key("compactMetadata"), s.compactMetadata(o, summary.uuid)...)
	}
	summary.of = boundary.uuid
	if o.Link == ByPlace && !o.SummaryLate && !o.SummaryFirst || o.Link == ByAnchor && s.client.richMetadata() && !o.NoMetadata {
		summary.parent = newUUID(s.rng)
	}
	switch {
	case s.client.in(2_001_198, 0):
		summary.at = boundary.at.Add(-2 * time.Millisecond)
	case s.client.trailing():
		summary.at = boundary.at.Add(-time.Duration(s.rng.IntN(4)) * time.Millisecond)
	}
	if o.SummaryFirst {
		summary.effect = effect{deed: compacts, trigger: UnknownTrigger}
		boundary.effect.deed = merges
		s.write(summary)
		s.write(boundary)
		s.last = summary.uuid
		return
	}
	s.write(boundary)
	if o.SummaryLate && s.client.trailing() {
		s.late, s.last = summary, boundary.logical
		return
	}
	s.write(summary)
}

// writeLate writes the summary of a compaction after which the client has been
// faster to answer than to write.
func (s *Session) writeLate() {
	if r, last := s.late, s.last; r != nil {
		s.late = nil
		s.write(r)
		s.last = last
	}
}

func (s *Session) compactMetadata(o Compaction, anchor string) members {
	pre := s.context + s.output
	m := members{'{'}.str("trigger", o.Trigger.String()).num("preTokens", pre)
	if o.Direction != "" {
		m = m.num("messagesSummarized", 12)
	}
	if !s.client.richMetadata() {
		return m.shut()
	}
	m = m.num("durationMs", 9_000+s.rng.Int64N(30_000))
	uuids := members{'['}
	var head, tail string
	for _, r := range s.preserved() {
		if len(uuids) > 1 {
			uuids = append(uuids, ',')
		}
		uuids = appendQuoted(uuids, r.uuid)
		head, tail = cmp.Or(head, r.uuid), r.uuid
	}
	uuids = append(uuids, ']')
	if o.Link == ByPlace {
		anchor = newUUID(s.rng)
	}
	m = m.open("preservedSegment").strOrNull("headUuid", head).str("anchorUuid", anchor).strOrNull("tailUuid", tail).shut()
	m = m.open("preservedMessages").str("anchorUuid", anchor).raw("uuids", string(uuids)).raw("allUuids", string(uuids)).shut()
	return m.num("postTokens", 700+s.rng.Int64N(9_000)).num("cumulativeDroppedTokens", pre*2).shut()
}

// preserved are the records that a compaction leaves in the context: the last ones.
func (s *Session) preserved() []*record {
	from := len(s.kept)
	for from > 0 && len(s.kept)-from < 4 && s.kept[from-1].effect.deed != compacts {
		from--
	}
	return s.kept[from:]
}

// summary is the user record with a compaction's summary.
func (s *Session) summary(parent string, o Compaction) *record {
	text := appendEscaped(nil, "This session is being continued from a previous conversation that ran out of context. "+words(s.rng, 30)+"\n")
	if text = append(text, s.prose.take(s.rng, 400)...); o.Short {
		text = text[:80]
	}
	m := members(nil).str("type", "user").open("message").str("role", "user").quoted("content", text).shut()
	if o.Direction == "" && s.client.boundaries() {
		m = m.flag("isVisibleInTranscriptOnly", true)
	}
	m = m.flag("isCompactSummary", true)
	if o.Direction != "" {
		m = m.open("summarizeMetadata").num("messagesSummarized", 12).str("direction", o.Direction).shut()
	}
	r := s.body(m)
	r.parent, r.promptID = parent, s.promptID
	r.effect.deed = narrates
	return r
}

// commandRecords writes what a command leaves behind: a caveat, its name and its
// output, the first two stamped some time before.
func (s *Session) commandRecords(name, output string, before time.Duration) {
	if s.client.in(2_001_198, 0) {
		before = 17 * time.Second
	}
	began := s.now.Add(-before)
	s.writeCaveat(began)
	r := s.userText("<command-name>" + name + "</command-name>\n            <command-message>" + name[1:] +
		"</command-message>\n            <command-args></command-args>")
	r.at = began
	s.write(r)
	s.write(s.userText("<local-command-stdout>" + output + "</local-command-stdout>"))
}

// writeCaveat warns the model of what follows. The earliest clients write the same
// record again in the next session of the same file.
func (s *Session) writeCaveat(at time.Time) {
	if s.caveat != nil && s.client.sameFileClear() {
		s.again(s.caveat)
		s.last = s.caveat.uuid
		return
	}
	text := "Caveat: The messages below were generated by the user while running local commands."
	if s.client.in(2_001_040, 0) {
		text = "<local-command-caveat>" + text + "</local-command-caveat>"
	}
	r := s.userText(text)
	r.front = members(r.front).flag("isMeta", true)
	r.at = at
	s.caveat = r
	s.write(r)
}

// userText is a user record that is no prompt.
func (s *Session) userText(text string) *record {
	r := s.body(members(nil).str("type", "user").open("message").str("role", "user").str("content", text).shut())
	r.promptID = s.promptID
	return r
}

// Clear is what /clear does: it begins another session, which is written to w and
// returned. The earliest clients go on in the same file; they return s itself, as
// do bare ones, and w stays unused.
func (s *Session) Clear(w io.Writer) *Session {
	if s.client.bare() {
		return s
	}
	next := s
	if s.client.sameFileClear() {
		s.id, s.shared = newUUID(s.rng), nil
	} else {
		next = s.spawn(w)
		next.Mode()
	}
	next.last, next.calls = "", nil
	next.context = 12_000 + s.rng.Int64N(9_000)
	next.commandRecords("/clear", "", 10*time.Millisecond)
	return next
}
