package follow

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// TestLookers: a tailer that was poked is taken once, and once more if it was poked after that; one that has ended is not.
func TestLookers(t *testing.T) {
	l := newLookers()
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
	r.o.Tails = 1
	r.o.Check = time.Hour
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

// checked is a follower of so many live files, each of which a check has looked at.
func checked(files int) *follower {
	f := &follower{
		Options: Options{Check: time.Second},
		index:   newIndex(newWatcher(true, nil), nil, 0),
		live:    map[*file]struct{}{},
	}
	for n := range files {
		fl := &file{state: live, tail: &tailer{tails: true, pokes: make(chan struct{}, 1)}}
		fl.cursor.Path = fmt.Sprintf("/nowhere/%d", n)
		fl.cursor.Ino = uint64(n) // there is none
		f.live[fl] = struct{}{}
	}
	return f
}

// TestCheckedInParts: many files are checked a part at a time, and each once between two sweeps and as long after the last
// check as sweeps are apart, whatever else is checked.
func TestCheckedInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const files = 100
		f := checked(files)
		last := map[*file]time.Time{}
		look := func() {
			n := 0
			for fl := range f.live {
				if len(fl.tail.pokes) == 0 {
					continue
				}
				<-fl.tail.pokes
				n++
				if before, ok := last[fl]; ok && time.Since(before) != f.Check {
					t.Errorf("file %d is checked after %v, want %v", fl.cursor.Ino, time.Since(before), f.Check)
				}
				last[fl] = time.Now()
			}
			if n > 2*files/checkParts {
				t.Errorf("%d files at once", n)
			}
		}
		tick := time.NewTicker(f.Check)
		defer tick.Stop()
		for round := range 4 {
			if now := <-tick.C; round%2 == 0 { // half of them come and go
				f.checkLive(now)
			} else {
				all := maps.Clone(f.live)
				maps.DeleteFunc(f.live, func(fl *file, _ struct{}) bool { return fl.cursor.Ino < files/2 })
				f.checkLive(now)
				f.live = all
				maps.DeleteFunc(last, func(fl *file, _ time.Time) bool { return fl.cursor.Ino < files/2 })
			}
			for look(); f.more != nil; look() {
				f.checkDue(<-f.more)
			}
		}
		if len(last) != files/2 {
			t.Errorf("%d files checked, want %d", len(last), files/2)
		}
	})
}

// TestLostEvents: where events are lost all live files are checked, those too that are known to have been at rest.
func TestLostEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := checked(3)
		f.Stats, f.lastAll = &Stats{}, time.Now()
		f.index.watch.notify = &fsnotify.Watcher{}
		f.index.watch.watched["/nowhere"] = true
		for fl := range f.live {
			fl.tail.seen.checked = time.Now()
		}
		for _, lost := range []bool{false, true} {
			f.sweep(lost)
			for f.more != nil {
				f.checkDue(<-f.more)
			}
			for fl := range f.live {
				if got := len(fl.tail.pokes) > 0; got != lost {
					t.Errorf("events lost %v, file %d checked %v", lost, fl.cursor.Ino, got)
				}
			}
		}
	})
}
