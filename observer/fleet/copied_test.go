package fleet

import (
	"testing"
	"time"

	"sm/transcript"
)

// A copy of an old transcript has a new file and is nobody at work; a file that is a little younger than its records is
// written by somebody, since not all records carry a time.
func TestCopyIsNotAtWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		active int // minutes before the file was written
		live   bool
	}{
		"written by its client":          {0, true},
		"records without a time at last": {40, true},
		"copied after an hour":           {61, false},
		"copied after a year":            {365 * 24 * 60, false},
	} {
		p := ofSession(1, prompt(before(test.active), "p1"), reply(before(test.active), "m1", 50_000, 10))
		change := p.whole()
		change.Cursor.Modified = int64(transcript.InstantOf(created))
		f := settled()
		f.Apply(change)
		now := created.Add(time.Minute)
		v, err := f.View(uuid(1), now)
		if err != nil {
			t.Fatal(err)
		}
		if at := len(f.Activity(now)) == 1; v.Live != test.live || at != test.live {
			t.Errorf("%s: live %v, at work %v, want %v", name, v.Live, at, test.live)
		}
	}
}
