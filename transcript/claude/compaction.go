package claude

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
	"sm/transcript/bills"
	"sm/transcript/claude/hook"
)

// compacted counts a compact_boundary; a marker waits for its summary. If a
// summary that names the boundary came before it, it was counted as a
// compaction of its own: the two are one compaction.
func (f *Fold) compacted(e *transcript.Entry, now moment) {
	ev := transcript.Event{
		Compaction: transcript.Compaction{
			Key:       cmp.Or(e.Origin, e.UUID),
			Own:       e.UUID,
			At:        e.At,
			Trigger:   f.trigger(e),
			PreTokens: e.PreTokens,
			Millis:    e.Duration.Milliseconds(),
			Boundary:  true,
			Copied:    e.Origin != 0,
		},
		Anchor: e.Anchor,
	}
	ev.Undecided = ev.Trigger == transcript.Auto && compactsIdle(f.Session.Version)
	if e.At != 0 {
		ev.Stamp = transcript.Join(
			transcript.Key(e.At),
			transcript.Key(e.Trigger),
			transcript.Key(e.PreTokens),
		)
	}
	if e.Marker {
		f.marker = ev
		return
	}
	for i := range f.Compactions {
		c := &f.Compactions[i]
		if c.Boundary ||
			!(c.Parent != 0 && c.Parent == e.UUID || c.Own != 0 && c.Own == e.Anchor) {
			continue
		}
		f.Retrigger(i, ev.Trigger)
		ev.Digest = c.Digest
		ev.Summarised = true
		ev.Was = c.Key
		*c = ev
		f.blank(now)
		return
	}
	f.compact(ev, now)
}

// awayAfter is the time after the last reply at which a client begins a summary
// for a user who is away: nine tenths of the prompt cache's hour.
const awayAfter = transcript.Instant(54 * time.Minute)

// trigger returns the trigger of a boundary. The client writes "auto" for idle
// compactions, too. They happen while no turn is open, or insert a summary that
// was written while the user was away.
func (f *Fold) trigger(e *transcript.Entry) transcript.Trigger {
	away := e.Precomputed && f.reading.at != 0 && e.At-f.reading.at >= awayAfter
	if e.Trigger == transcript.Auto && (f.rested || away) && compactsIdle(f.Session.Version) {
		return transcript.Idle
	}
	return e.Trigger
}

// compactsIdle reports whether a version of the client compacts idle conversations.
func compactsIdle(version string) bool {
	return hook.AtLeast(version, 2, 1, 299)
}

// decide makes the trigger of the newest compaction final.
func (f *Fold) decide() {
	if i := len(f.Compactions) - 1; i >= 0 && f.Compactions[i].Undecided {
		f.Compactions[i].Undecided = false
		f.Change(i)
	}
}

// summary counts a compaction that has a summary but no boundary.
func (f *Fold) summary(e *transcript.Entry, now moment) {
	if i := f.owner(e); i >= 0 {
		c := &f.Compactions[i]
		if !c.Summarised {
			c.Summarised = true
			c.Digest = e.Digest
			f.Change(i)
		}
		return
	}
	if m := f.marker; m.Own != 0 {
		f.marker = transcript.Event{}
		m.Summarised = true
		m.Digest = e.Digest
		f.compact(m, now)
		return
	}
	f.compact(transcript.Event{
		Compaction: transcript.Compaction{
			Key:     cmp.Or(e.Origin, e.UUID),
			Own:     e.UUID,
			Digest:  e.Digest,
			At:      e.At,
			Trigger: transcript.Unknown,
			Copied:  e.Origin != 0,
		},
		Parent:     e.Parent,
		Summarised: true,
	}, now)
}

// owner returns the index of the boundary that a summary belongs to, -1 for
// none: the boundary that it names, or that names it, else the file's last
// compaction if that still lacks a summary.
func (f *Fold) owner(e *transcript.Entry) int {
	for i, c := range slices.Backward(f.Compactions) {
		if c.Boundary &&
			(c.Own != 0 && c.Own == e.Parent || c.Anchor != 0 && c.Anchor == e.UUID) {
			return i
		}
	}
	if i := len(f.Compactions) - 1; i >= 0 && f.Compactions[i].Boundary &&
		!f.Compactions[i].Summarised {
		return i
	}
	return -1
}

// title counts a title as a compaction if the transcript is as bare as the
// first clients were described: no record names a client version, and a reading
// came before.
func (f *Fold) title(now moment) bool {
	if f.Session.Version != "" || f.reading.order == 0 || f.titled {
		return false
	}
	f.titled = true
	f.compact(transcript.Event{
		Compaction: transcript.Compaction{At: now.at, Trigger: transcript.Unknown},
		Summarised: true,
	}, now)
	return true
}

// nameless distinguishes the keys of compactions without a uuid. Keys are
// stored: never change it.
const nameless = 0xbb67ae8584caa73b

func (f *Fold) compact(ev transcript.Event, now moment) {
	if ev.Key == 0 { // the index gives the same key when the file is read again
		ev.Key = transcript.Join(f.name, nameless, transcript.Key(len(f.Compactions)))
	}
	i := f.Tally.Add(ev)
	if f.bills != nil {
		b := transcript.Bill{}
		if ev.Trigger == transcript.Auto { // the client writes nothing while it compacts
			b.Millis = bills.Millis(f.before, ev.At)
		}
		f.bills.Compacted(i, b)
	}
	f.blank(now)
}

// blank makes the context unknown, unless the file has a newer reading.
func (f *Fold) blank(now moment) {
	if now.after(f.boundary) {
		f.boundary = now
	}
	f.chain.spot = spot{}
	f.Session.Blank = f.boundary.after(f.reading)
}
