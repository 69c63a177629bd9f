package top

import (
	"math"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// A trend reaches back for four minutes.
const (
	trendSlot  = 5 * time.Second
	trendSlots = 48
)

// trend is how full a context was in the last minutes, as far as anybody looked. The zero value knows nothing.
type trend struct{ samples [trendSlots]trendSample }

// trendSample is the fullest that a context was in a slot of time.
type trendSample struct {
	slot  int64 // since 1970
	share float64
	level string
}

func slotOf(at time.Time) int64 { return at.UnixMilli() / trendSlot.Milliseconds() }

// usedShare is how full a context is, 0 to 1; false while that is unknown.
func usedShare(s *api.Session) (float64, bool) {
	if s.TokensUsed == nil || s.WindowTokens <= 0 {
		return 0, false
	}
	return min(1, max(0, float64(*s.TokensUsed)/float64(s.WindowTokens))), true
}

// add takes note of a session's context.
func (t *trend) add(s *api.Session, now time.Time) {
	n := slotOf(now)
	x := &t.samples[n%trendSlots]
	if full, known := usedShare(s); known && (x.slot != n || full > x.share) {
		*x = trendSample{n, full, s.Level}
	}
}

// fullest is the fullest of the slots from..to; false when none is known.
func (t *trend) fullest(from, to int64) (most trendSample, known bool) {
	for n := from; n <= to; n++ {
		if x := t.samples[n%trendSlots]; x.slot == n && (!known || x.share > most.share) {
			most, known = x, true
		}
	}
	return most, known
}

// spans draws the trend in at most width cells, the newest at the right. Cells stand for fixed stretches of time: they
// move on when a stretch ends, and not at every look.
func (t *trend) spans(width int, now time.Time) []span {
	if width <= 0 {
		return nil
	}
	const levels = "▁▂▃▄▅▆▇█"
	marks := []rune(levels)
	slots := int64(trendSlots+width-1) / int64(width) // of a cell
	last := slotOf(now) / slots
	var out []span
	for i := int64(trendSlots)/slots - 1; i >= 0; i-- {
		from := (last - i) * slots
		text, colour := " ", ""
		if x, known := t.fullest(from, from+slots-1); known {
			step := int(math.Ceil(x.share*float64(len(marks)))) - 1
			text, colour = string(marks[max(0, step)]), levelColour(x.level)
		}
		if n := len(out); n > 0 && out[n-1].colour == colour {
			out[n-1].text += text
		} else {
			out = append(out, span{text, colour})
		}
	}
	return out
}

// levelColour is the colour of what stands at a level.
func levelColour(level string) string {
	switch level {
	case "ok":
		return screen.Green
	case "early_warn":
		return screen.Yellow
	case "warn":
		return screen.Orange
	case "critical":
		return screen.Red
	}
	return screen.Dim
}
