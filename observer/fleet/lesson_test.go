package fleet

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// grower is a session whose context grows by step with each reply and is compacted at 150,000 tokens, again and again.
func grower(n, cycles, step int) *paper {
	p := ofSession(n)
	minute := 100 * n
	for c := range cycles {
		for size := 20_000; size < 150_000; size += step {
			minute++
			p.add(reply(after(minute), fmt.Sprintf("m%d-%d-%d", n, c, size), size, 10))
		}
		minute++
		p.add(boundary(after(minute), fmt.Sprintf("b%d-%d", n, c), "auto", 150_000))
	}
	return p.add(reply(after(minute+1), fmt.Sprintf("m%d-last", n), 20_000, 10))
}

func engineOf(t *testing.T) *alerts.Engine {
	t.Helper()
	e, err := alerts.New(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestTeach: a history that is found at the first start teaches what it would have taught live, and what a fork has copied
// teaches once.
func TestTeach(t *testing.T) {
	papers := []*paper{grower(1, 3, 1_500), grower(2, 2, 4_000)}
	fork := newPaper("/p/-home-dev-web/"+uuid(3)+".jsonl", papers[0].lines...).add(reply(after(900), "m3", 30_000, 10))
	live, found := engineOf(t), engineOf(t)
	f := settled()
	for _, p := range papers {
		q := newPaper(p.path)
		q.met()
		for _, line := range p.lines {
			for _, ev := range f.Apply(q.add(line).grown()).Events {
				live.Step(ev)
			}
		}
		live.Forget(alerts.AgentID(p.name))
	}
	f = New(Options{Created: created, Teach: func(events []alerts.Event) {
		for _, ev := range events {
			found.Step(ev)
		}
		found.Forget(events[0].Agent)
	}}, Stored{})
	for _, p := range append(papers, fork) {
		f.Apply(p.whole())
	}
	f.Settle(created)
	want, got := live.Snapshot().Calibration, found.Snapshot().Calibration
	if n := len(want.Errors[0]); n != 5 {
		t.Fatalf("%d cycles have taught live, want 5", n)
	}
	if d := cmp.Diff(want.Errors, got.Errors); d != "" {
		t.Errorf("errors (-live +found):\n%s", d)
	}
}
