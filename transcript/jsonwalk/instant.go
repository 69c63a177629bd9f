package jsonwalk

import (
	"encoding/binary"
	"time"

	"sm/transcript"
)

// Clock parses timestamps, most of them in the minute of the one before. The zero
// value is ready.
type Clock struct {
	minute [2]uint64 // the 16 bytes of the newest stamp that name it
	at     transcript.Instant
}

// What the last eight bytes of a stamp, :30.067Z, consist of: marks, and digits.
const (
	stampBytes  = uint32(len("2026-11-20T08:13:30.067Z"))
	stampMarks  = ':' | '.'<<24 | 'Z'<<56
	stampDigits = 0x00ffffff00ffff00
	stampZeros  = stampDigits & (ones * '0')
	pastNine    = stampDigits & (ones * (0x80 - 10)) // makes the top bit of what is more than 9
)

// Instant does what [Text.Instant] does.
func (c *Clock) Instant(t Text, line []byte) transcript.Instant {
	if t.To-t.From != stampBytes {
		return t.Instant(line)
	}
	b := line[t.From:t.To]
	minute := [2]uint64{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
	rest := binary.LittleEndian.Uint64(b[16:])
	d := rest&stampDigits - stampZeros
	seconds := rest&^stampDigits == stampMarks // rest has them; the bytes before it name a minute
	if seconds && minute == c.minute && (d|(d+pastNine))&highs == 0 && d>>8&0xff < 6 {
		millis := (d>>8&0xff*10+d>>16&0xff)*1000 + d>>32&0xff*100 + d>>40&0xff*10 + d>>48&0xff
		return c.at + transcript.Instant(millis)*1e6
	}
	at := t.Instant(line)
	if seconds && at != 0 {
		c.minute = minute
		c.at = at - at%60e9
	}
	return at
}

// Instant reads a timestamp in any form of RFC 3339; 0 when it is none.
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
