package follow

import (
	"bytes"
	"context"
	"slices"
	"time"

	"sm/transcript"
)

// add folds one line; end is the offset behind it.
func (t *tailer) add(line []byte, end int64, c *transcript.Change) {
	if fresh, _ := t.fold.Line(line, int(end-t.cursor.Offset), &t.entry); fresh {
		c.Entries = append(c.Entries, plain(t.entry))
	}
	t.entry = transcript.Entry{} // a long line's memory goes with it
	t.cursor.Offset = end
	if room := headBytes - len(t.head); room > 0 {
		t.head = append(t.head, line[:min(room, len(line))]...)
		if len(t.head) < headBytes {
			t.head = append(t.head, '\n')
		}
		t.cursor.Head = transcript.KeyOf(t.head)
	}
	t.last = append(t.last, line[max(0, len(line)-tailBytes):]...)
	t.last = append(t.last, '\n')
	if n := len(t.last) - tailBytes; n > 0 {
		t.last = append(t.last[:0], t.last[n:]...)
	}
}

// report sends what the lines since the last report have brought.
func (t *tailer) report(ctx context.Context, c transcript.Change, session transcript.Session) bool {
	t.cursor.Tail = transcript.KeyOf(t.last)
	t.cursor.Size = max(t.cursor.Size, t.cursor.Offset)
	messages, compactions := t.fold.Take()
	c.Cursor = t.cursor
	c.Session = session
	t.r.sign(t.file, &c, t.fold.Facts())
	c.Messages = slices.Clone(messages)
	c.Compactions = compactions
	takeBills(&c, t.fold)
	c.Unknown = t.fold.Unknown()
	t.offset.Store(t.cursor.Offset)
	t.told.Store(t.cursor.Modified)
	return t.r.send(ctx, c)
}

// near is a file with one range that was read already, with one call.
type near struct {
	*glance
	from int64
	text []byte
}

func (n *near) ReadAt(b []byte, at int64) (int, error) {
	if at < n.from || at+int64(len(b)) > n.from+int64(len(n.text)) {
		return n.glance.ReadAt(b, at)
	}
	return copy(b, n.text[at-n.from:]), nil
}

// lookBytes is the room that a looker has: for what has been appended, as it was read and once more as lines.
const lookBytes = 64 << 10

// roomFor is the room that a look at so much text takes, at most lookBytes.
func roomFor(unread int64) int64 {
	if unread <= 0 {
		return headBytes + tailBytes
	}
	return min(2*unread+3*pageBytes, lookBytes)
}

// unchanged reports whether the file begins with what the cursor covers. It uses
// room for the head.
func (t *tailer) unchanged(file *near, room []byte) bool {
	head := room[:len(t.head)]
	return bytes.HasPrefix(file.text, t.last) && readFull(file.glance, head, 0) && bytes.Equal(head, t.head)
}

// look compares the file with the cursor, and reads what the tail has missed. It
// reports whether the file has to be read anew. It reads into room; nil has it take its own.
func (t *tailer) look(ctx context.Context, room []byte) (reread bool) {
	glance, err := glanceAt(t.cursor.Path)
	if err != nil {
		return true // a worker sees to it until it can be read again
	}
	defer glance.close()
	size := glance.stat.Size
	before := t.cursor.Offset
	if glance.inode() != (inode{t.cursor.Dev, t.cursor.Ino}) || size < before {
		return true
	}
	if room == nil {
		room = make([]byte, roomFor(size-before))
	}
	file := &near{
		glance: &glance,
		from:   before - int64(len(t.last)),
		text:   room[:min(int64(len(room)-headBytes)/2, size-before)+int64(len(t.last))],
	}
	room = room[len(file.text):]
	if !readFull(&glance, file.text, file.from) || !t.unchanged(file, room) {
		return true
	}
	t.cursor.Modified = glance.modified()
	t.looked.Store(t.cursor.Modified)
	t.sighted.Store(time.Now().UnixNano())
	var c transcript.Change
	if size == t.peeked || size == before && !t.shown {
		t.cursor.Size = size
		if size == before && t.idle.Load() && t.cursor.Modified != t.told.Load() {
			t.report(ctx, c, *t.fold.Sum())
		}
		return false
	}
	if want := min(bufferBytes, size-before+2*pageBytes); want > int64(len(room)) {
		room = make([]byte, want)
	}
	rest := lines{
		file: file,
		buf:  room,
		base: before,
		bare: t.bare,
	}
	end, err := rest.each(size, func(line []byte, end int64) bool {
		t.add(line, end, &c)
		return len(c.Entries) < flushEntries || t.report(ctx, c, *t.fold.Sum()) && resetEntries(&c)
	})
	if err != nil {
		return true
	}
	t.cursor.Size = size
	t.bare = rest.bare
	session := *t.fold.Sum()
	whole := false
	t.peeked = 0
	if line := unfinished(file, end, size); line != nil {
		t.peeked = size
		session, whole = shown(t.fold, line)
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
