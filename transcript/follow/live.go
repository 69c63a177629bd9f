package follow

import (
	"context"
	"os"
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
func (f *follower) followLive(ctx context.Context, fl *file, fold *transcript.Fold) {
	f.makeRoom()
	t := &tailer{
		f: f, file: fl, name: fl.name, parent: fl.parent, fold: fold, cursor: fl.cursor,
		pokes: make(chan struct{}, 1), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	t.offset.Store(fl.cursor.Offset)
	t.shown = fl.cursor.Size > fl.cursor.Offset // perhaps; to report once more does no harm
	fl.state, fl.tail = live, t
	f.live[fl] = struct{}{}
	poll := fl.poll || !f.watch.canInotify()
	go t.run(ctx, poll)
}

// makeRoom parks the file that has been quiet longest when there are too many.
func (f *follower) makeRoom() {
	if len(f.live) < f.Live {
		return
	}
	var oldest *file
	for fl := range f.live {
		if oldest == nil || fl.quiet.Before(oldest.quiet) {
			oldest = fl
		}
	}
	if oldest != nil {
		oldest.tail.stop()
	}
}

// ended takes a file back from its tailer.
func (f *follower) ended(x exit) {
	fl := x.file
	fl.state, fl.tail, fl.poll = parked, nil, x.deaf
	delete(f.live, fl)
	if old := (inode{fl.cursor.Dev, fl.cursor.Ino}); f.inodes[old] == fl {
		f.inodes[inode{x.cursor.Dev, x.cursor.Ino}] = fl
	}
	fl.cursor = x.cursor
	// Between the tailer's last look and now the file may have grown.
	if info, err := os.Lstat(fl.cursor.Path); x.reread || err != nil ||
		info.Size() != fl.cursor.Size || info.ModTime().UnixNano() != fl.cursor.Modified {
		f.enqueue(fl)
	}
}

// check is the loop's look at a live file: one stat. What it finds odd, the tailer
// has to look into.
func (f *follower) check(fl *file, now time.Time) {
	t := fl.tail
	offset := t.offset.Load()
	if offset != fl.offset {
		fl.quiet = now
	}
	info, err := os.Lstat(fl.cursor.Path)
	switch {
	case err != nil, inodeOf(info) != (inode{fl.cursor.Dev, fl.cursor.Ino}), info.Size() < offset:
		t.poke()
	case info.ModTime().UnixNano() != fl.modified, info.Size() > offset && offset == fl.offset && info.Size() != fl.poked:
		fl.modified, fl.poked = modified(info), info.Size()
		if info.Size()-offset > farBytes {
			t.interrupt()
		}
		t.poke()
	case now.Sub(fl.quiet) > f.ActiveFor:
		t.stop()
	}
	fl.offset = offset
}
