package fleet

import (
	"testing"
	"time"

	"sm/transcript"
)

// TestCopyIsNotAtWork tests that a copied transcript, which has a new file and old records,
// is not at work. One that grows while it is watched is, with any clock of its client; one
// without times counts by its file.
func TestCopyIsNotAtWork(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * 60
	for _, test := range []struct {
		name   string
		active int             // minutes since the newest record; 0 for records without times
		grown  []time.Duration // after the file was first seen
		live   bool
	}{
		{"written by its client", 1, nil, true},
		{"copied", 61, nil, false},
		{"copied a year later", year, nil, false},
		{
			"read while it was being copied",
			year,
			[]time.Duration{time.Millisecond, time.Second},
			false,
		},
		{"its client's clock is a year late", year, []time.Duration{3 * time.Second}, true},
		{
			"its client's clock is late, and it writes often",
			year,
			[]time.Duration{time.Second, 2 * time.Second, 5 * time.Second},
			true,
		},
		{"records without times", 0, nil, true},
	} {
		stamp := before(test.active)
		if test.active == 0 {
			stamp = ""
		}
		p := ofSession(1, prompt(stamp, "p1"), reply(stamp, "m1", 50_000, 10))
		at := func(after time.Duration) int64 { return int64(transcript.InstantOf(created.Add(after))) }
		change := p.whole()
		change.Cursor.Modified = at(0)
		f := settled()
		f.Apply(change)
		for i, after := range test.grown {
			change := p.add(reply(stamp, "n"+string(rune('a'+i)), 51_000, 10)).grown()
			change.Cursor.Modified = at(after)
			f.Apply(change)
		}
		now := created.Add(time.Minute)
		v, err := f.View(uuid(1), now)
		noErrors(t, err)
		if at := len(f.Activity(now)) == 1; v.Live != test.live || at != test.live {
			t.Errorf("%s: live %v, at work %v, want %v", test.name, v.Live, at, test.live)
		}
		if views, others := f.Recent(
			now,
			time.Hour,
			"",
		); len(views) == 1 != test.live ||
			len(views)+others != 1 {
			t.Errorf(
				"%s: %d show as recent, %d as older, and it is live: %v",
				test.name,
				len(views),
				others,
				test.live,
			)
		}
	}
}
