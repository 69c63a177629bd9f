package follow

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"sm/transcript"
)

// exit is what a tailer leaves behind.
type exit struct {
	file   *file
	cursor transcript.Cursor
	reread bool // the file is not what it was, or no more
	deaf   bool // the next tail has to poll
}

// canInotify reports whether nxadm/tail can have the inotify instance that it
// takes for itself.
func (w *watcher) canInotify() bool {
	if w.notify == nil || w.probed {
		return w.probed
	}
	probe, err := fsnotify.NewWatcher()
	if err != nil {
		return false
	}
	probe.Close()
	w.probed = true // from the first tail on it keeps its instance
	return true
}

// followLive starts a tail where a worker has stopped reading.
func (f *follower) followLive(ctx context.Context, fl *file, r result) {
	t := &tailer{
		r:       f.reader,
		exits:   f.exits,
		stuck:   &f.stuck,
		file:    fl,
		tails:   f.tails < f.Tails,
		fold:    r.fold,
		cursor:  fl.cursor,
		seen:    seen{offset: fl.cursor.Offset, quiet: r.written, written: true},
		lookers: f.lookers,
		quit:    make(chan struct{}),
	}
	t.offset.Store(fl.cursor.Offset)
	t.looked.Store(fl.cursor.Modified)
	t.told.Store(fl.cursor.Modified)
	t.shown = fl.cursor.Size > fl.cursor.Offset // perhaps; to report once more does no harm
	fl.state = live
	fl.tail = t
	f.live[fl] = struct{}{}
	if !t.tails {
		t.poke() // for what was written since the last reading
		return
	}
	f.tails++
	t.pokes = make(chan struct{}, 1)
	t.ended = make(chan struct{})
	poll := fl.poll || !f.index.watch.canInotify()
	go t.run(ctx, poll)
}

// evictAfter is how long a live file must have been quiet to make room for another. With
// more at work than there is room for, each would else drive out the next one.
const evictAfter = 5 * time.Second

// makeRoom reports whether one more file, written at a time, can be live. Where there are too many it parks
// the file that has been quiet longest, if that is longer than the new one.
func (f *follower) makeRoom(written time.Time) bool {
	if len(f.live) < f.Live {
		return true
	}
	leaving := 0
	var oldest *file
	for fl := range f.live {
		switch {
		case fl.tail.leaving:
			leaving++
		case oldest == nil || fl.tail.seen.quiet.Before(oldest.tail.seen.quiet):
			oldest = fl
		}
	}
	// Leaving ones take a moment to stop.
	if len(f.live)-leaving < f.Live {
		return len(f.live) < f.Live+f.Live/8+1
	}
	if oldest == nil || time.Since(oldest.tail.seen.quiet) < evictAfter {
		return false
	}
	if !oldest.tail.seen.quiet.Before(written) {
		f.reader.barred.Store(written.UnixNano())
		return false
	}
	oldest.tail.stop()
	return len(f.live) < f.Live+f.Live/8+1
}

// ended takes a file back from its tailer.
func (f *follower) ended(x exit) {
	fl := x.file
	if fl.tail.tails {
		f.tails--
	}
	fl.state = parked
	fl.tail = nil
	fl.poll = x.deaf
	delete(f.live, fl)
	f.reader.barred.Store(0)
	if f.index.inodes[fl.inode()] == fl {
		f.index.inodes[inode{x.cursor.Dev, x.cursor.Ino}] = fl
	}
	fl.cursor = x.cursor
	// Between the tailer's last look and now the file may have grown.
	if info, err := os.Lstat(fl.cursor.Path); x.reread || err != nil ||
		info.Size() != fl.cursor.Size || info.ModTime().UnixNano() != fl.cursor.Modified {
		f.enqueue(fl)
	}
}

// checkParts is in how many parts the live files are checked, spread over the time between two sweeps: looks at a
// thousand files at once would hold up the lines of all others.
const checkParts = 16

// part is in which of them a file is checked, always the same: in the order of a map, one could wait for two sweeps. Inodes
// may all be multiples of a number, so their bits are mixed.
func (fl *file) part() int {
	return int(fl.cursor.Ino * 0x9e3779b97f4a7c15 >> 32 * checkParts >> 32)
}

// checkLive begins to check the live files that are due. What the last sweep has left of them comes first, at once.
func (f *follower) checkLive(now time.Time) {
	f.part = checkParts
	f.checkDue(now)
	for fl := range f.live {
		if fl.tail.seen.due(now, f.Check, f.index.watch.watches(fl.cursor.Path)) {
			f.due = append(f.due, fl)
		}
	}
	slices.SortFunc(f.due, func(a, b *file) int { return a.part() - b.part() })
	f.part = 0
	f.checkDue(now)
}

// checkDue checks the live files that are due in this part or one before.
func (f *follower) checkDue(now time.Time) {
	n := 0
	for ; n < len(f.due) && f.due[n].part() <= f.part; n++ {
		if fl := f.due[n]; fl.state == live {
			f.check(fl, now)
		}
	}
	if f.due = f.due[n:]; len(f.due) == 0 {
		f.due = nil
		f.more = nil
		return
	}
	next := f.due[0].part()
	f.more = time.After(f.Check * time.Duration(next-f.part) / (checkParts + 1))
	f.part = next
}

// check is the loop's look at a live file: one stat. What it finds odd, the tailer
// has to look into.
func (f *follower) check(fl *file, now time.Time) {
	t := fl.tail
	offset := t.offset.Load()
	if offset != t.seen.offset {
		t.seen.quiet = now
	}
	t.idle.Store(offset == t.seen.offset)
	if !t.idle.Load() && f.index.watch.watches(fl.cursor.Path) && t.watchedOver(now, f.Check) {
		t.seen.offset = offset
		t.seen.checked = now
		return
	}
	info, err := os.Lstat(fl.cursor.Path)
	switch {
	case err != nil, inodeOf(info) != fl.inode(), info.Size() < offset:
		t.poke()
	case t.stale(
		info.ModTime().UnixNano(),
		info.Size() == offset,
	), info.Size() > offset && offset == t.seen.offset &&
		info.Size() != t.seen.poked:
		t.seen.poked = info.Size()
		if info.Size()-offset > farBytes {
			t.interrupt()
		}
		t.poke()
	case now.Sub(t.seen.quiet) > f.ActiveFor:
		t.stop()
	}
	t.seen.offset = offset
	t.seen.checked = now
	t.seen.written = err != nil || info.Size() != offset || now.Sub(t.seen.quiet) < evictAfter
}
