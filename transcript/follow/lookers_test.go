package follow

import (
	"fmt"
	"testing"
	"time"
)

// TestLookers: a tailer that was poked is taken once, and once more if it was poked after
// that.
func TestLookers(t *testing.T) {
	l := &lookers{wake: make(chan struct{}, 1)}
	a := &tailer{lookers: l}
	b := &tailer{lookers: l}
	want := func(what string, want *tailer) {
		t.Helper()
		if got := l.take(); got != want {
			t.Errorf("%s: took %p, want %p", what, got, want)
		}
	}
	for _, x := range []*tailer{a, b, a} {
		x.poke()
	}
	want("the first", a)
	if len(l.wake) != 1 {
		t.Error("no looker is called for the second while one has the first")
	}
	a.poke()
	want("the second", b)
	want("what a looker has", nil)
	l.giveBack(a)
	want("poked while a looker had it", a)
	l.giveBack(a)
	l.giveBack(b)
	want("what was not poked", nil)
}

// TestWrittenWithoutTail: lines of a file without a tail are read when inotify reports them, and wait for no check.
func TestWrittenWithoutTail(t *testing.T) {
	r := newRig(t)
	r.o.Tails = 1
	r.o.Check = time.Hour
	path := func(n int) string {
		return r.path(
			"-p",
			fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", n),
		)
	}
	for n := range 4 {
		r.append(path(n), reply(1, 100))
	}
	r.start()
	r.settle("at the start")
	for round := range 50 {
		for n := range 4 {
			r.append(path(n), reply(2+round, 200))
		}
		r.settle(fmt.Sprintf("round %d", round))
	}
	r.stop()
}
