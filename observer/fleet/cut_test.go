package fleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/clients/clientstest"
)

// TestDroppedRecords: a session keeps the totals of records that its client has
// dropped from the transcript at a compaction, and counts nothing twice, across
// restarts and further compactions.
func TestDroppedRecords(t *testing.T) {
	type totals struct {
		Turns, Messages, Compactions int
		Output                       int64
		Peak                         int64
	}
	s := newStore()
	f := New(Options{Clients: clientstest.Table(), Created: created, Ledger: s}, Stored{})
	f.Settle(created)
	check := func(what string, want totals) {
		t.Helper()
		now := created.Add(time.Hour)
		v, err := f.View(uuid(1), now)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		got := totals{v.Turns, v.Messages, v.Compactions[transcript.Auto], v.Cost.Output, v.Peak}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		if n := int(f.Counters().Compactions[transcript.Auto]); n != want.Compactions {
			t.Errorf("%s: %d compactions counted, want %d", what, n, want.Compactions)
		}
	}
	rewritten := func(lines ...string) *paper {
		p := ofSession(1, lines...)
		f.Apply(p.met())
		return p
	}

	kept := `{"parentUuid":"dropped",` + reply(after(3), "m2", 160_000, 20)[1:]
	p := ofSession(1, prompt(after(1), "p1"), reply(after(2), "m1", 90_000, 10), kept)
	f.Apply(p.met())
	check("before", totals{
		Turns:    1,
		Messages: 2,
		Output:   30,
		Peak:     160_000,
	})

	p = rewritten(kept, boundary(after(4), "b1", "auto", 160_000), summary(after(4), "s1", "b1", "short"))
	check("rewritten", totals{1, 2, 1, 30, 160_000})
	f.Apply(p.add(prompt(after(5), "p2"), reply(after(6), "m3", 30_000, 5)).grown())
	check("goes on", totals{2, 3, 1, 35, 160_000})

	d, _ := f.Take()
	s.put(d)
	f = New(Options{Clients: clientstest.Table(), Created: created, Ledger: s}, s.stored(t))
	check("after a restart", totals{2, 3, 1, 35, 160_000})
	f.Apply(p.met())
	check("read again", totals{2, 3, 1, 35, 160_000})

	rewritten(boundary(after(8), "b2", "auto", 150_000), summary(after(8), "s2", "b2", "short"),
		`{"parentUuid":"s2",`+prompt(after(9), "p3")[1:], reply(after(9), "m4", 20_000, 5))
	check("rewritten again", totals{3, 4, 2, 40, 160_000})

	f.Apply(ofSession(1, prompt(after(1), "p1"), reply(after(2), "m1", 90_000, 10)).met())
	v, _ := f.View(uuid(1), created.Add(time.Hour))
	if v.Messages != 1 || v.Turns != 1 {
		t.Errorf("restored from a backup: %d messages, %d turns, want 1, 1", v.Messages, v.Turns)
	}
}
