package jsonwalk

import (
	"bytes"
	"testing"
	"time"

	"sm/transcript"
)

func TestInstants(t *testing.T) {
	for _, s := range []string{
		"1970-01-01T00:00:00.001Z", "2026-11-20T08:13:30.067Z", "2024-02-29T23:59:59.999Z", "2000-02-29T00:00:00.000Z", "2261-12-31T23:59:59.999Z",
		"2026-01-31T00:00:00.000Z", "2026-04-30T00:00:00.000Z", "2026-12-31T23:59:59.999Z", "2026-02-28T12:00:00.000Z", "2026-03-01T00:00:00.000Z",
		"2026-11-20T08:13:30Z", "2026-11-20T08:13:30.1Z", "2026-11-20T08:13:30.123456789Z", "2026-11-20T08:13:30.067+05:30", "2026-11-20T23:30:00-02:00",
		"2025-02-29T00:00:00.000Z", "1900-02-29T00:00:00.000Z", "2100-02-29T00:00:00.000Z", "2026-04-31T00:00:00.000Z", "2026-11-31T00:00:00.000Z",
		"2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z", "2026-01-32T00:00:00.000Z", "2026-01-01T24:00:00.000Z",
		"2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z", "1969-12-31T23:59:59.999Z", "2262-01-01T00:00:00.000Z", "0000-00-00T00:00:00.000Z",
		"2026-11-20 08:13:30.067Z", "2026-11-20T08:13:30,067Z", "2026-11-20t08:13:30.067z", "2026-11-2aT08:13:30.067Z", "-026-11-20T08:13:30.067Z",
		"", "now", "1795169550", "2026-11-20T08:13:30.067", "2026-11-20T08:13:30.067ZZ",
	} {
		want := transcript.Instant(0)
		if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
			want = transcript.InstantOf(at)
		}
		if got := (Text{1, uint32(len(s) + 1)}).Instant([]byte(`"` + s + `"`)); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
	day := time.Date(1970, 1, 1, 11, 12, 13, 14e6, time.UTC)
	for ; day.Year() < 2262; day = day.AddDate(0, 0, 1) {
		s := day.Format("2006-01-02T15:04:05.000Z")
		if got := (Text{1, uint32(len(s) + 1)}).Instant([]byte(`"` + s + `"`)); got.Time() != day {
			t.Fatalf("%s: %s", s, got.Time())
		}
	}
}

// TestClock: a clock with the minute of a stamp, or another, agrees with a new one.
func TestClock(t *testing.T) {
	stamp := []byte(`"2026-11-20T08:13:30.067Z"`)
	text := Text{1, uint32(len(stamp) - 1)}
	check := func(c *Clock, b []byte) {
		t.Helper()
		if got, want := c.Instant(text, b), text.Instant(b); got != want {
			t.Fatalf("%s: %d, want %d", b, got, want)
		}
	}
	for i := 1; i < len(stamp)-1; i++ {
		for v := range 256 {
			if v == '\\' {
				continue // the Walker knows what escapes there are
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
	// An hour of one digit is read too; then the first 16 bytes end behind the minute's colon.
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
	if got, want := c.Instant(Text{1, 21}, short), (Text{1, 21}).Instant(short); got != want || got == 0 {
		t.Errorf("%s: %d, want %d", short, got, want)
	}
}
