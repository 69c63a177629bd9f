package bills

import (
	"cmp"
	"slices"
	"time"

	"sm/transcript"
)

// longest is the maximum duration of a boundary: longer times are pauses.
const longest = 10 * time.Minute

// Millis returns the duration of a boundary between two records, in
// milliseconds; 0 if it is unknown or too long for a boundary.
func Millis(from, to transcript.Instant) int64 {
	took := time.Duration(to - from)
	if from == 0 || took <= 0 || took > longest {
		return 0
	}
	return took.Milliseconds()
}

// Against completes the bill of a session that began with a boundary, given the
// work of the session before it. That session's context had a size of before
// tokens at its end, and its last record was stamped then.
func Against(
	b transcript.Bill,
	done transcript.Worked,
	before int64,
	then transcript.Instant,
) transcript.Bill {
	b.Before = before
	if b.Kind != transcript.BilledClear { // a person may clear after a pause
		b.Millis = cmp.Or(Millis(then, b.At), b.Millis)
	}
	b.Files = slices.Clone(b.Files)
	for _, w := range b.Work {
		switch {
		case w.Tool == transcript.ToolOther:
			if slices.ContainsFunc(
				done.Prompts,
				func(k transcript.Key) bool { return Alike(k, w.Key) },
			) {
				b.Restated++
			}
		case slices.Contains(done.Keys, w.Key):
			repeat(&b, w.Tool)
			if w.Tool == transcript.ToolRead {
				reread(&b, w)
			}
		}
	}
	b.Regrown = regrown(b.Grown, b.Tokens)
	b.Work = nil
	b.Grown = nil
	return b
}

// Extend adds new work to the known work, and drops the oldest.
func Extend(known, news transcript.Worked) transcript.Worked {
	if news.All {
		return news
	}
	last := func(keys []transcript.Key, most int) []transcript.Key {
		return keys[max(0, len(keys)-most):]
	}
	known.Keys = last(append(known.Keys, news.Keys...), maxKeys)
	known.Prompts = last(append(known.Prompts, news.Prompts...), maxPrompts)
	return known
}
