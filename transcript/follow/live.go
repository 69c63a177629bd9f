package follow

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/nxadm/tail"
	"gopkg.in/tomb.v1"
)

const (
	// startGrace is how long after its start a tail may miss lines that were
	// appended while it started; until then each event of the folder makes a
	// looker read the file.
	startGrace = 2 * time.Second
	// farBytes is the maximum number of bytes by which a tail may be behind.
	// For a long line a tail takes several times the memory of the line, a look
	// only once.
	farBytes = 1 << 20
	// evictAfter is how long a live file must not have been written to make
	// room for another. Otherwise, with more active files than Options.Live,
	// each would evict the next.
	evictAfter = 5 * time.Second
)

// tailer follows one live file. A looker reads it whenever it is poked, and a
// tail, if it has one, delivers lines in between; each holds mu meanwhile.
type tailer struct {
	mu sync.Mutex
	reading
	peeked int64 // size at which the unfinished last line was looked at
	bareTo int64 // offset up to which no newline follows the cursor
	shown  bool  // the last report includes an unfinished line
	alone  bool  // it must not have a tail
	missed int   // consecutive looks that found lines that the tail should have delivered
	reread bool  // the file has been replaced or removed

	lookers *lookers
	pokes   atomic.Int64 // since the last look began; if not 0, it is due or a looker has it
	offset  atomic.Int64 // offset of the cursor
	tail    atomic.Pointer[tail.Tail]
	started atomic.Int64 // start of the tail, in nanoseconds since 1970
	stopped atomic.Bool

	// Used by the loop only.
	written int64     // when the file was written, as of the last check
	checked time.Time // time of the last check
	unread  int64     // unread bytes as of the last check
}

// poke makes a looker read the file, again if one is reading it.
func (t *tailer) poke() {
	if t.pokes.Add(1) == 1 {
		t.lookers.due <- t
	}
}

// stop makes the looker return the file to the loop.
func (t *tailer) stop() {
	t.stopped.Store(true)
	t.poke()
}

// over reports whether the file is to be returned to the loop.
func (t *tailer) over() bool { return t.reread || t.stopped.Load() }

func (t *tailer) starting() bool { return time.Now().UnixNano()-t.started.Load() < int64(startGrace) }

// grown makes a looker read a file that has this size now, unless its tail
// will.
func (t *tailer) grown(size int64) {
	tl := t.tail.Load()
	switch {
	case tl != nil && size-t.offset.Load() > farBytes:
		tl.Kill(nil) // it stops after it has read the present content, and keeps none of it
		t.poke()
	case tl == nil || tl.Err() != tomb.ErrStillAlive, // the tail is ending
		t.lookers.eventsLost.Load(),
		t.starting():
		t.poke()
	}
}

// lookers are the few goroutines that read live files. A goroutine for each
// file would cost a stack each, and a switch between goroutines for every line.
type lookers struct {
	due        chan *tailer // each at most once; has room for all, so that poke does not wait
	exits      chan *tailer
	slots      chan struct{} // an element for each tail
	eventsLost atomic.Bool   // tails no longer get events
	tails      sync.WaitGroup
}

// work reads the files that are due until ctx ends.
func (l *lookers) work(ctx context.Context) {
	buf := make([]byte, bufferBytes)
	for {
		select {
		case <-ctx.Done():
			return
		case t := <-l.due:
			pokes := t.pokes.Load()
			if left := t.turn(ctx, buf); left {
				continue // keeps its pokes, so that it is never due again
			}
			if t.pokes.Add(-pokes) > 0 {
				l.due <- t
			}
		}
	}
}

// turn looks at a file once. If the tailer is over and its tail has ended, it
// returns the file to the loop; left reports so.
func (t *tailer) turn(ctx context.Context, buf []byte) (left bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over() {
		t.reread = t.look(ctx, buf)
	}
	tl := t.tail.Load()
	switch over := t.over(); {
	case !over && tl == nil:
		t.startTail(ctx)
	case over && tl != nil:
		tl.Kill(nil) // its end makes this file due again
	case over:
		select {
		case t.lookers.exits <- t:
		case <-ctx.Done():
		}
		return true
	}
	return false
}

// look compares the file with the cursor, and reads the new lines. It reports
// whether the file must be read again from its beginning.
func (t *tailer) look(ctx context.Context, buf []byte) (reread bool) {
	file, is, err := open(t.cursor.Path)
	if err != nil {
		return true // a worker tries until the file can be read
	}
	defer file.Close()
	if !t.continues(file, is.stamp) || is.size < t.cursor.Size {
		return true // even if only a part of the unfinished last line was removed
	}
	before := t.cursor
	t.cursor.Modified = is.settled()
	t.cursor.Size = is.size
	switch {
	case is.size == before.Offset && !t.shown:
		if t.cursor.Modified != before.Modified {
			t.report(ctx, *t.fold.Sum())
		}
		return false
	case is.size == t.peeked && t.cursor.Modified == before.Modified:
		return false
	}
	rest := lines{
		marks:  &t.marks,
		file:   file,
		buf:    buf,
		base:   before.Offset,
		bareTo: t.bareTo,
	}
	if t.addLines(ctx, &rest, is.size) != nil {
		return true
	}
	t.bareTo = rest.bareTo
	t.peeked = is.size
	t.cursor.Size = is.size
	session, line := t.peek(file, is.size)
	grown := t.cursor.Offset > before.Offset
	if grown || line != nil || t.shown {
		t.report(ctx, session)
	}
	t.shown = line != nil
	t.offset.Store(t.cursor.Offset)
	if tl := t.tail.Load(); tl != nil && grown && !t.starting() {
		if t.missed++; t.missed > 1 {
			t.alone = true
			tl.Kill(nil)
		}
	}
	return false
}

// startTail starts nxadm/tail at the cursor, but not during a long line: the
// tail would keep a part of the line in memory.
func (t *tailer) startTail(ctx context.Context) {
	l := t.lookers
	if t.alone || t.cursor.Size-t.cursor.Offset > farBytes || l.eventsLost.Load() {
		return
	}
	select {
	case l.slots <- struct{}{}:
	default:
		return
	}
	tl, err := tail.TailFile(t.cursor.Path, tail.Config{
		Location:      &tail.SeekInfo{Offset: t.cursor.Offset},
		Follow:        true,
		CompleteLines: true,
		MustExist:     true,
		Logger:        tail.DiscardingLogger,
	})
	if err != nil {
		<-l.slots
		return // the next look finds the reason
	}
	t.started.Store(time.Now().UnixNano())
	t.tail.Store(tl)
	l.tails.Go(func() { t.listen(ctx, tl) })
}

// listen processes the lines of a tail until it ends, and ends it.
func (t *tailer) listen(ctx context.Context, tl *tail.Tail) {
	for more := true; more; {
		select {
		case <-ctx.Done():
			more = false
		case <-tl.Dying():
			more = false
		case line, ok := <-tl.Lines:
			more = ok && t.deliver(ctx, line)
		}
	}
	tl.Kill(nil) // no Cleanup: after that the next tail of the path would get no events
	select {
	case <-tl.Dead():
	case <-time.After(time.Second):
		// The tail waits for the tracker that all tails share. The tracker may
		// have stopped, by the lock that newWatcher describes.
		t.lookers.eventsLost.Store(true)
	}
	t.mu.Lock()
	if err := tl.Err(); err != nil && err != tomb.ErrStillAlive {
		t.alone = true // for example because no inotify watches are left
	}
	t.tail.Store(nil)
	t.mu.Unlock()
	<-t.lookers.slots
	t.poke()
}

// deliver adds a line that the tail has read. It returns false if the tail is
// no longer needed.
func (t *tailer) deliver(ctx context.Context, l *tail.Line) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := l.SeekInfo.Offset
	switch {
	case t.over():
		return false
	case l.Err == nil && end <= t.cursor.Offset:
		// Either a look was faster, or the file was truncated and the tail
		// starts again: a look finds out which.
		t.poke()
		return true
	case l.Err != nil || end != t.cursor.Offset+int64(len(l.Text))+1:
		t.alone = true
		return false
	}
	t.missed = 0
	// The line is only read, and a copy of a long one would be expensive.
	line := unsafe.Slice(unsafe.StringData(l.Text), len(l.Text))
	t.marks.add(line)
	t.marks.add([]byte("\n"))
	t.add(line, end)
	t.cursor.Size = max(t.cursor.Size, end)
	t.offset.Store(end)
	return t.report(ctx, *t.fold.Sum())
}

// Write prevents nxadm/tail from ending the process: if a stat fails or there
// is no inotify, it writes to its logger and then calls os.Exit. Write ends the
// goroutine before that. All tails then wait for that goroutine's answer, so
// the lookers do their work.
func (l *lookers) Write([]byte) (int, error) {
	l.eventsLost.Store(true)
	runtime.Goexit()
	return 0, nil
}

// followLive follows a file from the position where a worker stopped reading.
func (f *follower) followLive(fl *file, r result) {
	t := &tailer{
		reading: *r.live,
		lookers: f.lookers,
		written: r.written,
	}
	t.shown = t.cursor.Size > t.cursor.Offset // perhaps; another report does no harm
	t.offset.Store(t.cursor.Offset)
	fl.state = live
	fl.tail = t
	f.live[fl] = struct{}{}
	t.poke() // for lines written since the last reading
}

// makeRoom reports whether another file, written at the given time, can be
// live. At the limit it parks the file that was written longest ago, if that
// was before written; the new file becomes live when it grows again.
func (f *follower) makeRoom(written int64) bool {
	if len(f.live) < f.Live {
		return true
	}
	byTime := func(a, b *file) int { return cmp.Compare(a.tail.written, b.tail.written) }
	oldest := slices.MinFunc(slices.Collect(maps.Keys(f.live)), byTime).tail
	if oldest.written < min(written, time.Now().Add(-evictAfter).UnixNano()) {
		oldest.stop()
	}
	return false
}

// ended handles a file that its tailer has returned.
func (f *follower) ended(t *tailer) {
	fl := t.file
	fl.state = parked
	fl.tail = nil
	delete(f.live, fl)
	fl.cursor = t.cursor
	// Between the last look and now the file may have grown.
	is, err := lstat(fl.cursor.Path)
	if t.reread || err != nil || is.size != fl.cursor.Size ||
		is.modified != fl.cursor.Modified {
		f.enqueue(fl)
	}
}

const (
	// quietAfter is how long after its last write a file that inotify watches
	// is checked less often, once in quietChecks checks. Checks find changes
	// that inotify never reports.
	quietAfter  = 10 * time.Second
	quietChecks = 10
)

// check makes one stat of a live file. A difference from the last look makes a
// looker read the file.
func (f *follower) check(fl *file, now time.Time) {
	t := fl.tail
	quiet := f.index.watch.notify != nil && now.UnixNano()-t.written > int64(quietAfter)
	if quiet && now.Sub(t.checked) < quietChecks*f.Check {
		return
	}
	if !t.mu.TryLock() {
		return // it is being read
	}
	cursor := t.cursor
	t.mu.Unlock()
	t.checked = now
	if seen := max(cursor.Modified, -cursor.Modified); now.UnixNano()-seen < int64(f.Check) {
		t.written = seen
		return // it has been read since then
	}
	is, err := lstat(fl.cursor.Path)
	if err != nil || is.inode != fl.inode() {
		t.poke()
		return
	}
	t.written = min(is.modified, now.UnixNano())
	t.unread = max(0, is.size-cursor.Offset)
	switch {
	case is.modified != cursor.Modified || is.size != cursor.Size:
		t.grown(is.size)
		t.poke()
	case now.UnixNano()-t.written > int64(f.ActiveFor):
		t.stop()
	}
}
