package follow

import (
	"fmt"
	"testing"
	"time"
)

// TestLookers: a tailer that was poked is taken once, and once more if it was poked after that; one that has ended is not.
func TestLookers(t *testing.T) {
	l := newLookers()
	a, b := &tailer{lookers: l}, &tailer{lookers: l}
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
		t.Error("nobody is called for the second while a looker has the first")
	}
	a.poke()
	want("the second", b)
	want("what a looker has", nil)
	l.giveBack(a, false)
	want("poked while a looker had it", a)
	b.poke()
	l.giveBack(b, true)
	b.poke()
	l.giveBack(a, false)
	want("what has ended, and what was not poked", nil)
}

// TestWrittenWithoutTail: lines of a file without a tail are read when inotify reports them, and wait for no check.
func TestWrittenWithoutTail(t *testing.T) {
	r := newRig(t)
	r.o.Tails, r.o.Check = 1, time.Hour
	path := func(n int) string { return r.path("-p", fmt.Sprintf("%08d-0000-4000-8000-000000000000.jsonl", n)) }
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

// TestStale: a file that is being read is looked at when it was written since the last look; one at rest also until the
// time that it has for good is reported.
func TestStale(t *testing.T) {
	for _, c := range []struct {
		name         string
		idle         bool
		looked, told int64
		whole        bool
		want         bool
	}{
		{"read, and looked at since", false, 7, 3, true, false},
		{"read, and looked at when it was just written", false, -7, 3, true, false},
		{"the same, and there is more to read", false, -7, 3, false, true},
		{"read, and written since the last look", false, 5, 5, true, true},
		{"at rest, and looked at when it was just written", true, -7, -7, true, true},
		{"at rest, with another time reported", true, 7, 3, true, true},
		{"at rest, and the time is reported", true, 7, 7, true, false},
		{"at rest, with an unfinished line", true, 7, 3, false, false},
	} {
		var x tailer
		x.idle.Store(c.idle)
		x.looked.Store(c.looked)
		x.told.Store(c.told)
		if got := x.stale(7, c.whole); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestCheckedInParts: many files are checked a part at a time, and all of them before the next sweep's.
func TestCheckedInParts(t *testing.T) {
	const files = 100
	f := &follower{Options: Options{Check: time.Hour}, index: newIndex(newWatcher(true, nil), nil, 0), live: map[*file]struct{}{}}
	for n := range files {
		fl := &file{state: live, tail: &tailer{tails: true, pokes: make(chan struct{}, 1)}}
		fl.cursor.Path = fmt.Sprintf("/nowhere/%d", n) // and so each check has it looked at
		f.live[fl] = struct{}{}
	}
	poked := func() (n int) {
		for fl := range f.live {
			n += len(fl.tail.pokes)
		}
		return n
	}
	f.checkLive(time.Now())
	if n := poked(); n == 0 || n > files/checkParts+1 {
		t.Errorf("%d files at once", n)
	}
	for part := 1; f.more != nil; part++ {
		if part > checkParts {
			t.Fatal("too many parts")
		}
		f.checkDue(time.Now())
	}
	if n := poked(); n != files {
		t.Errorf("%d files checked, want %d", n, files)
	}
}
