package follow

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/nxadm/tail"
	"gopkg.in/tomb.v1"

	"sm/transcript"
)

// youth is how long after its start a tail may be deaf to what was appended while
// it started; until then each event of the folder has it looked after.
const youth = 2 * time.Second

// tailer follows one live file. Its goroutine owns the fold; without a tail that is the looker whose turn it is.
type tailer struct {
	r       *fileReader
	exits   chan<- exit
	stuck   *atomic.Bool // tails get no events any more
	file    *file
	fold    transcript.Fold
	entry   transcript.Entry // of the last line: one for all, for a fold takes it by an interface
	cursor  transcript.Cursor
	offset  atomic.Int64  // of the cursor, for the loop to see
	looked  atomic.Int64  // the time of the file at the last look, as modified has it
	sighted atomic.Int64  // when that look was, in nanoseconds since 1970
	told    atomic.Int64  // the time of the file in the last report
	idle    atomic.Bool   // nothing was read between the loop's last two checks
	lookers *lookers      // of one without a tail
	turn    turn          // theirs
	pokes   chan struct{} // of one with a tail
	quit    chan struct{}
	ended   chan struct{}             // closed when the goroutine has ended
	started atomic.Int64              // when the tail was, in nanoseconds since 1970
	reading atomic.Pointer[tail.Tail] // nil when it has been interrupted
	missed  bool                      // the last look found what an older tail should have delivered
	last    []byte                    // the bytes before the offset, at most tailBytes
	head    []byte                    // the file's first bytes, at most headBytes
	peeked  int64                     // size at which the unfinished last line was looked at
	bare    int64                     // up to here no newline follows the offset, as far as is known
	shown   bool                      // what was reported last counts an unfinished line
	tails   bool                      // it has a tail and a goroutine; else the lookers read it whenever it is poked
	leaving bool                      // it was asked to stop; owned by the loop
	deaf    bool                      // the tail gave up, say for want of inotify watches
	seen    seen                      // by the last check; the loop's
}

// seen is what the loop's last check of a live file has seen.
type seen struct {
	offset, poked int64
	quiet         time.Time // since when nothing has been read
	checked       time.Time
	written       bool // something has happened to the file since, or the tail is behind
}

// calm is by how much less often a file is checked that inotify watches, while it reports nothing.
const calm = 10

// due reports whether a live file is to be checked. With inotify a check finds only
// writes that inotify never reports, such as those of another machine.
func (s *seen) due(now time.Time, every time.Duration, watched bool) bool {
	return s.written || !watched || now.Sub(s.checked) >= calm*every
}

// stale reports whether a file with this time has to be looked at: while it is read,
// for bytes that were rewritten behind the cursor; later for the time of the file
// too, which lines of a tail lack. A stored cursor with another time would have the
// file opened at each start.
func (t *tailer) stale(modified int64, whole bool) bool {
	looked := t.looked.Load()
	if !t.idle.Load() {
		return looked != modified && (looked != -modified || !whole)
	}
	return looked != modified || whole && t.told.Load() != modified
}

// poke has the file looked at.
func (t *tailer) poke() {
	if !t.tails {
		t.lookers.add(t)
		return
	}
	select {
	case t.pokes <- struct{}{}:
	default:
	}
}

// stop is for the loop alone.
func (t *tailer) stop() {
	if !t.leaving {
		t.leaving = true
		close(t.quit)
		if !t.tails {
			t.poke()
		}
	}
}

// farBytes is how much the tail may be behind. It takes several times the memory
// that a long line has, where our own loop takes it once.
const farBytes = 1 << 20

// written records a write to the file, which has this size now.
func (t *tailer) written(size int64) {
	switch {
	case size-t.offset.Load() > farBytes:
		t.interrupt()
	case t.young():
		t.poke()
	}
}

// watchedOver records that a look has just compared the whole file with the cursor,
// as a check would.
func (t *tailer) watchedOver(now time.Time, every time.Duration) bool {
	return !t.tails && now.UnixNano()-t.sighted.Load() < int64(every)
}

func (t *tailer) young() bool { return time.Now().UnixNano()-t.started.Load() < int64(youth) }

// interrupt ends the tail even in the middle of a line: it stops once it has read what is
// there, and keeps none of it. look reads the line, and then another tail begins.
func (t *tailer) interrupt() {
	if tl := t.reading.Swap(nil); tl != nil {
		tl.Kill(nil)
	}
	t.poke()
}

// run reads what the tail delivers until it is stopped or the file is no longer
// what it was.
func (t *tailer) run(ctx context.Context, poll bool) {
	defer close(t.ended)
	t.exit(ctx, !t.begin() || t.follow(ctx, poll))
}

// exit gives the file back to the loop.
func (t *tailer) exit(ctx context.Context, reread bool) {
	x := exit{
		file:   t.file,
		cursor: t.cursor,
		reread: reread,
		deaf:   t.deaf,
	}
	select {
	case t.exits <- x:
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
		then := another
		if t.far() {
			then = t.wait(ctx)
		}
		if then == another {
			then = t.listen(ctx, poll || t.stuck.Load())
		}
		if then == another && t.look(ctx, nil) {
			then = anew
		}
		if then != another {
			return then == anew
		}
	}
}

// far reports whether the file ends with a long line that is incomplete.
func (t *tailer) far() bool { return t.cursor.Size-t.cursor.Offset > farBytes }

// wait looks whenever it is poked, before the end of a long line: a tail would keep what there is of it.
func (t *tailer) wait(ctx context.Context) outcome {
	for {
		select {
		case <-ctx.Done():
			return nothing
		case <-t.quit:
			return nothing
		case <-t.pokes:
			if t.look(ctx, nil) {
				return anew
			}
		}
		if !t.far() {
			return another
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

// newTail starts nxadm/tail behind what has been read.
func (t *tailer) newTail(poll bool) (*tail.Tail, error) {
	return tail.TailFile(t.cursor.Path, tail.Config{
		Location:      &tail.SeekInfo{Offset: t.cursor.Offset},
		Follow:        true,
		CompleteLines: true,
		MustExist:     true,
		Poll:          poll,
		Logger:        tail.DiscardingLogger,
	})
}

// listen reads with one tail.
func (t *tailer) listen(ctx context.Context, poll bool) outcome {
	tl, err := t.newTail(poll)
	if err != nil {
		return anew
	}
	defer t.end(tl)
	t.reading.Store(tl)
	interrupted := func() bool { return t.reading.Load() == nil }
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
			before := t.cursor.Offset
			missed := t.missed
			if t.look(ctx, nil) {
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
func endTail(tl *tail.Tail) (dead bool) {
	tl.Kill(nil)
	select {
	case <-tl.Dead():
		return true
	case <-time.After(time.Second):
		return false
	}
}

// end ends a tail. One that does not answer waits for the tracker that all tails
// share, which has come to a standstill (it may, by the lock that newWatcher
// describes): from then on tails poll.
func (t *tailer) end(tl *tail.Tail) {
	if !endTail(tl) && t.reading.Load() != nil { // an interrupted one may still read what is there
		t.stuck.Store(true)
	}
}

// deliver adds a line that the tail has read. It returns false when that is not the next
// line.
func (t *tailer) deliver(ctx context.Context, l *tail.Line) bool {
	if l.Err != nil {
		return false
	}
	end := l.SeekInfo.Offset
	if end <= t.cursor.Offset {
		// Either a look was faster, or the file was truncated and the tail
		// restarts: a look finds out.
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
	return t.report(ctx, c, *t.fold.Sum())
}
