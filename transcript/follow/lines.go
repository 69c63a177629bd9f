package follow

import (
	"bytes"
	"context"
	"io"
	"runtime/debug"

	"sm/transcript"
)

// marks are the first and the last bytes of what has been read, by which a file is known
// again: it may be another by the time that it could be read once more.
type marks struct{ head, last []byte }

func (m *marks) add(text []byte) {
	m.head = append(m.head, text[:min(len(text), headBytes-len(m.head))]...)
	m.last = append(m.last, text[max(0, len(text)-tailBytes):]...)
	m.last = m.last[max(0, len(m.last)-tailBytes):]
}

func (m *marks) keys() (head, tail transcript.Key) {
	return transcript.KeyOf(m.head), transcript.KeyOf(m.last)
}

// lines hands out the complete lines of a file.
type lines struct {
	marks  *marks // of what has been handed out
	file   io.ReaderAt
	buf    []byte
	wide   *[]byte // a larger buffer, made when a line needs it; nil for none
	base   int64   // offset in the file of buf[zero]
	zero   int     // where in buf the text begins
	end    int     // in buf, behind the last line handed out
	bareTo int64   // an offset up to which no newline follows base, when it is far off
}

// each calls do for the complete lines between base and an offset, without their
// newlines, with the offset behind them, until it returns false or ctx ends. base is then
// behind the last line handed out. buf is used again for every line, and wide
// in its place from the first line on that is too long for it; a line
// longer than both has a buffer of exactly its size. Of one longer than longest only
// the ends are handed out, and never as JSON.
func (l *lines) each(
	ctx context.Context,
	to int64,
	do func(line []byte, end int64) bool,
) error {
	l.place(l.base, 0)
	fill := l.zero // buf[zero:fill] holds the file from base on
	if l.bareTo > l.offset(len(l.buf)) {
		fill = len(l.buf) // the line is known to be longer
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
			return exceptEOF(err) // shorter than it was
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

// exceptEOF is the error of a read, nil for the end of the file.
func exceptEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

// wideBytes is the size of the larger buffer: a line that is longer is read
// twice, so that its end is known before memory is taken.
const wideBytes = 3 * bufferBytes

// widen goes on in the larger buffer, where there is one.
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

// offset is the place in the file of an index of buf.
func (l *lines) offset(i int) int64 { return l.base + int64(i-l.zero) }

// long returns the one line that begins at base, and moves base behind it. First its end is
// looked for and only then is memory taken, so that a long line costs its size once, and a
// long unfinished one, which is nil, nothing.
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
	// huge lines are worth a collection: without it the memory of one that is no
	// longer needed would stay beside that of the next.
	huge    = 8 << 20
	longest = 64 << 20
)

// one reads the line from base to end; nil when the file is shorter by now.
func (l *lines) one(end int64) (line []byte) {
	n := end - l.base
	whole := false
	if n > longest {
		line = make([]byte, headBytes+1+tailBytes) // with a zero byte in it, which no JSON may have
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
