package follow

import (
	"bytes"
	"io"
	"runtime/debug"

	"sm/transcript"
)

// marks are the first and the last bytes of what has been read, by which a file is known
// again: it may be another by the time that it could be read once more.
type marks struct{ head, last []byte }

func (m *marks) add(line []byte) {
	if room := headBytes - len(m.head); room > 0 {
		m.head = append(m.head, line[:min(room, len(line))]...)
		if len(m.head) < headBytes {
			m.head = append(m.head, '\n')
		}
	}
	m.last = append(m.last, line[max(0, len(line)-tailBytes):]...)
	m.last = append(m.last, '\n')
	if n := len(m.last) - tailBytes; n > 0 {
		m.last = append(m.last[:0], m.last[n:]...)
	}
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
	// first gives the length of the first of some lines, without its newline: each has
	// one. nil looks for the newline.
	first func(lines []byte) int
}

// each calls do for the complete lines between base and an offset, without their
// newlines, with the offset behind them, until it returns false. It returns the
// offset behind the last line handed out. buf is used again for every line, and wide
// in its place from the first line on that is too long for it; a line
// longer than both has a buffer of exactly its size. Of one longer than longest only
// the ends are handed out, and never as JSON.
func (l *lines) each(to int64, do func(line []byte, end int64) bool) (int64, error) {
	l.place(l.base, 0)
	if l.bareTo > l.offset(len(l.buf)) {
		before := l.base
		if err := l.long(to, do); err != nil || l.base == before {
			return l.base, err
		}
		l.place(l.base, 0)
	}
	fill := l.zero // buf[zero:fill] holds the file from base on
	for l.offset(fill) < to {
		want := min(int64(len(l.buf)-fill), to-l.offset(fill), bufferBytes)
		n, err := l.file.ReadAt(l.buf[fill:fill+int(want)], l.offset(fill))
		if n == 0 {
			if err == io.EOF || err == nil {
				return l.base, nil // shorter than it was
			}
			return l.base, err
		}
		whole := afterNewline(l.buf[fill : fill+n])
		if whole > 0 {
			whole += fill
		}
		fill += n
		for l.end < whole {
			line := l.buf[l.end:whole]
			if l.first != nil {
				line = line[:l.first(line)]
			} else {
				line = line[:bytes.IndexByte(line, '\n')]
			}
			l.end += len(line) + 1
			l.marks.add(line)
			if !do(line, l.offset(l.end)) {
				return l.offset(l.end), nil
			}
		}
		if l.end > l.zero {
			rest := l.buf[l.end:fill]
			l.place(l.offset(l.end), len(rest))
			fill = l.zero + copy(l.buf[l.zero:], rest)
		} else if fill == len(l.buf) && !l.widen() {
			before := l.base
			if err := l.long(to, do); err != nil || l.base == before {
				return l.base, err
			}
			l.place(l.base, 0)
			fill = l.zero
		}
	}
	return l.base, nil
}

// afterNewline is the index behind the last newline of b, 0 for none. It skips pieces
// without one by IndexByte, which is much faster than LastIndexByte.
func afterNewline(b []byte) int {
	const piece = 1024
	for end := len(b); end > 0; end -= piece {
		from := max(0, end-piece)
		if bytes.IndexByte(b[from:end], '\n') >= 0 {
			return from + bytes.LastIndexByte(b[from:end], '\n') + 1
		}
	}
	return 0
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

// long hands out the one line that begins at base. First its end is looked for and
// only then is memory taken, so that a long line costs its size once, and a long
// unfinished one nothing.
func (l *lines) long(to int64, do func([]byte, int64) bool) error {
	for at := max(l.offset(len(l.buf)), l.bareTo); at < to; {
		n, err := l.file.ReadAt(l.buf[:min(int64(len(l.buf)), to-at)], at)
		if i := bytes.IndexByte(l.buf[:n], '\n'); i >= 0 {
			line := l.one(at + int64(i))
			if line == nil {
				return nil
			}
			l.marks.add(line)
			l.base = at + int64(i) + 1
			do(line, l.base)
			return nil
		}
		if n == 0 {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		at += int64(n)
		l.bareTo = at
	}
	return nil
}

const (
	// huge lines are worth a collection: without it the memory of one that is no
	// longer needed would stay beside that of the next.
	huge    = 8 << 20
	longest = 64 << 20
)

// one reads the line from base to end; nil when the file is shorter by now.
func (l *lines) one(end int64) []byte {
	n := end - l.base
	if n > longest {
		line := make([]byte, headBytes+1+tailBytes)
		if !readFull(l.file, line[:headBytes], l.base) ||
			!readFull(l.file, line[headBytes+1:], end-tailBytes) {
			return nil
		}
		return line // with a zero byte in it, which no JSON may have
	}
	if n > huge {
		debug.FreeOSMemory()
	}
	line := make([]byte, n)
	if !readFull(l.file, line, l.base) {
		return nil
	}
	return line
}
