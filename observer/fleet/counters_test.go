package fleet

import (
	"testing"

	"sm/transcript"
)

// counted has the values of Counters; of histograms only the number of observations.
type counted struct {
	Compactions        [4]uint64
	Output             uint64
	Good, Bad          uint64
	PreTokens, Seconds uint64
}

func countedOf(f *Fleet) counted {
	c := f.Counters()
	sum := func(counts []uint64) (n uint64) {
		for _, k := range counts {
			n += k
		}
		return n
	}
	return counted{
		c.Compactions,
		uint64(c.Tokens.Output),
		c.Lines.Good,
		c.Lines.Bad,
		sum(c.PreTokens.Counts),
		sum(c.Duration.Counts),
	}
}

// TestCounters tests which records count, for all ways in which they are found, before and
// after Settle.
func TestCounters(t *testing.T) {
	lines := func(when func(int) string) []string {
		return []string{
			reply(
				when(3),
				"m1",
				100_000,
				10,
			), boundary(
				when(2),
				"b1",
				"auto",
				100_010,
			), "nonsense",
			summary(when(2), "s1", "b1", "one"), sidechain(reply(when(1), "m2", 9_000, 5)),
		}
	}
	undated := []string{`{"type":"assistant","uuid":"u1","message":{"id":"m1","usage":{"input_tokens":2,"output_tokens":15}}}`}
	all := counted{[4]uint64{1, 0, 0}, 15, 4, 1, 1, 1}
	none := counted{Good: 4, Bad: 1}
	for _, c := range []struct {
		name   string
		lines  []string
		whole  bool // found complete; otherwise found empty, and it grows
		before bool // Settle is called after it
		want   counted
	}{
		{"history", lines(before), true, true, none},
		{"history younger than the state", lines(after), true, true, all},
		{"history without a time", undated, true, true, counted{Good: 1}},
		{"growth of history", lines(before), false, true, all},
		{"an old file found late", lines(before), true, false, none},
		{"a new file", lines(after), true, false, all},
		{"a new file without times", undated, true, false, counted{Output: 15, Good: 1}},
		{"growth", lines(after), false, false, all},
		{"growth with old times", lines(before), false, false, all},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := unsettled()
			p := ofSession(1)
			if !c.before {
				f.Settle(created)
			}
			if !c.whole {
				f.Apply(p.whole())
			}
			p.add(c.lines...)
			if c.whole {
				f.Apply(p.whole())
			} else {
				f.Apply(p.grown())
			}
			f.Settle(created)
			diff(t, "counters", c.want, countedOf(f))
			v, err := f.View(labelled(1), created)
			if err != nil || v.Agent.Counted[auto] != int(c.want.Compactions[auto]) {
				t.Errorf("the session counted %v: %v", v.Agent.Counted, err)
			}
			f.Apply(p.whole())
			want := c.want
			want.Good, want.Bad = 2*want.Good, 2*want.Bad // read, though not for the first time
			diff(t, "counters after reading it again", want, countedOf(f))
		})
	}
}

// TestLinesRead tests that a file that shrinks and is read again counts as read, and never
// negatively.
func TestLinesRead(t *testing.T) {
	f := settled()
	p := ofSession(1, prompt(after(1), "p1"), prompt(after(2), "p2"), "{")
	f.Apply(p.whole())
	f.Apply(p.add("{", prompt(after(3), "p3")).grown())
	diff(t, "grown", counted{Good: 3, Bad: 2}, countedOf(f))
	bytes := f.Counters().Bytes
	p.lines = p.lines[:1]
	f.Apply(p.whole())
	diff(t, "rewritten", counted{Good: 4, Bad: 2}, countedOf(f))
	if n := f.Counters().Bytes - bytes; n != uint64(len(p.lines[0])+1) {
		t.Errorf("%d bytes more", n)
	}
	shrunk := p.grown()
	shrunk.Session = transcript.Session{}
	f.Apply(shrunk)
	diff(t, "impossible", counted{Good: 4, Bad: 2}, countedOf(f))
}
