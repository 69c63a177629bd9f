package transcripttest

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Options say what fleet to make. The zero value is a small one of plain sessions.
type Options struct {
	Seed uint64
	// Sessions is how many begin from nothing; 0: as Bytes need, or 8. Copies,
	// sessions after /clear and subagents come on top.
	Sessions int
	// Bytes is the size of all files together, roughly. 0 makes small sessions that
	// hold as many different things as possible; else sizes and the mix of records
	// are those of large real fleets.
	Bytes int64
	// Start is when the first session begins; the others follow within three days.
	Start time.Time
	// Eras limits the clients; all when empty, except that large fleets have no
	// bare ones.
	Eras []Era
	// Traps adds what a reader must survive: broken and odd lines, replays,
	// unterminated ends, replies of unusual shape.
	Traps bool
	// Copies adds forks, resumes and branches, Subagents subagents.
	Copies, Subagents bool
	// LineBytes is the median size of a line with a tool's result; 0: 3200 in
	// large fleets, 900 in small ones.
	LineBytes int
	// GoSources takes text from the Go tree of this machine, where there is one.
	// The fleet is then the same only where that tree is.
	GoSources bool
}

// Generate writes a fleet into dir, as <dir>/<project>/<session>.jsonl and files of
// subagents, and says what it holds. Each file's modification time is that of its
// last activity.
func Generate(dir string, o Options) (*Truth, error) {
	if o.Start.IsZero() {
		o.Start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	}
	if len(o.Eras) == 0 {
		o.Eras = Eras()
		if o.Bytes > 0 {
			o.Eras = o.Eras[1:]
		}
	}
	stock, lineBytes := 64<<10, 900
	if o.Bytes > 0 {
		stock, lineBytes = 8<<20, 3200
	}
	o.LineBytes = cmp.Or(o.LineBytes, lineBytes)
	rng := rand.New(rand.NewPCG(o.Seed, 0x7472616e73637269))
	f := &fleet{
		dir: dir, options: o, rng: rng, prose: newProse(rng, stock, o.GoSources),
		truth: &Truth{Files: map[string]*FileTruth{}}, mains: map[string]*FileTruth{},
	}
	if o.Bytes > 0 {
		f.large()
	} else {
		f.small()
	}
	return f.truth, f.err
}

// fleet is a fleet while it is written.
type fleet struct {
	dir     string
	options Options
	rng     *rand.Rand
	prose   *prose
	truth   *Truth
	mains   map[string]*FileTruth // sessions' own files, by session
	agents  []*FileTruth
	err     error
}

// begin starts a session from nothing.
func (f *fleet) begin(forget bool) (*Session, *sink) {
	w := &sink{}
	era := pick(f.rng, f.options.Eras)
	rng := rand.New(rand.NewPCG(f.rng.Uint64(), uint64(era)))
	s := newSession(w, rng, f.prose, SessionOptions{
		Version: pick(rng, era.Versions()), Forget: forget,
		Start: f.options.Start.Add(time.Duration(rng.Int64N(int64(72 * time.Hour)))),
	})
	f.attach(w, s)
	s.Mode()
	if f.chance(40) && s.client.titlesFirst() {
		s.Title()
	}
	return s, w
}

// attach gives a session its file, once its path is known.
func (f *fleet) attach(w *sink, s *Session) {
	f.err = cmp.Or(f.err, w.open(filepath.Join(f.dir, filepath.FromSlash(s.Path()))))
}

// end closes a session's file and takes its truth.
func (f *fleet) end(s *Session, w *sink) {
	t := s.Truth()
	when := t.LastActivity
	if when.IsZero() {
		when = f.options.Start
	}
	f.err = cmp.Or(f.err, w.close(when), s.Err())
	f.truth.add(s.Path(), &t)
	if s.agent == "" {
		f.mains[t.SessionID] = &t
		return
	}
	f.agents = append(f.agents, &t)
}

// settle adds subagents' files to their sessions.
func (f *fleet) settle() {
	for _, a := range f.agents {
		if main := f.mains[a.SessionID]; main != nil {
			main.Subagents.Files++
			main.Subagents.plus(a.Sidechain)
		}
	}
}

func (f *fleet) chance(n int) bool { return f.rng.IntN(100) < n }

// sink is a file that holds back what is written before it is opened.
type sink struct {
	early bytes.Buffer
	path  string
	file  *os.File
	w     *bufio.Writer
}

func (k *sink) Write(b []byte) (int, error) {
	if k.w == nil {
		return k.early.Write(b)
	}
	return k.w.Write(b)
}

func (k *sink) open(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	k.path, k.file, k.w = path, file, bufio.NewWriterSize(file, 256<<10)
	_, err = io.Copy(k.w, &k.early)
	return err
}

func (k *sink) close(when time.Time) error {
	if k.file == nil {
		return nil
	}
	return cmp.Or(k.w.Flush(), k.file.Close(), os.Chtimes(k.path, when, when))
}
