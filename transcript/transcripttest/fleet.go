package transcripttest

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// Options describe a directory of transcripts. The zero value is a few short ones.
type Options struct {
	Seed uint64
	// Sessions is how many sessions begin; 0: 8, or as Bytes need. Copies, sessions
	// after /clear and subagents are additional.
	Sessions int
	// Bytes is the approximate size of all files together, with the sizes and the
	// mix of records of long use. 0: short sessions with everything in them.
	Bytes int64
	// Start is when the first session begins; the others follow in three days.
	Start time.Time
	// Traps adds broken and unterminated lines, replays, and unusual usage objects
	// and compactions.
	Traps bool
	// Copies adds forks, resumes and branches, Subagents subagents.
	Copies, Subagents bool
	// LineBytes is the median size of a line with a tool's result; 0: 900 in short
	// sessions, 3200 otherwise.
	LineBytes int
}

const (
	// The sizes of real transcripts.
	medianFile  = 1_200_000
	meanFile    = 2_700_000
	fileSpread  = 1.27
	largestFile = 64_000_000
	// keptFile is the largest session whose records are kept for copies.
	keptFile = 1 << 20
	// compactionLimit is where clients compact a window of 200,000 tokens.
	compactionLimit = 167_000
)

// Generate writes transcripts to dir, as <project>/<session>.jsonl and files of
// subagents, and returns their figures. The modification time of a file is that of
// its last activity.
func Generate(dir string, o Options) (*Truth, error) {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	}
	stock := 64 << 10
	if o.Bytes > 0 {
		stock = 4 << 20
		o.LineBytes = cmp.Or(o.LineBytes, 3200)
	}
	o.LineBytes = cmp.Or(o.LineBytes, 900)
	o.Sessions = cmp.Or(o.Sessions, int(o.Bytes/meanFile), 8)

	rng := rand.New(rand.NewPCG(o.Seed, 1))
	f := &fleet{
		Options: o,
		dir:     dir,
		rng:     rng,
		prose:   newProse(rng, stock),
		truth:   &Truth{Files: map[string]*FileTruth{}},
	}
	for _, size := range f.sizes() {
		f.session(size)
	}
	f.addSubagents()
	return f.truth, f.err
}

// fleet is a directory of transcripts while it is written.
type fleet struct {
	Options
	dir   string
	rng   *rand.Rand
	prose *prose
	truth *Truth
	err   error
}

// sizes draws the sizes of the sessions; 0 for short ones.
func (f *fleet) sizes() []int64 {
	sizes := make([]int64, f.Sessions)
	if f.Bytes == 0 {
		return sizes
	}
	var sum int64
	for i := range sizes {
		sizes[i] = min(int64(f.spread(medianFile, fileSpread)), largestFile)
		sum += sizes[i]
	}
	for i := range sizes {
		sizes[i] = int64(float64(sizes[i]) * float64(f.Bytes) / float64(sum))
	}
	return sizes
}

// session writes a session of that size, a short one for 0, with its copies.
func (f *fleet) session(size int64) {
	versions := Versions()
	if size > 0 {
		versions = versions[1:]
	}
	w := &file{}
	s := newSession(w, f.rng, f.prose, SessionOptions{
		Version: pick(f.rng, versions),
		Start:   f.Start.Add(time.Duration(f.rng.Int64N(int64(72 * time.Hour)))),
	})
	s.forgets = size > 0 && !f.Copies || size > keptFile
	f.create(w, s)
	f.live(s, 1)
	for s.books.file.Bytes < size && f.err == nil {
		f.live(s, 1)
	}
	if size == 0 {
		f.live(s, 1+f.rng.IntN(6))
	}
	if f.Copies {
		f.copies(s, 2)
	}
	f.leave(s, w)
}

// copies makes copies of a session, and of its copies.
func (f *fleet) copies(s *Session, depth int) {
	for range f.rng.IntN(3) {
		kinds := s.Copies()
		if len(kinds) == 0 || depth == 0 {
			return
		}
		if f.chance(30) {
			s.model = pick(f.rng, s.client.models)
		}
		w := &file{}
		n := s.Copy(w, pick(f.rng, kinds))
		f.create(w, n)
		f.live(n, f.rng.IntN(3))
		f.copies(n, depth-1)
		f.leave(n, w)
		f.live(s, f.rng.IntN(2))
	}
}

// leave ends a session: some compacted, in a turn or in a line, some cleared.
func (f *fleet) leave(s *Session, w *file) {
	switch {
	case f.chance(15):
		s.Compact(f.compaction())
	case f.chance(15):
		s.Prompt("")
		s.Reply(Reply{Tools: 1})
	case f.chance(20):
		w := &file{}
		if n := s.Clear(w); n != s {
			f.create(w, n)
			f.live(n, f.rng.IntN(3))
			f.end(n, w)
		} else {
			f.live(s, 1)
		}
	}
	if f.Traps && f.chance(20) {
		s.Tail()
	}
	f.end(s, w)
}

// live writes turns.
func (f *fleet) live(s *Session, turns int) {
	for range turns {
		f.turn(s)
		if f.Bytes == 0 || f.chance(30) {
			f.change(s)
		}
		if f.Subagents && (f.Bytes == 0 || f.chance(5)) {
			f.subagents(s)
		}
		if f.Traps {
			f.trap(s)
		}
	}
}

func (f *fleet) turn(s *Session) {
	replies := f.rng.IntN(4)
	if f.Bytes > 0 {
		replies = 3 + f.rng.IntN(10)
	}
	s.Prompt("")
	for range replies {
		if s.context > compactionLimit {
			s.Compact(Compaction{Trigger: Auto})
		} else if f.Bytes == 0 && f.chance(15) {
			s.Compact(f.compaction())
		}
		if f.Bytes > 0 {
			s.Pass(time.Duration(1+f.rng.IntN(4)) * time.Second)
		}
		reply := Reply{
			Tools:    1,
			Input:    f.spread(320, 1.6),
			Text:     -1,
			Thinking: f.chance(10),
			Task:     f.chance(5),
			Shape:    f.shape(),
		}
		if f.chance(20) {
			reply.Tools = 2
		}
		if f.chance(45) {
			reply.Text = f.spread(250, 1.3)
		}
		s.Reply(reply)
		if f.chance(45) {
			s.Noise(f.spread(950, 1))
		}
		for range reply.Tools {
			size := f.spread(max(20, (f.LineBytes-700)/2), 1.55)
			s.ToolResult(Result{Size: min(size, 256<<10), Error: f.chance(10)})
		}
	}
	s.Reply(Reply{Text: f.spread(600, 1.2), Shape: f.shape()})
	s.TurnDuration()
}

// shape is Plain, but for traps.
func (f *fleet) shape() Shape {
	if f.Traps && f.chance(10) {
		return Shape(f.rng.IntN(3))
	}
	return Plain
}

func (f *fleet) compaction() Compaction {
	c := Compaction{Trigger: Auto, SummaryLate: f.chance(20)}
	if f.chance(40) {
		c.Trigger = Manual
	}
	if f.Traps {
		c.Unlinked = f.chance(30)
		c.Unanchored = f.chance(30)
		c.SummaryFirst = f.chance(10)
	}
	return c
}

// change writes what happens between some turns.
func (f *fleet) change(s *Session) {
	switch f.rng.IntN(16) {
	case 0:
		s.Compact(f.compaction())
	case 1:
		s.model = pick(f.rng, s.client.models)
	case 2:
		s.cwd = path.Join(path.Dir(s.cwd), "moved", path.Base(s.cwd))
	case 3:
		s.Pass(time.Duration(f.rng.IntN(7200)) * time.Second)
	case 4:
		later := Versions()[slices.Index(Versions(), s.client.version)+1:]
		if s.client.version != "" && len(later) > 0 {
			s.Upgrade(pick(f.rng, later))
		}
	case 5:
		s.Interrupt()
	case 6, 7:
		s.Noise(50)
	}
}

// subagents adds some of the subagents that the session's client can have.
func (f *fleet) subagents(s *Session) {
	if f.chance(40) {
		s.Sidechain(1 + f.rng.IntN(3))
	}
	if f.chance(25) {
		w := &file{}
		if a := s.Subagent(w); a != nil {
			f.create(w, a)
			for range 1 + f.rng.IntN(3) {
				a.Reply(Reply{Tools: 1})
				a.ToolResult(Result{Size: 100})
			}
			if f.chance(30) {
				a.Compact(Compaction{Trigger: Auto})
			}
			a.Reply(Reply{})
			f.end(a, w)
		}
	}
	if f.chance(10) {
		w := &file{}
		if a := s.Echo(w); a != nil {
			f.create(w, a)
			f.end(a, w)
		}
	}
}

// trap writes what a reader must survive.
func (f *fleet) trap(s *Session) {
	if f.chance(20) {
		s.Break()
	}
	if f.chance(10) {
		s.Blank()
	}
	if f.chance(15) {
		s.Replay(1 + f.rng.IntN(8))
	}
	if f.chance(10) {
		s.Tail()
	}
}

// create gives a session its file.
func (f *fleet) create(w *file, s *Session) {
	f.err = errors.Join(f.err, w.create(filepath.Join(f.dir, filepath.FromSlash(s.Path()))))
}

// end closes a session's file and adds its figures.
func (f *fleet) end(s *Session, w *file) {
	t := s.Truth()
	when := t.LastActivity
	if when.IsZero() {
		when = f.Start
	}
	f.err = errors.Join(f.err, w.close(when), s.Err())
	f.truth.Files[s.Path()] = &t
	f.truth.DistinctCompactions += t.Compactions.Total()
	f.truth.Spent.add(t.Spent)
}

// addSubagents adds the figures of subagents' files to their sessions.
func (f *fleet) addSubagents() {
	sessions := map[string]*FileTruth{}
	for _, t := range f.truth.Files {
		if t.AgentID == "" {
			sessions[t.SessionID] = t
		}
	}
	for _, t := range f.truth.Files {
		if main := sessions[t.SessionID]; t.AgentID != "" && main != nil {
			main.Subagents.Files++
			main.Subagents.add(t.Sidechain)
		}
	}
}

func (f *fleet) chance(n int) bool { return f.rng.IntN(100) < n }

// spread draws a log-normal size.
func (f *fleet) spread(median int, sigma float64) int {
	return int(float64(median) * math.Exp(sigma*f.rng.NormFloat64()))
}

// file is a file that buffers what is written before it is created.
type file struct {
	early bytes.Buffer
	file  *os.File
	w     *bufio.Writer
}

func (f *file) Write(b []byte) (int, error) {
	if f.w == nil {
		return f.early.Write(b)
	}
	return f.w.Write(b)
}

func (f *file) create(path string) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if f.file, err = os.Create(path); err != nil {
		return err
	}
	f.w = bufio.NewWriterSize(f.file, 256<<10)
	_, err = io.Copy(f.w, &f.early)
	return err
}

func (f *file) close(when time.Time) error {
	if f.file == nil {
		return nil
	}
	return errors.Join(f.w.Flush(), f.file.Close(), os.Chtimes(f.file.Name(), when, when))
}
