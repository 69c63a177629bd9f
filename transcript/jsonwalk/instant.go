package jsonwalk

import (
	"time"

	"sm/transcript"
)

// Clock parses timestamps; it is fast for those in the minute of the one
// before. The zero value is ready.
type Clock struct {
	minute [len("2026-11-20T08:13:")]byte // the beginning of the newest stamp
	at     transcript.Instant
}

// Instant is like [Text.Instant].
func (c *Clock) Instant(t Text, line []byte) transcript.Instant {
	b := line[t.From:t.To]
	n := len(c.minute)
	usual := len(b) == len("2026-11-20T08:13:30.067Z") && b[n-1] == ':' && b[n+2] == '.' && b[n+6] == 'Z'
	if usual && string(b[:n]) == string(c.minute[:]) {
		millis := 0
		for _, i := range [...]int{0, 1, 3, 4, 5} {
			if b[n+i]-'0' > 9 {
				return 0
			}
			millis = millis*10 + int(b[n+i]-'0')
		}
		if millis >= 60_000 {
			return 0
		}
		return c.at + transcript.Instant(millis)*1e6
	}
	at := t.Instant(line)
	if usual && at != 0 {
		copy(c.minute[:], b)
		c.at = at - at%60e9
	}
	return at
}

// Instant parses a timestamp in any form of RFC 3339; it returns 0 for an
// invalid one.
func (t Text) Instant(line []byte) transcript.Instant {
	if t.None() {
		return 0
	}
	at, err := time.Parse(time.RFC3339Nano, string(t.Bytes(line)))
	if err != nil {
		return 0
	}
	return transcript.InstantOf(at)
}
