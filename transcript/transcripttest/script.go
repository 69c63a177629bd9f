package transcripttest

import (
	"bytes"
	"cmp"
	"time"
)

// small writes sessions that are short and hold much.
func (f *fleet) small() {
	for range cmp.Or(f.options.Sessions, 8) {
		s, w := f.begin(false)
		f.live(s, 2+f.rng.IntN(6))
		if f.options.Copies {
			f.copies(s, 2)
		}
		f.leave(s, w)
	}
	f.settle()
}

// leave ends a session: in peace, compacted, in the middle of a line or a turn; or
// it is cleared and another one follows.
func (f *fleet) leave(s *Session, w *sink) {
	switch {
	case f.chance(15):
		s.Compact(f.compaction())
	case f.chance(15):
		s.Prompt("")
		s.Reply(Reply{Tools: 1})
	case f.chance(20):
		next := &sink{}
		if n := s.Clear(next); n != s {
			f.attach(next, n)
			f.live(n, f.rng.IntN(3))
			f.end(n, next)
		} else {
			f.live(s, 1)
		}
	}
	if f.options.Traps && f.chance(20) {
		s.Tail()
	}
	f.end(s, w)
}

// copies makes copies of a session, and of copies.
func (f *fleet) copies(s *Session, depth int) {
	for range f.rng.IntN(3) {
		kinds := s.Copies()
		if len(kinds) == 0 || depth == 0 {
			return
		}
		if f.chance(30) {
			s.Switch(pick(f.rng, s.client.models()))
		}
		w := &sink{}
		n := s.Copy(w, pick(f.rng, kinds))
		f.attach(w, n)
		f.live(n, f.rng.IntN(3))
		f.copies(n, depth-1)
		f.leave(n, w)
		f.live(s, f.rng.IntN(2))
	}
}

// live writes some turns and what may happen between them.
func (f *fleet) live(s *Session, turns int) {
	for range turns {
		f.turn(s)
		f.between(s)
		if f.options.Subagents {
			f.subagents(s)
		}
		if f.options.Traps {
			f.trap(s)
		}
	}
}

// turn is a prompt and what follows it.
func (f *fleet) turn(s *Session) {
	s.Prompt("")
	for range f.rng.IntN(4) {
		tools := 1 + f.rng.IntN(2)
		s.Reply(Reply{Tools: tools, Thinking: f.chance(20), Text: f.rng.IntN(3) - 1, Task: f.chance(15), Input: f.rng.IntN(2) * 200, Shape: f.shape()})
		if f.chance(20) {
			s.Progress(100)
		}
		for f.chance(15) {
			s.Compact(f.compaction())
		}
		for range tools {
			s.ToolResult(Result{Size: f.resultSize(), Error: f.chance(10)})
		}
		if f.chance(15) {
			s.Attachment(200)
		}
	}
	s.Reply(Reply{Text: f.rng.IntN(300), Shape: f.shape()})
	s.TurnDuration()
	if f.chance(20) {
		s.Microcompact()
	}
}

// shape is Plain, but for traps.
func (f *fleet) shape() Shape {
	if f.options.Traps && f.chance(10) {
		return Shape(f.rng.IntN(3))
	}
	return Plain
}

// compaction draws one of all kinds.
func (f *fleet) compaction() Compaction {
	c := Compaction{Trigger: Auto, SummaryLate: f.chance(20)}
	if f.chance(40) {
		c = Compaction{Trigger: Manual}
	}
	if f.chance(10) {
		c.Direction = "up_to"
	}
	if f.options.Traps {
		c.Link, c.Short = Link(f.rng.IntN(3)), f.chance(15)
		c.SummaryFirst, c.NoMetadata = f.chance(10), !c.SummaryLate && f.chance(10)
	}
	return c
}

// between is what happens now and then.
func (f *fleet) between(s *Session) {
	switch f.rng.IntN(16) {
	case 0:
		s.Compact(f.compaction())
	case 1:
		s.Microcompact()
	case 2:
		s.Retry()
		s.APIError()
	case 3:
		s.NoResponse()
	case 4:
		s.Interrupt()
	case 5:
		s.QueueOperation("enqueue", "look at this too")
		s.QueueOperation("dequeue", "")
	case 6:
		s.Title()
	case 7:
		s.LastPrompt()
		s.Mode()
	case 8:
		s.Switch(pick(f.rng, s.client.models()))
	case 9:
		s.Move(s.cwd + "/sub")
	case 10:
		s.Pass(time.Duration(f.rng.IntN(7200)) * time.Second)
	case 11:
		if versions := f.later(s); len(versions) > 0 {
			s.Upgrade(pick(f.rng, versions))
		}
	}
}

// later are the newer versions of the fleet's eras, for a session that is resumed
// with one. A session does not leave the bare era.
func (f *fleet) later(s *Session) []string {
	var list []string
	for _, era := range f.options.Eras {
		for _, v := range era.Versions() {
			if !s.client.bare() && clientOf(v).number > s.client.number {
				list = append(list, v)
			}
		}
	}
	return list
}

// subagents lets a session have some, wherever its client keeps them.
func (f *fleet) subagents(s *Session) {
	if f.chance(40) {
		s.Sidechain(1 + f.rng.IntN(3))
	}
	if f.chance(25) {
		w := &sink{}
		if a := s.Subagent(w); a != nil {
			f.attach(w, a)
			for range 1 + f.rng.IntN(3) {
				a.Reply(Reply{Tools: 1})
				a.ToolResult(Result{Size: f.resultSize()})
			}
			if f.chance(30) {
				a.Compact(Compaction{Trigger: Auto})
			}
			a.Reply(Reply{})
			f.end(a, w)
		}
	}
	if f.chance(10) {
		w := &sink{}
		if a := s.Echo(w); a != nil {
			f.attach(w, a)
			f.end(a, w)
		}
	}
}

// trap writes some of what a reader must survive.
func (f *fleet) trap(s *Session) {
	if f.chance(40) {
		s.Odd(Oddity(f.rng.IntN(int(OutputOnly)))) // those after it are in dispute
	}
	if f.chance(20) {
		s.Break(Breakage(f.rng.IntN(int(breakages))))
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

// resultSize draws the size of a tool's result for the wanted size of its line.
func (f *fleet) resultSize() int {
	return min(spread(f.rng, max(20, (f.options.LineBytes-700)/2), 1.55), 256<<10)
}

// Seeds returns small transcripts to start a fuzzer from: for each client version
// one with what it writes itself, for each era one with each oddity and breakage.
func Seeds() [][]byte {
	var list [][]byte
	add := func(era Era, version string, write func(*Session)) {
		var b bytes.Buffer
		write(NewSession(&b, uint64(len(list)), era, SessionOptions{Version: version}))
		list = append(list, b.Bytes())
	}
	for _, era := range Eras() {
		for _, version := range era.Versions() {
			add(era, version, func(s *Session) {
				f := &fleet{options: Options{LineBytes: 900, Traps: true}, rng: s.rng}
				f.live(s, 1)
				s.Sidechain(1)
				s.Compact(Compaction{Trigger: Auto})
				s.Tail()
			})
		}
		for _, o := range Oddities() {
			add(era, "", func(s *Session) { s.Reply(Reply{}); s.Odd(o) })
		}
		for _, b := range Breakages() {
			add(era, "", func(s *Session) { s.Break(b); s.Reply(Reply{}) })
		}
	}
	return list
}
