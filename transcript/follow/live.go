package follow

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/fsnotify/fsnotify"
	"github.com/nxadm/tail"
	"gopkg.in/tomb.v1"

	"sm/transcript"
)

// youth is how long after its start a tail may be deaf to what was appended while
// it started; until then each event of the folder has it looked after.
const youth = 2 * time.Second

// tailer follows one live file. Its goroutine owns the fold.
type tailer struct {
	f       *follower
	file    *file
	name    string
	parent  string
	fold    *transcript.Fold
	cursor  transcript.Cursor
	offset  atomic.Int64 // of the cursor, for the loop to see
	pokes   chan struct{}
	quit    chan struct{}
	once    sync.Once
	ended   chan struct{}           // closed when the goroutine has ended
	started atomic.Int64            // when the tail was, in nanoseconds since 1970
	reading atomic.Pointer[os.File] // what the tail reads; nil when it has been interrupted
	missed  bool                    // the last look found what an older tail should have delivered
	last    []byte                  // the bytes before the offset, at most tailBytes
	head    []byte                  // the file's first bytes, at most headBytes
	peeked  int64                   // size at which the unfinished last line was looked at
	shown   bool                    // what was reported last counts an unfinished line
	deaf    bool                    // the tail gave up, say for want of inotify watches
}

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

func (t *tailer) poke() {
	select {
	case t.pokes <- struct{}{}:
	default:
	}
}

func (t *tailer) stop() { t.once.Do(func() { close(t.quit) }) }

// farBytes is how much the tail may be behind. It takes several times the memory
// that a long line has, where our own loop takes it once.
const farBytes = 1 << 20

// written hears of a write to the file, which has this size by now.
func (t *tailer) written(size int64) {
	switch {
	case size-t.offset.Load() > farBytes:
		t.interrupt()
	case t.young():
		t.poke()
	}
}

func (t *tailer) young() bool { return time.Now().UnixNano()-t.started.Load() < int64(youth) }

// interrupt ends the tail even in the middle of a line: look reads the rest, and
// then another tail begins.
func (t *tailer) interrupt() {
	if file := t.reading.Swap(nil); file != nil {
		_ = file.Close() // only read
	}
	t.poke()
}

// fileOf is the file that a tail reads, which it keeps to itself. nil, should it be
// called otherwise one day, means that no tail is interrupted.
func fileOf(tl *tail.Tail) *os.File {
	v := reflect.ValueOf(tl).Elem().FieldByName("file")
	if !v.IsValid() || v.Type() != reflect.TypeFor[*os.File]() {
		return nil
	}
	return (*os.File)(v.UnsafePointer())
}

// run reads what the tail delivers until it is stopped or the file is no longer
// what it was.
func (t *tailer) run(ctx context.Context, poll bool) {
	defer close(t.ended)
	x := exit{file: t.file}
	x.reread = !t.begin() || t.follow(ctx, poll)
	x.cursor, x.deaf = t.cursor, t.deaf
	select {
	case t.f.exits <- x:
	case <-ctx.Done():
	}
}

// begin reads the bytes that the marks are made of, unless they are no longer there.
func (t *tailer) begin() bool {
	file, info, err := open(t.cursor.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	t.head = make([]byte, min(t.cursor.Offset, headBytes), headBytes)
	t.last = make([]byte, min(t.cursor.Offset, tailBytes), 2*tailBytes)
	return inodeOf(info) == inode{t.cursor.Dev, t.cursor.Ino} &&
		readFull(file, t.head, 0) && readFull(file, t.last, t.cursor.Offset-int64(len(t.last))) &&
		transcript.KeyOf(t.head) == t.cursor.Head && transcript.KeyOf(t.last) == t.cursor.Tail
}

// follow reports whether the file has to be read anew. It starts a tail, and
// another one whenever that has been interrupted or seems to be deaf.
func (t *tailer) follow(ctx context.Context, poll bool) (reread bool) {
	for {
		then := t.listen(ctx, poll)
		if then == another && t.look(ctx) {
			then = anew
		}
		if then != another {
			return then == anew
		}
	}
}

// outcome is what is to be done after a tail.
type outcome uint8

const (
	nothing outcome = iota
	another         // tail
	anew            // the file has to be read from its beginning
)

// listen reads with one tail.
func (t *tailer) listen(ctx context.Context, poll bool) outcome {
	tl, err := tail.TailFile(t.cursor.Path, tail.Config{
		Location: &tail.SeekInfo{Offset: t.cursor.Offset}, Follow: true, CompleteLines: true, MustExist: true,
		Poll: poll, Logger: tail.DiscardingLogger,
	})
	if err != nil {
		return anew
	}
	defer endTail(tl)
	file := fileOf(tl)
	t.reading.Store(file)
	interrupted := func() bool { return file != nil && t.reading.Load() == nil }
	t.missed = false
	t.started.Store(time.Now().UnixNano())
	t.poke() // for what was written since the last reading
	for {
		select {
		case <-ctx.Done():
			return nothing
		case <-t.quit:
			return nothing
		case <-t.pokes:
			if interrupted() {
				return another
			}
			before, missed := t.cursor.Offset, t.missed
			if t.look(ctx) {
				return anew
			}
			t.missed = t.cursor.Offset > before && !t.young() && !poll
			if missed && t.missed {
				return another
			}
		case line, ok := <-tl.Lines:
			if !ok && interrupted() {
				return another
			}
			if !ok {
				t.deaf = tl.Err() != nil && !errors.Is(tl.Err(), tomb.ErrStillAlive)
				return anew
			}
			t.missed = false
			if !t.deliver(ctx, line) {
				return anew
			}
		}
	}
}

// endTail ends a tail and waits for it, but not for long: guardTail may have ended
// the goroutine that would answer. Cleanup is not for us: it makes the path deaf
// for the next tail.
func endTail(tl *tail.Tail) {
	tl.Kill(nil)
	select {
	case <-tl.Dead():
	case <-time.After(time.Second):
	}
}

// deliver adds a line that the tail has read; false when it is not the one that
// follows.
func (t *tailer) deliver(ctx context.Context, l *tail.Line) bool {
	if l.Err != nil {
		return false
	}
	end := l.SeekInfo.Offset
	if end <= t.cursor.Offset {
		// Either look has been faster, or the file was truncated and the tail
		// begins anew: look can tell.
		t.poke()
		return true
	}
	if end != t.cursor.Offset+int64(len(l.Text))+1 {
		return false
	}
	// The line is only read, and a copy of a long one would be dear.
	b := unsafe.Slice(unsafe.StringData(l.Text), len(l.Text))
	var c transcript.Change
	t.add(b, end, &c)
	return t.report(ctx, c, t.fold.Session)
}

// add folds one line; end is the offset behind it.
func (t *tailer) add(line []byte, end int64, c *transcript.Change) {
	var e transcript.Entry
	if fresh, _ := t.fold.Line(line, int(end-t.cursor.Offset), &e); fresh {
		c.Entries = append(c.Entries, plain(e))
	}
	t.cursor.Offset = end
	if room := headBytes - len(t.head); room > 0 {
		t.head = append(t.head, line[:min(room, len(line))]...)
		if len(t.head) < headBytes {
			t.head = append(t.head, '\n')
		}
	}
	t.last = append(t.last, line[max(0, len(line)-tailBytes):]...)
	t.last = append(t.last, '\n')
	if n := len(t.last) - tailBytes; n > 0 {
		t.last = append(t.last[:0], t.last[n:]...)
	}
}

// report sends what the lines since the last report have brought.
func (t *tailer) report(ctx context.Context, c transcript.Change, session transcript.Session) bool {
	t.cursor.Head, t.cursor.Tail = transcript.KeyOf(t.head), transcript.KeyOf(t.last)
	t.cursor.Size = max(t.cursor.Size, t.cursor.Offset)
	messages, compactions := t.fold.Take()
	c.Cursor, c.Name, c.Parent, c.Session = t.cursor, t.name, t.parent, session
	c.Messages, c.Compactions = slices.Clone(messages), compactions
	t.offset.Store(t.cursor.Offset)
	return t.f.send(ctx, c)
}

// look compares the file with the cursor, and reads what the tail has missed. It
// reports whether the file has to be read anew.
func (t *tailer) look(ctx context.Context) (reread bool) {
	file, info, err := open(t.cursor.Path)
	if err != nil {
		return true // a worker sees to it until it can be read again
	}
	defer file.Close()
	if t.cursor.Head, t.cursor.Tail = transcript.KeyOf(t.head), transcript.KeyOf(t.last); !continues(file, info, t.cursor) {
		return true
	}
	size, known := info.Size(), t.cursor.Modified
	t.cursor.Modified = modified(info)
	var c transcript.Change
	if size == t.peeked || size == t.cursor.Offset && !t.shown {
		t.cursor.Size = size
		// Lines of the tail came without it, and a stored cursor with another time has
		// the file opened at each start.
		if size == t.cursor.Offset && t.cursor.Modified != known {
			t.report(ctx, c, t.fold.Session)
		}
		return false
	}
	before := t.cursor.Offset
	buf := make([]byte, min(bufferBytes, size-before+2*pageBytes))
	rest := lines{file: file, buf: buf, base: before}
	end, err := rest.each(size, func(line []byte, end int64) bool {
		t.add(line, end, &c)
		return len(c.Entries) < flushEntries || t.report(ctx, c, t.fold.Session) && resetEntries(&c)
	})
	if err != nil {
		return true
	}
	t.cursor.Size = size
	session, whole := t.fold.Session, false
	t.peeked = 0
	if n := size - end; n > 0 && n <= peekBytes {
		t.peeked = size
		if b := make([]byte, n); readFull(file, b, end) {
			session, whole = shown(t.fold, b)
		}
	}
	if end > before || whole || t.shown {
		t.report(ctx, c, session)
	}
	t.shown = whole
	return false
}

func resetEntries(c *transcript.Change) bool {
	c.Entries = nil
	return true
}
