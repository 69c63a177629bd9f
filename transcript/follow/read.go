package follow

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"time"

	"sm/transcript"
	"sm/transcript/bills"
)

const (
	bufferBytes = 256 << 10 // much less than the second-level cache
	headBytes   = 1024
	tailBytes   = 64
	// peekBytes limits the unfinished last line that is parsed as if it were
	// complete.
	peekBytes = 1 << 20
	// flushEntries limits the entries of one change.
	flushEntries = 512
)

var (
	errNotRegular = errors.New("not a regular file")
	errNotOurs    = errors.New("not this user's own")
	errRewritten  = errors.New("rewritten while it was read")
)

// contentError is the failure to unpack a file. It remains until the file
// changes.
type contentError struct {
	error
	of stamp
}

func (e contentError) Unwrap() error { return e.error }

// reason removes the path from an error, because logs do not show paths.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// result is the result of a worker for a file.
type result struct {
	file    *file
	cursor  transcript.Cursor
	live    *reading // the reading of a file that is to be live
	written int64    // when it was written, at the latest now, in nanoseconds since 1970
	gone    bool
	err     error
}

// workspace has the buffers of one worker, for one file at a time.
type workspace struct {
	buf  []byte
	wide []byte // for files with long lines, nil before the first
}

// fileReader turns files into changes. All workers and tailers share it: it has
// no state of a single file.
type fileReader struct {
	Options
	out  chan<- transcript.Change
	once bool // no file will be followed
}

// work reads the files of jobs until ctx ends or there are no more.
func (r *fileReader) work(ctx context.Context, jobs <-chan *file, results chan<- result) {
	w := &workspace{buf: make([]byte, bufferBytes)}
	for fl := range jobs {
		select {
		case results <- r.read(ctx, fl, w):
		case <-ctx.Done():
		}
	}
}

// read reads a file from its beginning and reports its changes.
func (r *fileReader) read(ctx context.Context, fl *file, w *workspace) result {
	res := result{file: fl}
	file, is, err := open(fl.cursor.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		res.gone = true
		r.reportGone(ctx, fl)
		return res
	case err == nil:
		defer file.Close()
		err = r.readOpen(ctx, file, is, w, &res, false)
	}
	if err != nil && fl.moved != "" {
		r.reportGone(ctx, fl)
	}
	res.err = err
	return res
}

// reportGone reports that a file no longer exists, under the path reported
// last.
func (r *fileReader) reportGone(ctx context.Context, fl *file) {
	if !fl.known {
		return
	}
	gone := transcript.Change{
		Cursor: transcript.Cursor{Path: cmp.Or(fl.moved, fl.cursor.Path)},
		Gone:   true,
	}
	r.sign(fl, &gone)
	r.send(ctx, gone)
}

// readOpen reads a file that has been opened, from its beginning. It reports
// all of it if whole is true, or if the file is not the one that the cursor was
// made for.
func (r *fileReader) readOpen(
	ctx context.Context,
	file *os.File,
	is fact,
	w *workspace,
	res *result,
	whole bool,
) error {
	fl := res.file
	if fl.learnt && !is.ours {
		return errNotOurs
	}
	s := &reading{r: r, file: fl, cursor: fl.cursor}
	c := &s.cursor
	c.Modified = is.settled()
	var packed transcript.Text
	if fl.format.Content != nil {
		packed = fl.format.Content(ctx, c.Path, file, is.size)
	}
	whole = whole || !fl.known || is.inode != fl.inode() || packed != nil && c.Offset == 0
	if !whole && is.size == c.Offset && is.size == c.Size && fl.moved == "" &&
		s.continues(file, is.stamp) {
		res.cursor = *c
		return nil // only its times have changed
	}
	text := packed
	if packed == nil {
		text = io.NewSectionReader(file, 0, is.size)
	}
	err := s.readAll(ctx, text, is, w, whole)
	r.Stats.BytesDone.Add(c.Offset)
	r.Stats.FilesDone.Add(1)
	switch {
	case errors.Is(err, errRewritten):
		return r.readOpen(ctx, file, is, w, res, true)
	case err != nil && packed != nil:
		return contentError{err, is.stamp}
	case err != nil:
		return err
	}
	res.cursor = *c
	now := time.Now().UnixNano()
	res.written = min(is.modified, now)
	// Before its first line is complete, a file may still become a compressed
	// one.
	asLines := packed == nil && (c.Offset > 0 || fl.format.Content == nil)
	if asLines && !r.once && now-is.modified < int64(r.ActiveFor) {
		res.live = s
	}
	return nil
}

// sign sets the client and the session of a change.
func (r *fileReader) sign(fl *file, c *transcript.Change) {
	c.Client = fl.format.Client
	c.Name = fl.id.Name
	c.Parent = fl.id.Parent
}

// reading is the state of reading a file.
type reading struct {
	r      *fileReader
	file   *file
	fold   transcript.Fold
	cursor transcript.Cursor
	marks  marks
	entry  transcript.Entry        // of the last line
	change transcript.Change       // the results of the lines since the last report
	young  transcript.Instant      // older entries are not reported
	record func(*transcript.Entry) // receives entries in place of change, nil for none
}

// continues reports whether a file still begins with the bytes before the
// cursor.
func (s *reading) continues(file io.ReaderAt, is stamp) bool {
	c := &s.cursor
	if is.inode != (inode{c.Dev, c.Ino}) || is.size < c.Offset {
		return false
	}
	var buf [headBytes]byte
	key := func(from, to int64) transcript.Key {
		if b := buf[:to-from]; readFull(file, b, from) {
			return transcript.KeyOf(b)
		}
		return ^c.Head // differs from that of the cursor
	}
	return key(0, min(c.Offset, headBytes)) == c.Head &&
		key(max(0, c.Offset-tailBytes), c.Offset) == c.Tail
}

// readAll folds the text from its beginning and reports the lines after the
// cursor, or all lines as one change.
func (s *reading) readAll(
	ctx context.Context,
	text transcript.Text,
	is fact,
	w *workspace,
	whole bool,
) error {
	known := s.cursor
	s.cursor = transcript.Cursor{
		Path:     known.Path,
		Dev:      is.dev,
		Ino:      is.ino,
		Modified: known.Modified,
	}
	s.fold = s.file.format.NewFold(s.file.id)
	if s.r.Bills {
		s.fold.KeepBills()
	}
	if s.r.Records != nil {
		s.record = s.r.Records(known.Path)
	}
	s.change = transcript.Change{From: s.file.moved, Alone: s.file.alone, Whole: whole}
	s.marks = marks{}
	l := lines{
		marks: &s.marks,
		file:  text,
		buf:   w.buf,
		wide:  &w.wide,
	}
	if whole {
		s.young = s.r.young()
	} else {
		s.young = math.MaxInt64
		if err := s.addLines(ctx, &l, known.Offset); err != nil {
			return err
		}
		head, tail := s.marks.keys()
		if s.cursor.Offset != known.Offset || head != known.Head || tail != known.Tail {
			return errRewritten
		}
		s.change.Worked = s.fold.Take().Worked
		s.young = 0
	}
	if err := s.addLines(ctx, &l, text.Size()); err != nil {
		return err
	}
	session, line := s.peek(text, text.Size())
	if line != nil && s.r.once { // it counts like any other: no line will follow
		s.add(line, s.cursor.Offset+int64(len(line)))
		session = *s.fold.Sum()
	}
	s.cursor.Size = is.size
	s.report(ctx, session)
	s.young = 0
	return ctx.Err()
}

// young returns the minimum time of the entries to report from a file that is
// read whole: older entries are history. A caller of Once gets none.
func (r *fileReader) young() transcript.Instant {
	switch {
	case r.Entries:
		return 0
	case r.once:
		return math.MaxInt64
	}
	return transcript.InstantOf(time.Now().Add(-r.ActiveFor))
}

// addLines folds the complete lines up to an offset. It reports many entries in
// several changes, except for a change with all of a file.
func (s *reading) addLines(ctx context.Context, l *lines, to int64) error {
	for full := true; full; {
		full = false
		err := l.each(ctx, to, func(line []byte, end int64) bool {
			s.add(line, end)
			full = !s.change.Whole && len(s.change.Entries) >= flushEntries
			return !full
		})
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		if full {
			s.cursor.Size = s.cursor.Offset
			s.report(ctx, *s.fold.Sum())
		}
	}
	return nil
}

// add folds one line; end is the offset after it.
func (s *reading) add(line []byte, end int64) {
	e := &s.entry
	fresh, _ := s.fold.Line(line, int(end-s.cursor.Offset), e)
	s.cursor.Offset = end
	switch {
	case s.record != nil:
		if fresh || e.Kind == transcript.KindAside && e.Text != "" {
			s.record(e)
		}
	case fresh && e.At >= s.young:
		s.change.Entries = append(s.change.Entries, plain(*e, s.fold.Sum()))
	}
	if len(line) > bufferBytes {
		s.entry = transcript.Entry{} // the next line may need as much memory
	}
}

// report sends the results of the lines since the last report.
func (s *reading) report(ctx context.Context, session transcript.Session) bool {
	s.entry = transcript.Entry{} // releases the memory of a long line
	s.cursor.Head, s.cursor.Tail = s.marks.keys()
	c := &s.change
	c.Cursor = s.cursor
	c.Session = session
	s.r.sign(s.file, c)
	c.Facts = s.fold.Facts()
	before := c.Worked
	c.News = s.fold.Take()
	c.Worked = bills.Extend(before, c.Worked)
	if s.r.Records != nil {
		c.Messages = nil
	}
	ok := s.r.send(ctx, *c)
	s.change = transcript.Change{}
	return ok
}

// peek returns the session with the last line of a file of that size, if the
// line is a complete record that lacks only its newline. line is nil if there
// is no such line, if it is too long, or if the file has become shorter.
func (s *reading) peek(file io.ReaderAt, size int64) (session transcript.Session, line []byte) {
	if n := size - s.cursor.Offset; n > 0 && n <= peekBytes {
		line = make([]byte, n)
		if readFull(file, line, s.cursor.Offset) {
			if session, whole := shown(s.fold, line); whole {
				return session, line
			}
		}
	}
	return *s.fold.Sum(), nil
}

// shown returns the session with a line that still lacks its newline, if that
// is a complete record. Counts wait for the newline: otherwise the session
// would already have a compaction that is to be reported as new later, and the
// line may still grow.
func shown(f transcript.Fold, line []byte) (s transcript.Session, whole bool) {
	s, whole = f.Peek(line)
	sum := f.Sum()
	s.Compactions = sum.Compactions
	s.Bytes = sum.Bytes
	s.Lines = sum.Lines
	s.Bad = sum.Bad
	return s, whole
}

// plain returns an entry without slices into the line's buffer, except for a
// copy of a reading's model. Its version is that of the session so far.
func plain(e transcript.Entry, s *transcript.Session) transcript.Entry {
	e.Version = []byte(s.Version)
	e.CWD = nil
	e.SessionID = nil
	e.Branch = nil
	e.Title = nil
	e.Calls = nil
	if e.Model = bytes.Clone(e.Model); e.Kind != transcript.KindReading {
		e.Model = nil
	}
	return e
}

func (r *fileReader) send(ctx context.Context, c transcript.Change) bool {
	select {
	case r.out <- c:
		return true
	case <-ctx.Done():
		return false
	}
}

func readFull(file io.ReaderAt, b []byte, at int64) bool {
	n, _ := file.ReadAt(b, at)
	return n == len(b)
}
