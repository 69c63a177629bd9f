package transcripttest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// agree checks the truth so far against the oracle.
func agree(t *testing.T, what string, s *Session, data []byte) {
	t.Helper()
	if d := diff(alone(s.Truth()), alone(Oracle(data))); d != "" {
		last := data[bytes.LastIndexByte(data[:max(0, len(data)-1)], '\n')+1:]
		t.Errorf("%s, version %q:%s\n%s", what, s.Version(), d, last)
	}
}

// everySession runs f for each version of a client, or only for the last one of each era.
func everySession(t *testing.T, lastOnly bool, f func(t *testing.T, s *Session, b *bytes.Buffer)) {
	for _, era := range Eras() {
		versions := era.Versions()
		if lastOnly {
			versions = versions[len(versions)-1:]
		}
		for _, version := range versions {
			t.Run(era.String()+" "+version, func(t *testing.T) {
				var b bytes.Buffer
				f(t, NewSession(&b, 5, era, SessionOptions{Version: version}), &b)
			})
		}
	}
}

// deeds is everything that a session can be asked to write.
func deeds(s *Session) map[string]func() {
	list := map[string]func(){
		"prompt": func() { s.Prompt("say \"héllo\"\n\\ \x01 \u2028") },
		"reply":  func() { s.Reply(Reply{}) },
		"lines":  func() { s.Reply(Reply{Thinking: true, Tools: 2, Text: 40, Output: 900}) },
		"nested": func() { s.Reply(Reply{Shape: NestedOnly}) },
		"calls":  func() { s.Reply(Reply{Shape: Iterated}) },
		"result": func() { s.ToolResult(Result{Size: 300}) },
		"image":  func() { s.ToolResult(Result{Image: 500}) },
		"task":   func() { s.Reply(Reply{Tools: 1, Task: true}); s.ToolResult(Result{}) },
		"title":  s.Title, "mode": s.Mode, "last prompt": s.LastPrompt, "duration": s.TurnDuration,
		"queue":      func() { s.QueueOperation("enqueue", "[sm note] x") },
		"attachment": func() { s.Attachment(100) },
		"progress":   func() { s.Progress(100) },
		"micro":      s.Microcompact, "error": s.APIError, "no response": s.NoResponse, "retry": s.Retry, "interrupt": s.Interrupt,
		"sidechain": func() { s.Sidechain(2) },
		"replay":    func() { s.Replay(5) },
		"tail":      s.Tail, "blank": s.Blank,
		"clear":  func() { s.Clear(&bytes.Buffer{}) },
		"model":  func() { s.Switch("claude-other-1") },
		"folder": func() { s.Move("/tmp/elsewhere") },
	}
	for _, c := range []Compaction{
		{Trigger: Auto}, {Trigger: Manual}, {Trigger: Manual, Direction: "from"}, {Trigger: Auto, SummaryFirst: true},
		{Trigger: Auto, SummaryLate: true}, {Trigger: Auto, NoMetadata: true}, {Trigger: Auto, Link: ByAnchor},
		{Trigger: Auto, Link: ByPlace}, {Trigger: Auto, SummaryFirst: true, Link: ByAnchor}, {Short: true},
	} {
		list[fmt.Sprintf("compaction %+v", c)] = func() { s.Compact(c) }
	}
	return list
}

// TestEveryDeed writes everything in a random order and looks after each.
func TestEveryDeed(t *testing.T) {
	everySession(t, testing.Short(), func(t *testing.T, s *Session, b *bytes.Buffer) {
		list := deeds(s)
		names := slices.Sorted(maps.Keys(list))
		s.Prompt("")
		for range 2 * len(names) {
			name := pick(s.rng, names)
			list[name]()
			agree(t, name, s, b.Bytes())
		}
		s.EndTail()
		agree(t, "end", s, b.Bytes())
		if s.Err() != nil {
			t.Error(s.Err())
		}
	})
}

func TestEveryOddity(t *testing.T) {
	everySession(t, testing.Short(), func(t *testing.T, s *Session, b *bytes.Buffer) {
		s.Prompt("")
		for _, o := range Oddities() {
			s.Odd(o)
			agree(t, fmt.Sprint("oddity ", o), s, b.Bytes())
			s.Reply(Reply{})
		}
		agree(t, "end", s, b.Bytes())
	})
}

func TestEveryBreakage(t *testing.T) {
	everySession(t, testing.Short(), func(t *testing.T, s *Session, b *bytes.Buffer) {
		for i, how := range Breakages() {
			s.Break(how)
			s.Reply(Reply{})
			agree(t, fmt.Sprint("breakage ", how), s, b.Bytes())
			if n := s.Truth().BadLines; n != i+1 {
				t.Fatalf("breakage %d: %d bad lines, want %d", how, n, i+1)
			}
		}
	})
}

// TestEveryByte cuts a transcript anywhere: what is whole counts.
func TestEveryByte(t *testing.T) {
	var b bytes.Buffer
	s := NewSession(&b, 1, Era197, SessionOptions{})
	s.Prompt("hello")
	before := s.Truth()
	n := b.Len()
	s.Reply(Reply{Context: 77_000})
	for cut := n; cut < b.Len(); cut++ {
		if got := Oracle(b.Bytes()[:cut]); got.Known || got.Lines != before.Lines || got.Tail != int64(cut-n) {
			t.Fatalf("cut at %d: %+v", cut, got)
		}
	}
	if got := Oracle(b.Bytes()); got.ContextTokens != 77_000 || !got.Known || got.Tail != 0 {
		t.Errorf("%+v", got)
	}
}

func TestEveryCopy(t *testing.T) {
	found := map[CopyKind]bool{}
	everySession(t, testing.Short(), func(t *testing.T, s *Session, b *bytes.Buffer) {
		s.Prompt("first")
		s.Reply(Reply{Tools: 1})
		s.Compact(Compaction{Trigger: Auto})
		s.ToolResult(Result{})
		s.Reply(Reply{Context: 40_000})
		s.TurnDuration()
		for _, kind := range s.Copies() {
			found[kind] = true
			var w bytes.Buffer
			n := s.Copy(&w, kind)
			agree(t, kind.String(), n, w.Bytes())
			n.Prompt("second")
			n.Reply(Reply{Context: 50_000})
			agree(t, kind.String()+" later", n, w.Bytes())
			got := n.Truth()
			if got.ContextTokens != 50_000 || !got.Known || got.Origin != s.ID() || got.CopyKind != kind {
				t.Errorf("%s: %+v", kind, got)
			}
			own, inherited := 0, 1
			if kind == Continued {
				own, inherited = 1, 0
			}
			if got.Compactions.Total() != own || got.Inherited != inherited {
				t.Errorf("%s: %d compactions, %d inherited", kind, got.Compactions.Total(), got.Inherited)
			}
		}
		agree(t, "origin", s, b.Bytes())
	})
	for kind := Resumed; kind <= Continued; kind++ {
		if !found[kind] {
			t.Errorf("no client makes %s copies", kind)
		}
	}
}

func TestSubagents(t *testing.T) {
	everySession(t, testing.Short(), func(t *testing.T, s *Session, b *bytes.Buffer) {
		s.Prompt("")
		s.Reply(Reply{Task: true, Tools: 1})
		main := s.Truth().Spent
		for name, begin := range map[string]func(*bytes.Buffer) *Session{
			"subagent": func(w *bytes.Buffer) *Session { return s.Subagent(w) },
			"echo":     func(w *bytes.Buffer) *Session { return s.Echo(w) },
		} {
			var w bytes.Buffer
			a := begin(&w)
			if a == nil {
				continue
			}
			if name == "echo" && a.Truth().Sidechain.Messages != 0 {
				t.Error("an echo counts")
			}
			a.Reply(Reply{})
			a.Compact(Compaction{Trigger: Auto})
			a.Reply(Reply{})
			agree(t, name, a, w.Bytes())
			if got := a.Truth(); got.SessionID != s.ID() || got.Sidechain.Messages != 2 || got.Compactions.Total() != 0 || !isAgentFile(a.Path()) {
				t.Errorf("%s: %+v in %s", name, got, a.Path())
			}
			own := OracleSubagent(w.Bytes())
			if own.Compactions.Total() != 1 || own.ContextTokens != a.Context() || !own.Known {
				t.Errorf("%s by itself: %+v", name, own)
			}
		}
		if s.Truth().Spent != main {
			t.Error("subagents count for their session")
		}
		agree(t, "session", s, b.Bytes())
	})
}

func TestNames(t *testing.T) {
	if got := munge("/home/dev/läden_🎉.x"); got != "-home-dev-l-den----x" {
		t.Error(got)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := NewSession(&bytes.Buffer{}, 1, Era21, SessionOptions{ID: "an-id", Cwd: "/w", Model: "m", Branch: "b", Version: "2.1.44", Start: start})
	s.Move("/elsewhere")
	s.Reply(Reply{})
	got := s.Truth()
	if s.Path() != "-w/an-id.jsonl" || got.Model != "m" || got.Cwd != "/elsewhere" || got.Version != "2.1.44" || got.Started.Before(start) {
		t.Errorf("%s %+v", s.Path(), got)
	}
}

// failing is a writer that takes some bytes and no more.
type failing int

func (f *failing) Write(b []byte) (int, error) {
	if *f -= failing(len(b)); *f < 0 {
		return 0, fmt.Errorf("full")
	}
	return len(b), nil
}

func TestWriterFails(t *testing.T) {
	f := failing(3000)
	s := NewSession(&f, 1, Era20, SessionOptions{})
	for range 9 {
		s.Reply(Reply{})
	}
	if s.Err() == nil || !strings.Contains(s.Err().Error(), "full") {
		t.Error(s.Err())
	}
}

func ExampleSession() {
	var file bytes.Buffer
	s := NewSession(&file, 1, Era197, SessionOptions{})
	s.Prompt("fix the tests")
	s.Reply(Reply{Context: 150_000, Tools: 1})
	s.ToolResult(Result{Size: 500})
	s.Compact(Compaction{Trigger: Auto})
	t := s.Truth()
	fmt.Println(t.Turns, t.Peak, t.Known, t.Compactions.Auto)
	s.Reply(Reply{Context: 42_000})
	t = Oracle(file.Bytes())
	fmt.Println(t.Turns, t.ContextTokens, t.Known, t.Compactions.Auto)
	// Output:
	// 1 150000 false 1
	// 1 42000 true 1
}

func BenchmarkGenerate(b *testing.B) {
	const size = 32 << 20
	b.SetBytes(size)
	for b.Loop() {
		if _, err := Generate(b.TempDir(), Options{Seed: 1, Bytes: size}); err != nil {
			b.Fatal(err)
		}
	}
}
