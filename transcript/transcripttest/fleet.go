package transcripttest

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sm/transcript"
)

// Options describe a directory of transcripts. The zero value is a few short ones.
type Options struct {
	Seed uint64
	// Sessions is the number of sessions that begin; 0: 8, or as many as Bytes
	// needs. Copies, sessions after /clear and subagents are additional.
	Sessions int
	// Bytes is the approximate size of all files together, with sizes and a mix
	// of records as in long use. 0: short sessions that contain everything.
	Bytes int64
	// Start is when the first session begins; the others follow in three days.
	Start time.Time
	// Traps adds broken, blank and unterminated lines, and replays.
	Traps bool
	// Copies adds forks, resumes and branches, Subagents subagents.
	Copies, Subagents bool
	// LineBytes is the median size of a line with a tool's result; 0: 900. In long use
	// it is 3200.
	LineBytes int
}

const (
	// The sizes of real transcripts.
	medianFile  = 1_200_000
	meanFile    = 2_700_000
	fileSpread  = 1.27
	largestFile = 64_000_000
	// compactionLimit is the size at which clients compact a window of 200,000
	// tokens.
	compactionLimit = 167_000
)

// Generate writes transcripts to dir, as <project>/<session>.jsonl and files of
// subagents, and returns their figures. The modification time of a file is that of
// its last activity.
func Generate(dir string, o Options) (*Truth, error) {
	if o.Start.IsZero() {
		o.Start = usualStart()
	}
	o.Sessions = cmp.Or(o.Sessions, int(o.Bytes/meanFile), 8)
	f := &fleet{
		Options: o,
		dir:     dir,
		rng:     rand.New(rand.NewPCG(o.Seed, 1)),
		truth:   &Truth{Files: map[string]*FileTruth{}},
	}

	sizes := make([]float64, o.Sessions)
	sum := 0.0
	for i := range sizes {
		sizes[i] = float64(min(spread(f.rng, medianFile, fileSpread), largestFile))
		sum += sizes[i]
	}
	for _, size := range sizes {
		f.session(int(size / sum * float64(o.Bytes)))
	}
	return f.truth, f.err
}

// fleet is a directory of transcripts while it is written.
type fleet struct {
	Options
	dir   string
	rng   *rand.Rand
	truth *Truth
	err   error
}

// session writes a session of that size, a short one for 0, with its copies.
func (f *fleet) session(size int) {
	start := f.Start.Add(time.Duration(f.rng.Int64N(int64(72 * time.Hour))))
	s := newSession(f.rng, pick(f.rng, versions()), start)
	s.lineBytes = f.LineBytes
	turns := 2
	if size == 0 {
		turns += f.rng.IntN(6)
	}
	f.live(s, turns)
	for s.text.Len() < size {
		f.live(s, 1)
	}
	if f.Copies {
		f.copies(s, 2)
	}
	f.leave(s)
}

// copies makes copies of a session, and of its copies.
func (f *fleet) copies(s *Session, depth int) {
	for range f.rng.IntN(3) {
		kinds := s.copies()
		if len(kinds) == 0 || depth == 0 {
			return
		}
		n := s.Copy(pick(f.rng, kinds))
		f.live(n, f.rng.IntN(3))
		f.copies(n, depth-1)
		f.leave(n)
		f.live(s, f.rng.IntN(2))
	}
}

// leave ends a session: some compacted, in a turn or in a line, some cleared.
func (f *fleet) leave(s *Session) {
	switch n := f.rng.IntN(100); {
	case n < 15:
		f.compact(s)
	case n < 30:
		s.Prompt()
		s.Reply("tool")
	case n < 45:
		next := s.spawn()
		next.command("/clear")
		f.live(next, f.rng.IntN(3))
		f.end(next)
	}
	if f.Traps && s.chance(20) {
		s.cut()
	}
	f.end(s)
}

// live writes turns, and other records between them.
func (f *fleet) live(s *Session, turns int) {
	rare := 1
	if f.Bytes > 0 {
		rare = 4
	}
	for range turns {
		f.turn(s)
		if s.chance(10 / rare) {
			f.compact(s)
		}
		if s.chance(6 / rare) {
			s.values["model"] = pick(f.rng, s.client["models"])
		}
		if s.chance(6 / rare) {
			s.values["cwd"] = path.Join("/moved", s.values["cwd"])
		}
		if s.chance(6 / rare) {
			s.pass(2 * time.Hour)
		}
		if s.chance(6 / rare) {
			f.upgrade(s)
		}
		if s.chance(6 / rare) {
			s.emit("interrupt", "", 0)
		}
		if s.chance(12 / rare) {
			s.emit("noise", "", 50)
		}
		if f.Subagents {
			if s.chance(40 / rare) {
				s.sidechain()
			}
			if s.chance(25 / rare) {
				f.subagent(s, "a")
			}
			if s.chance(10 / rare) {
				f.subagent(s, "acompact-")
			}
		}
		if f.Traps {
			if s.chance(20) {
				s.line(pick(s.rng, s.client["broken"]))
				s.truth.BadLines++
			}
			if s.chance(10) {
				s.text.WriteString("\t \r\n")
			}
			if s.chance(15) { // clients that resume or compact repeat the last records
				history := s.history()
				for _, r := range history[max(0, len(history)-1-f.rng.IntN(8)):] {
					s.repeat(r)
				}
			}
		}
	}
}

func (f *fleet) turn(s *Session) {
	replies := f.rng.IntN(4)
	if f.Bytes > 0 {
		replies = 3 + f.rng.IntN(10)
	}
	s.Prompt()
	for range replies {
		if s.context > compactionLimit {
			s.Compact(transcript.Auto)
		} else if f.Bytes == 0 && s.chance(15) {
			f.compact(s)
		}
		if f.Bytes > 0 {
			s.pass(4 * time.Second)
		}
		s.Reply(strings.Fields(pick(f.rng, s.client["replies"]))...)
		if s.chance(45) {
			s.emit("noise", "", spread(f.rng, 950, 1))
		}
		s.results()
	}
	s.Reply()
	s.emit("turn-end", "", 0)
}

func (f *fleet) compact(s *Session) {
	s.Compact(pick(f.rng, []transcript.Trigger{transcript.Auto, transcript.Manual}))
}

// upgrade changes to a later version of the client.
func (f *fleet) upgrade(s *Session) {
	all := versions()
	later := all[slices.Index(all, s.values["version"])+1:]
	if len(later) > 0 {
		s.values["version"] = pick(f.rng, later)
		s.client = newClient(s.values["version"])
	}
}

// subagent adds a subagent with a file of its own, if the session's client has them.
func (f *fleet) subagent(s *Session, prefix string) {
	n := s.subagent(prefix)
	switch {
	case n == nil:
		return
	case prefix == "a":
		n.emit("user", "words", 100)
		for range 1 + f.rng.IntN(3) {
			n.Reply("tool")
			n.results()
		}
		if s.chance(30) {
			n.Compact(transcript.Auto)
		}
		n.Reply()
	default:
		n.echo(s.history())
	}
	f.end(n)
	s.truth.Subagents.Files++
	s.truth.Subagents.add(n.truth.Subagents.Spent)
}

// end writes a session's file and adds its figures.
func (f *fleet) end(s *Session) {
	t := &s.truth
	f.truth.Files[s.path()] = t
	f.truth.DistinctCompactions += t.Compactions.Total()
	f.truth.Spent.add(t.Spent)

	name := filepath.Join(f.dir, s.path())
	f.err = cmp.Or(
		f.err,
		write(name, s.Bytes()),
		os.Chtimes(name, t.LastActivity, t.LastActivity),
	)
}

func write(name string, data []byte) error {
	return cmp.Or(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, data, 0o600))
}
