package follow

import (
	"context"
	"slices"

	"sm/transcript"
)

// add folds one line; end is the offset behind it.
func (t *tailer) add(line []byte, end int64, c *transcript.Change) {
	if fresh, _ := t.fold.Line(line, int(end-t.cursor.Offset), &t.entry); fresh {
		c.Entries = append(c.Entries, plain(t.entry))
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
	c.Cursor, c.Session = t.cursor, session
	t.r.sign(t.file, &c, t.fold.Facts())
	c.Messages, c.Compactions = slices.Clone(messages), compactions
	takeBills(&c, t.fold)
	t.offset.Store(t.cursor.Offset)
	return t.r.send(ctx, c)
}

// look compares the file with the cursor, and reads what the tail has missed. It
// reports whether the file has to be read anew.
func (t *tailer) look(ctx context.Context) (reread bool) {
	file, info, err := open(t.cursor.Path)
	if err != nil {
		return true // a worker sees to it until it can be read again
	}
	defer file.Close()
	if t.cursor.Head, t.cursor.Tail = transcript.KeyOf(t.head), transcript.KeyOf(t.last); !continues(file, info.Size(), info, t.cursor) {
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
			t.report(ctx, c, *t.fold.Sum())
		}
		return false
	}
	before := t.cursor.Offset
	buf := make([]byte, min(bufferBytes, size-before+2*pageBytes))
	rest := lines{file: file, buf: buf, base: before, bare: t.bare}
	end, err := rest.each(size, func(line []byte, end int64) bool {
		t.add(line, end, &c)
		return len(c.Entries) < flushEntries || t.report(ctx, c, *t.fold.Sum()) && resetEntries(&c)
	})
	if err != nil {
		return true
	}
	t.cursor.Size, t.bare = size, rest.bare
	session, whole := *t.fold.Sum(), false
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
