package follow

import (
	"bytes"
	"context"
	"io"
	"runtime/debug"

	"sm/transcript"
)

// marks are the first and the last of the bytes that have been read. They
// identify the file, which another may have replaced before it is read again.
type marks struct{ head, last []byte }

func (m *marks) add(text []byte) {
	m.head = append(m.head, text[:min(len(text), headBytes-len(m.head))]...)
	m.last = append(m.last, text[max(0, len(text)-tailBytes):]...)
	m.last = m.last[max(0, len(m.last)-tailBytes):]
}

func (m *marks) keys() (head, tail transcript.Key) {
	return transcript.KeyOf(m.head), transcript.KeyOf(m.last)
}

// lines returns the complete lines of a file.
type lines struct {
	marks  *marks // of the lines returned so far
	file   io.ReaderAt
	buf    []byte
	wide   *[]byte // a larger buffer, made when a line needs it; nil for none
	base   int64   // offset in the file of buf[zero]
	zero   int     // where in buf the text begins
	end    int     // in buf, after the last line returned
	bareTo int64   // offset up to which no newline follows base, if the next one is far
}

// each calls do for the complete lines between base and an offset, without
// their newlines, with the offset after each, until do returns false or ctx
// ends. base is then after the last line passed to do. Lines share buf and,
// from the first line on that is too long for it, wide; a line longer than both
// gets a buffer of its size. Of a line longer than longest only the two ends
// are passed on, in a form that is never JSON.
func (l *lines) each(
	ctx context.Context,
	to int64,
	do func(line []byte, end int64) bool,
) error {
	l.place(l.base, 0)
	fill := l.zero // buf[zero:fill] holds the file from base on
	if l.bareTo > l.offset(len(l.buf)) {
		fill = len(l.buf) // the line is longer than buf
	}
	for l.offset(fill) < to && ctx.Err() == nil {
		if fill == len(l.buf) && !l.widen() {
			line, err := l.long(to)
			if line == nil || !do(line, l.base) {
				return err
			}
			l.place(l.base, 0)
			fill = l.zero
			continue
		}
		want := min(int64(len(l.buf)-fill), to-l.offset(fill), bufferBytes)
		n, err := l.file.ReadAt(l.buf[fill:fill+int(want)], l.offset(fill))
		if n == 0 {
			return exceptEOF(err) // the file has become shorter
		}
		fill += n
		more := true
		for more {
			line, _, whole := bytes.Cut(l.buf[l.end:fill], []byte("\n"))
			if !whole {
				break
			}
			l.end += len(line) + 1
			more = do(line, l.offset(l.end))
		}
		if l.end > l.zero {
			l.marks.add(l.buf[l.zero:l.end])
			rest := l.buf[l.end:fill]
			l.place(l.offset(l.end), len(rest))
			fill = l.zero + copy(l.buf[l.zero:], rest)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// exceptEOF returns the error of a read, nil for the end of the file.
func exceptEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// wideBytes is the size of the larger buffer. A longer line is read twice, so
// that its end is known before memory is allocated.
const wideBytes = 3 * bufferBytes

// widen changes to the larger buffer, if there is one.
func (l *lines) widen() bool {
	if l.wide == nil || len(l.buf) >= wideBytes {
		return false
	}
	if *l.wide == nil {
		*l.wide = make([]byte, wideBytes)
	}
	copy(*l.wide, l.buf)
	l.buf = *l.wide
	return true
}

// pageBytes is the size of a page of memory, or a divisor of it.
const pageBytes = 4096

// place restarts the text at an offset of the file. If there is room, bytes that
// were read keep their position within a page: the kernel copies aligned pages
// faster, by an eighth.
func (l *lines) place(base int64, room int) {
	l.base = base
	l.zero = int(base % pageBytes)
	if l.zero+room >= len(l.buf) {
		l.zero = 0
	}
	l.end = l.zero
}

// offset returns the offset in the file of an index of buf.
func (l *lines) offset(i int) int64 { return l.base + int64(i-l.zero) }

// long returns the line that begins at base, and moves base after it. It finds
// the end of the line before it allocates memory, so that a long line costs its
// size only once, and an unfinished one, for which it returns nil, costs
// nothing.
func (l *lines) long(to int64) (line []byte, err error) {
	for at := max(l.offset(len(l.buf)), l.bareTo); at < to; l.bareTo = at {
		n, err := l.file.ReadAt(l.buf[:min(int64(len(l.buf)), to-at)], at)
		if n == 0 {
			return nil, exceptEOF(err)
		}
		if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 {
			return l.one(at + int64(i)), nil
		}
		at += int64(n)
	}
	return nil, nil
}

const (
	// Lines longer than huge cause a garbage collection: otherwise the memory
	// of such a line would still be in use beside that of the next.
	huge    = 8 << 20
	longest = 64 << 20
)

// one reads the line from base to end; it returns nil if the file has become
// shorter.
func (l *lines) one(end int64) (line []byte) {
	n := end - l.base
	whole := false
	if n > longest {
		line = make([]byte, headBytes+1+tailBytes) // its zero byte makes it invalid JSON
		whole = readFull(l.file, line[:headBytes], l.base) &&
			readFull(l.file, line[headBytes+1:], end-tailBytes)
	} else {
		if n > huge {
			debug.FreeOSMemory()
		}
		line = make([]byte, n)
		whole = readFull(l.file, line, l.base)
	}
	if !whole {
		return nil
	}
	l.marks.add(line)
	l.marks.add([]byte("\n"))
	l.base = end + 1
	return line
}
