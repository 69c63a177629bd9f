package jsonwalk

import (
	"bytes"
	"testing"
	"time"
)

// TestClock tests that a clock with the minute of a stamp, or another, agrees with a new one.
func TestClock(t *testing.T) {
	stamp := []byte(`"2026-11-20T08:13:30.067Z"`)
	text := Text{1, uint32(len(stamp) - 1)}
	check := func(c *Clock, b []byte) {
		t.Helper()
		if got, want := c.Instant(text, b), text.Instant(b); got != want {
			t.Fatalf("%s: got %d, want %d", b, got, want)
		}
	}
	for i := 1; i < len(stamp)-1; i++ {
		for v := range 256 {
			if v == '\\' {
				continue // the Walker decodes escapes
			}
			var c Clock
			check(&c, stamp)
			b := bytes.Clone(stamp)
			b[i] = byte(v)
			check(&c, b)
			check(&c, stamp)
		}
	}
	var c Clock
	// An hour of one digit is read too; then the first 16 bytes end after the minute's colon.
	check(&c, []byte(`"2026-11-20T8:13:30.0670Z"`))
	check(&c, []byte(`"2026-11-20T8:13::30.067Z"`))
	at := time.Date(2026, 12, 31, 23, 58, 0, 0, time.UTC)
	for i := range 2000 {
		check(&c, []byte(at.Format(`"2006-01-02T15:04:05.000Z"`)))
		if at = at.Add(997 * time.Millisecond); i%300 == 299 {
			at = at.AddDate(0, 0, 9)
		}
	}
	short := []byte(`"2026-11-20T08:13:30Z"`)
	if got, want := c.Instant(
		Text{1, 21},
		short,
	), (Text{
		1,
		21,
	}).Instant(short); got != want ||
		got == 0 {
		t.Errorf("%s: got %d, want %d", short, got, want)
	}
}
