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
	bufferBytes = 256 << 10 // fits the second-level cache with room to spare
	headBytes   = 1024
	tailBytes   = 64
	// peekBytes bounds the unfinished last line that is tried as if it were whole.
	peekBytes = 1 << 20
	// flushEntries bounds the entries of one change.
	flushEntries = 512
)

var (
	errNotRegular = errors.New("not a regular file")
	errNotOurs    = errors.New("not this user's own")
	errRewritten  = errors.New("rewritten while it was read")
)

// contentError is the failure to unpack a file. It stays until the file changes.
type contentError struct {
	error
	of stamp
}

func (e contentError) Unwrap() error { return e.error }

// reason strips an error of the path, which logs do not show.
func reason(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

// result is what a worker gives back with a file.
type result struct {
	file    *file
	cursor  transcript.Cursor
	live    *reading // of a file that is to be live
	written int64    // when it was, at the latest now, in nanoseconds since 1970
	gone    bool
	err     error
}

// workspace is what one worker reads with; it is used for one file at a time.
type workspace struct {
	buf  []byte
	wide []byte // for files with long lines, once there was one
}

// fileReader turns files into changes. All workers and tailers share it: it holds nothing
// of one file.
type fileReader struct {
	Options
	out  chan<- transcript.Change
	once bool // nothing will be followed
}

// work reads the files that the loop hands out.
func (r *fileReader) work(ctx context.Context, jobs <-chan *file, results chan<- result) {
	w := &workspace{buf: make([]byte, bufferBytes)}
	for {
		select {
		case <-ctx.Done():
			return
		case fl := <-jobs:
			select {
			case results <- r.read(ctx, fl, w):
			case <-ctx.Done():
				return
			}
		}
	}
}

// read reads a file from its beginning and reports what is new.
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
		err = r.readOpen(ctx, file, is, w, &res)
	}
	if err != nil && fl.moved != "" {
		r.reportGone(ctx, fl)
	}
	res.err = err
	return res
}

// reportGone reports that a file is no more, where it was last reported.
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

// readOpen reads a file that has been opened, from its beginning.
func (r *fileReader) readOpen(
	ctx context.Context,
	file *os.File,
	is fact,
	w *workspace,
	res *result,
) error {
	fl := res.file
	c := fl.cursor
	if fl.learnt && !is.ours() {
		return errNotOurs
	}
	s := &source{
		reading: reading{r: r, file: fl, cursor: c},
		stored:  is.size,
	}
	s.open(ctx, file)
	if s.packed != nil { // reading it shows whether it is the same
		s.whole = !fl.known || is.inode != fl.inode() || c.Offset == 0
	} else {
		s.whole = !fl.known || !s.continues(file, is.inode, is.size)
	}
	s.cursor.Dev, s.cursor.Ino, s.cursor.Modified = is.dev, is.ino, is.settled()
	if !s.whole && s.size == c.Offset && c.Size == c.Offset && fl.moved == "" {
		s.cursor.Size = s.size
		res.cursor = s.cursor
		return nil // only its times have changed
	}
	err := s.readAll(ctx, w)
	if errors.Is(err, errRewritten) {
		s.whole = true
		s.open(ctx, file)
		err = s.readAll(ctx, w)
	}
	switch {
	case err != nil && s.packed != nil:
		return contentError{err, is.stamp}
	case err != nil:
		return err
	}
	res.cursor = s.cursor
	now := time.Now().UnixNano()
	res.written = min(is.modified, now)
	// Before its first line is whole, a file may still become a compressed one.
	asLines := s.packed == nil &&
		(s.cursor.Offset > 0 || fl.format.Content == nil)
	if asLines && !r.once && now-is.modified < int64(r.ActiveFor) {
		res.live = &s.reading
	}
	return nil
}

// sign puts into a change whose it is.
func (r *fileReader) sign(fl *file, c *transcript.Change) {
	c.Client = fl.format.Client
	c.Name = fl.id.Name
	c.Parent = fl.id.Parent
}

// reading is how far a file has been read.
type reading struct {
	r      *fileReader
	file   *file
	fold   transcript.Fold
	cursor transcript.Cursor
	marks  marks
	entry  transcript.Entry  // of the last line
	change transcript.Change // what the lines since the last report have brought
}

// continues reports whether a file still begins with what the cursor covers.
func (s *reading) continues(file io.ReaderAt, id inode, size int64) bool {
	c := &s.cursor
	if id != (inode{c.Dev, c.Ino}) || size < c.Offset {
		return false
	}
	var buf [headBytes]byte
	key := func(from, to int64) transcript.Key {
		if b := buf[:to-from]; readFull(file, b, from) {
			return transcript.KeyOf(b)
		}
		return ^c.Head // of no file with this cursor
	}
	return key(0, min(c.Offset, headBytes)) == c.Head &&
		key(max(0, c.Offset-tailBytes), c.Offset) == c.Tail
}

// add folds one line; end is the offset behind it.
func (s *reading) add(line []byte, end int64) {
	if fresh, _ := s.fold.Line(line, int(end-s.cursor.Offset), &s.entry); fresh {
		s.change.Entries = append(s.change.Entries, plain(s.entry, s.fold.Sum()))
	}
	s.entry = transcript.Entry{} // a long line's memory goes with it
	s.cursor.Offset = end
}

// report sends what the lines since the last report have brought.
func (s *reading) report(ctx context.Context, session transcript.Session) bool {
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

// source is one reading of a file from its beginning.
type source struct {
	reading
	text   io.ReaderAt
	packed transcript.Text // the text of a compressed file; else nil
	size   int64           // of the text at the opening, or math.MaxInt64
	stored int64           // of the file, which is another where the text is compressed
	whole  bool
	lines  lines
	record func(*transcript.Entry) // nil for none
}

// open sets the text of the file to its beginning.
func (s *source) open(ctx context.Context, file *os.File) {
	s.text, s.size = file, s.stored
	open := s.file.format.Content
	if open == nil {
		return
	}
	if s.packed = open(ctx, s.cursor.Path, file, s.stored); s.packed != nil {
		s.text = s.packed
		s.size = s.packed.Size()
	}
}

// begin makes the fold ready for the file.
func (s *source) begin(w *workspace) {
	s.fold = s.file.format.NewFold(s.file.id)
	if s.r.Bills {
		s.fold.KeepBills()
	}
	if s.r.Records != nil {
		s.record = s.r.Records(s.cursor.Path)
	}
	s.change = transcript.Change{From: s.file.moved, Alone: s.file.alone, Whole: s.whole}
	s.marks = marks{}
	s.lines = lines{
		file:  s.text,
		buf:   w.buf,
		wide:  &w.wide,
		marks: &s.marks,
	}
}

// firstLiner is a fold that finds by itself where a line ends.
type firstLiner interface {
	// First is Line for the first of lines that each end with a newline; n is
	// its length without it.
	First(lines []byte, e *transcript.Entry) (n int, fresh bool, err error)
}

// readAll folds the file from its beginning and sends what lies behind the cursor,
// or, where the file is not what the cursor was made for, all of it as one change.
func (s *source) readAll(ctx context.Context, w *workspace) error {
	s.begin(w)
	known := s.cursor.Offset
	met := s.whole || known == 0 // what the cursor covers has gone by
	e := &s.entry
	var before int64
	young := s.young()
	read := false
	fresh := false // what the line is about which each calls
	if f, ok := s.fold.(firstLiner); ok {
		s.lines.first = func(lines []byte) (n int) {
			n, fresh, _ = f.First(lines, e)
			read = true
			return n
		}
	}
	end, err := s.lines.each(s.size, func(line []byte, end int64) bool {
		if !read {
			fresh, _ = s.fold.Line(line, int(end-before), e)
		}
		read = false
		before = end
		switch {
		case s.whole:
			s.receive(e, fresh, young)
		case end < known:
		case end == known:
			s.change.Worked = s.fold.Take().Worked
			head, tail := s.marks.keys()
			met = head == s.cursor.Head && tail == s.cursor.Tail
			return met
		case !met:
			return false
		case fresh:
			s.change.Entries = append(s.change.Entries, plain(*e, s.fold.Sum()))
			if len(s.change.Entries) >= flushEntries {
				return s.flush(ctx, end, end, *s.fold.Sum())
			}
		}
		return ctx.Err() == nil
	})
	*e = transcript.Entry{} // a long line's memory goes with it
	s.r.Stats.BytesDone.Add(end)
	s.r.Stats.FilesDone.Add(1)
	if err == nil && !met {
		err = errRewritten
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if s.packed != nil {
		s.size = s.packed.Size()
	}
	session := *s.fold.Sum()
	if line := unfinished(s.text, end, s.size); line != nil {
		session = s.last(line)
	}
	s.flush(ctx, end, s.stored, session)
	return ctx.Err()
}

// last looks at a last line without newline. In a file that is read once, one that
// is whole counts like any other; else it is only shown, for it may not be all.
func (s *source) last(line []byte) transcript.Session {
	session, whole := shown(s.fold, line)
	if whole && s.r.once {
		var e transcript.Entry
		fresh, _ := s.fold.Line(line, len(line), &e)
		s.receive(&e, fresh, s.young())
		return *s.fold.Sum()
	}
	return session
}

// shown is the session with a line that still lacks its newline, if that is a whole
// record. What is counted waits for the newline: a compaction that a session had
// already would not be taken for a new one when it comes, and the line may go on.
func shown(f transcript.Fold, line []byte) (s transcript.Session, whole bool) {
	s, whole = f.Peek(line)
	sum := f.Sum()
	s.Compactions = sum.Compactions
	s.Bytes = sum.Bytes
	s.Lines = sum.Lines
	s.Bad = sum.Bad
	return s, whole
}

// flush sends what has been found since the last call, up to end. size is how much
// of the file has been looked at.
func (s *source) flush(
	ctx context.Context,
	end, size int64,
	session transcript.Session,
) bool {
	s.cursor.Offset = end
	s.cursor.Size = size
	return s.report(ctx, session)
}

// young is the oldest time of the entries to report of a file that is read whole: what
// is older is history. A caller that reads files once wants none.
func (s *source) young() transcript.Instant {
	switch {
	case s.r.Entries:
		return 0
	case s.r.once:
		return math.MaxInt64
	}
	return transcript.InstantOf(time.Now().Add(-s.r.ActiveFor))
}

// receive hands a record of a file that is read whole to its receiver.
func (s *source) receive(e *transcript.Entry, fresh bool, young transcript.Instant) {
	switch {
	case s.record != nil:
		if fresh || e.Kind == transcript.KindAside && e.Text != "" {
			s.record(e)
		}
	case fresh && e.At >= young:
		s.change.Entries = append(s.change.Entries, plain(*e, s.fold.Sum()))
	}
}

// plain is an entry without what points into the line's buffer, but for a reading's
// model. Its version is that of the session so far.
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

// unfinished reads the last line of a file, which begins at end and lacks its newline;
// nil where there is none, where it is too long, or where the file has become shorter.
func unfinished(file io.ReaderAt, end, size int64) []byte {
	if n := size - end; n > 0 && n <= peekBytes {
		if b := make([]byte, n); readFull(file, b, end) {
			return b
		}
	}
	return nil
}

func readFull(file io.ReaderAt, b []byte, at int64) bool {
	n, _ := file.ReadAt(b, at)
	return n == len(b)
}
