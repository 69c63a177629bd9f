package bills

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestAlike(t *testing.T) {
	const long = "Please find out why the reader loses the last line of a file, and write a test that shows it before you change anything. Keep the change small."
	for _, c := range []struct {
		name, a, b string
		want       bool
	}{
		{"the same", long, long, true},
		{
			"other case and signs",
			long,
			"please find out why the reader loses the last line of a file -- and write a test that shows it before you change anything; keep the change small",
			true,
		},
		{"a word more", long, long + " Thanks", true},
		{
			"another task",
			long,
			"Rename the folder of the parser and all that imports it, then run the tests and commit what has changed in small steps.",
			false,
		},
		{
			"half of it",
			long,
			"Please find out why the reader loses the last line of a file, then tell me what to do about the tests that fail on the other machine since monday",
			false,
		},
		{"short", "go on", "go on", false},
		{"nothing", "", "", false},
		{
			"letters of another script",
			"почему читатель теряет последнюю строку файла сегодня",
			"почему читатель теряет последнюю строку файла сегодня!",
			true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Alike(Sketch([]byte(c.a)), Sketch([]byte(c.b))); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ path, folder, want string }{
		{"/home/dev/web/a/b.go", "/home/dev/web", "a/b.go"},
		{"/home/dev/web/a/b.go", "/home/dev/web/", "a/b.go"},
		{"/home/dev/website/b.go", "/home/dev/web", "b.go"},
		{"/home/dev/web/../secret/b.go", "/home/dev/web", "b.go"},
		{"/etc/passwd", "/home/dev/web", "passwd"},
		{"/etc/passwd", "", "passwd"},
		{`C:\\dev\\web\\a\\b.go`, `C:\dev\web`, "a/b.go"},
		{`/home/dev/web/\u00e9.go`, "/home/dev/web", "é.go"},
		{`/home/dev/web/\x`, "/home/dev/web", ""},
	} {
		if got := nameOf([]byte(c.path), []byte(c.folder)); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.path, c.folder, got, c.want)
		}
	}
}

// read returns a line of a reply that reads files.
func read(message, context int, paths ...string) *transcript.Entry {
	e := &transcript.Entry{
		Kind:    transcript.KindReading,
		Message: transcript.Key(message),
		Context: int64(context),
		CWD:     []byte("/p"),
	}
	for i, p := range paths {
		e.Calls = append(e.Calls, transcript.Call{
			ID:   fmt.Append(nil, message, "-", i),
			Name: []byte("Read"),
			Tool: transcript.ToolRead,
			On:   []byte(p),
		})
	}
	return e
}

func aside(text string) *transcript.Entry {
	return &transcript.Entry{Kind: transcript.KindAside, UUID: 77, Text: text}
}

func prompt(text string) *transcript.Entry {
	return &transcript.Entry{Kind: transcript.KindTurnStart, UUID: 78, Text: text}
}

func bills(l *Ledger) []transcript.Bill {
	list, _ := l.Take(make([]transcript.Event, 10))
	return list
}

// TestOpenings tests that the first lines of a session decide which boundary it began with.
func TestOpenings(t *testing.T) {
	const resume = "Read /p/doc.md and continue from where you left off."
	document := &transcript.Entry{
		Kind: transcript.KindContext,
		UUID: 79,
		Text: "=== HANDOFF LOADED (ID: x) ===",
	}
	for _, c := range []struct {
		name    string
		entries []*transcript.Entry
		want    []transcript.Billed
	}{
		{
			"clear",
			[]*transcript.Entry{aside("/clear")},
			[]transcript.Billed{transcript.BilledClear},
		},
		{
			"handoff by a clear",
			[]*transcript.Entry{aside("/clear"), prompt(resume)},
			[]transcript.Billed{transcript.BilledHandoff},
		},
		{
			"handoff by a restart",
			[]*transcript.Entry{document},
			[]transcript.Billed{transcript.BilledHandoff},
		},
		{
			"handoff reported twice",
			[]*transcript.Entry{document, prompt(resume)},
			[]transcript.Billed{transcript.BilledHandoff},
		},
		{"another command", []*transcript.Entry{aside("")}, nil},
		{"a message", []*transcript.Entry{prompt("[sm from web] Hi. #a1b2c3")}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l Ledger
			for _, e := range c.entries {
				l.Received(e)
			}
			l.Reply(read(1, 100), true)
			var got []transcript.Billed
			for _, b := range bills(&l) {
				got = append(got, b.Kind)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestAgainst tests that work of a session after a clear counts as done again if the session
// before it had done it.
func TestAgainst(t *testing.T) {
	var before, after Ledger
	before.Reply(read(1, 1000, "/p/a.go", "/p/b.go"), true)
	before.Prompt([]byte("why does the reader lose the last line of a file"))
	_, done := before.Take(nil)
	after.Received(aside("/clear"))
	after.Prompt([]byte("Why does the reader lose the last line of a file?"))
	after.Reply(read(2, 100, "/p/a.go"), true)
	after.Results(&transcript.Entry{
		Calls: []transcript.Call{{ID: []byte("2 - 0"), Result: true, Size: 40}},
	})
	after.Results(&transcript.Entry{
		Calls: []transcript.Call{{ID: fmt.Append(nil, 2, "-", 0), Result: true, Size: 50}},
	})
	after.Reply(read(3, 350, "/p/a.go", "/p/c.go"), true)
	after.Reply(read(4, 350), true)
	list := bills(&after)
	if len(list) != 1 || list[0].Rereads != 0 || len(list[0].Work) != 4 {
		t.Fatalf("got %+v", list)
	}
	got := Against(list[0], done, 1000, list[0].At-1e9)
	want := transcript.Bill{
		Kind:     transcript.BilledClear,
		Key:      77,
		Before:   1000,
		After:    100,
		Replies:  3,
		Reads:    3,
		Rereads:  2,
		Bytes:    50,
		Tokens:   250,
		Restated: 1,
		Regrown:  2,
		Files: []transcript.Reread{{
			Key:    transcript.Join(transcript.KeyOf([]byte("/p/a.go")), transcript.Key(transcript.ToolRead)),
			Name:   "a.go",
			Reads:  2,
			Tokens: 250,
		}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := Against(
		list[0],
		transcript.Worked{},
		0,
		0,
	); got.Rereads != 0 || got.Restated != 0 ||
		got.Dropped() != 0 {
		t.Errorf("with nothing before: %+v", got)
	}
}

// TestLedgerForgets tests that the oldest of very many calls are dropped, and so are bills
// beyond those that may be open.
func TestLedgerForgets(t *testing.T) {
	var l Ledger
	for i := range 3 * maxKeys {
		l.Reply(read(i+1, 100, fmt.Sprintf("/p/%d.go", i)), true)
	}
	l.Compacted(0, transcript.Bill{})
	l.Reply(read(-1, 100, "/p/0.go", fmt.Sprintf("/p/%d.go", 3*maxKeys-1)), true)
	if list := bills(&l); len(list) != 1 || list[0].Reads != 2 || list[0].Rereads != 1 {
		t.Errorf("got %+v", list)
	}
	for i := range 10 {
		l.Compacted(i, transcript.Bill{})
		bills(&l)
	}
	if n := len(l.accounts); n > 1 {
		t.Errorf("%d bills are open, want 1", n)
	}
	if n := len(l.done.keys); n > maxKeys {
		t.Errorf("%d keys are kept", n)
	}
}

// TestWorkedAdds tests that parts add up to the whole.
func TestWorkedAdds(t *testing.T) {
	var l, all Ledger
	var known transcript.Worked
	for i := range 10 {
		for _, x := range []*Ledger{&l, &all} {
			if i > 1 { // a session starts with a prompt, and its first replies may have no calls
				x.Reply(read(i+1, 100, fmt.Sprintf("/p/%d.go", i%7)), true)
			}
			x.Prompt(fmt.Appendf(
				nil,
				"the task number %d is to write the words %d %d",
				i,
				i*7,
				i*i,
			))
		}
		_, news := l.Take(nil)
		known = Extend(known, news)
	}
	_, want := all.Take(nil)
	if d := cmp.Diff(want, known); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(want.Keys) != 7 || len(want.Prompts) != 10 {
		t.Errorf("%d keys, %d prompts", len(want.Keys), len(want.Prompts))
	}
}

// TestKept tests that a bill that grows stays one, that the oldest are dropped, and that
// lines read again change nothing.
func TestKept(t *testing.T) {
	var k Kept
	ok := false
	for i := range 10 {
		if k, _, ok = k.With(transcript.Bill{
			Key: transcript.Key(i + 1),
			At:  transcript.Instant(i + 1),
		}); !ok {
			t.Fatal(i)
		}
	}
	last := transcript.Bill{
		Key:     10,
		At:      10,
		Replies: 5,
		Rereads: 2,
	}
	if k, _, ok = k.With(last); !ok || len(k.List) != most {
		t.Fatalf("got %+v", k)
	}
	for _, old := range []transcript.Bill{{
		Key:     3,
		At:      3,
		Replies: 9,
	}, {
		Key:     10,
		At:      10,
		Replies: 4,
		Rereads: 2,
	}, {
		Key:     10,
		At:      10,
		Replies: 6,
		Rereads: 1,
	}} {
		if same, _, ok := k.With(old); ok || len(same.List) != most {
			t.Errorf("%+v was added", old)
		}
	}
	if _, was, ok := k.With(transcript.Bill{
		Key:     10,
		At:      10,
		Replies: 6,
		Rereads: 2,
	}); !ok || was.Replies != 5 {
		t.Errorf("got %+v, %v", was, ok)
	}
}

func TestDear(t *testing.T) {
	var newest []int64
	for i := range int64(3 * compared) {
		dear := false
		if newest, dear = Dear(newest, i%10); dear && i >= compared {
			t.Errorf("%d is dear", i)
		}
	}
	for tokens, want := range map[int64]bool{0: false, 9: false, 10: true} {
		if _, dear := Dear(newest, tokens); dear != want {
			t.Errorf("%d: %v", tokens, dear)
		}
	}
	if _, dear := Dear(newest[:leastCompared-1], 1000); dear || len(newest) != compared {
		t.Errorf("%v of %d", dear, len(newest))
	}
}
