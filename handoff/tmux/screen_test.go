package tmux

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// realScreens returns screens of the real client, by version and state, captured with
// capture-pane -p -e at 80 by 20; ESC is written as ␛, and the top rows are cut off.
func realScreens(t *testing.T) map[string]Screen {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no screens: %v", err)
	}
	screens := map[string]Screen{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		noError(t, err)
		version := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, f := range archive.Files {
			head, capture, _ := strings.Cut(string(f.Data), "\n")
			var c Cursor
			if _, err := fmt.Sscanf(head, "cursor %d %d", &c.X, &c.Y); err != nil {
				t.Fatalf("%s: %s: %v", file, f.Name, err)
			}
			screens[version+" "+f.Name] = ParseScreen(
				strings.ReplaceAll(capture, "␛", "\x1b"),
				c,
			)
		}
	}
	return screens
}

func TestRefusalOfRealScreens(t *testing.T) {
	t.Parallel()
	// By the client's state, for all versions.
	want := map[string]Reason{
		"idle":             ReasonNone,
		"placeholder":      ReasonNone, // Try "…"
		"suggestion":       ReasonNone,
		"unfocused":        ReasonNone, // a suggestion, without a cursor drawn
		"answered":         ReasonNone,
		"interrupted":      ReasonNone,
		"ctrl-c":           ReasonNone, // press again to exit
		"shortcuts":        ReasonNone, // listed below the box, which stays
		"busy":             ReasonNone, // not decided by the screen
		"queued":           ReasonNone, // Press up to edit queued messages
		"vim-insert":       ReasonNone,
		"vim-normal":       ReasonNone, // the screen does not show it; a bracketed paste is safe
		"vim-visual":       ReasonVim,
		"draft":            ReasonDraft,
		"draft-home":       ReasonDraft, // the cursor is on its first character
		"draft-lines":      ReasonDraft,
		"commands":         ReasonDraft, // a slash, and the list that it opens
		"pasted":           ReasonDraft,
		"pasted-tall":      ReasonDraft,
		"pasted-collapsed": ReasonDraft,
		"permission":       ReasonDialog,
		"permission-amend": ReasonDialog,
		"model":            ReasonDialog, // its choices have numbers
		"rewind":           ReasonMenu,
		"agents":           ReasonMenu, // its box starts another session
		"shell-mode":       ReasonShellMode,
		"history":          ReasonUnclear, // the box looks empty, but the cursor is elsewhere
		"transcript":       ReasonNoBox,
	}
	others := map[string]Reason{
		"2.1.328 history":     ReasonMenu,
		"2.1.328 pasted-tall": ReasonNoBox, // its first rows have scrolled out
		// A list with the cursor in it looks like a draft.
		"codex-0.169.0 model":      ReasonDialog,
		"codex-0.169.0 rewind":     ReasonNoBox,
		"codex-0.169.0 shell-mode": ReasonNoBox, // its box begins with another glyph
		"codex-0.169.0 transcript": ReasonNone,  // shown above the box
		"codex-0.169.0 busy":       ReasonNone,  // it writes its answer
		"codex-0.169.0 starting":   ReasonDraft, // text typed too early waits there
		"codex-0.169.0 working":    ReasonBusy,
	}
	screens := realScreens(t)
	for _, name := range slices.Sorted(maps.Keys(screens)) {
		_, doing, _ := strings.Cut(name, " ")
		reason, known := others[name]
		if !known {
			reason, known = want[doing]
		}
		if got := Refusal(screens[name]); !known || got != reason {
			t.Errorf("%s: Refusal = %v, want %v", name, got, reason)
		}
	}
}

func TestMatchOnRealScreens(t *testing.T) {
	t.Parallel()
	words := func(n int) string {
		var b strings.Builder
		b.WriteString("[sm test]")
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, " w%03d", i)
		}
		return b.String()[:n-len(" #a1b2c3")] + " #a1b2c3"
	}
	screens := realScreens(t)
	for _, version := range []string{"2.1.197", "2.1.328"} {
		for name, size := range map[string]int{
			"pasted":           150,
			"pasted-tall":      700,
			"pasted-collapsed": 1500,
		} {
			v := view{screen: screens[version+" "+name]}
			if err := v.shows(words(size), false); err != nil {
				t.Errorf("%s %s: got %v, want the text", version, name, err)
			}
		}
		v := view{screen: screens[version+" idle"]}
		if err := v.shows(words(150), false); ReasonOf(err) != ReasonUnseen {
			t.Errorf("%s idle: %v, want nothing", version, err)
		}
	}
}

const (
	testRule = "────────────────────────────────────────"
	emptyBox = testRule + "\n❯\u00a0\x1b[7m \x1b[0m\n" + testRule + "\n"
)

// boxed returns a text in an input box.
func boxed(text string) string { return testRule + "\n❯\u00a0" + text + "\n" + testRule + "\n" }

type boxCase struct {
	name, text, box string
	want            bool
}

// checkBoxes checks a predicate on boxes and texts.
func checkBoxes(t *testing.T, is func(box, string) bool, cases []boxCase) {
	t.Helper()
	for _, c := range cases {
		b, ok := findBox(ParseScreen(boxed(c.box), Cursor{}))
		if got := is(b, c.text); !ok || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	at := func(x, y int) Cursor { return Cursor{x, y} }
	for _, c := range []struct {
		name   string
		screen string
		cursor Cursor
		want   Reason
	}{
		{
			"a cursor that is drawn alone",
			emptyBox + "  ? for shortcuts\n",
			at(0, 4),
			ReasonUnclear,
		},
		{
			"the screen of an ended client",
			emptyBox + "\nResume this session with:\nclaude --resume 0\n",
			at(2, 1),
			ReasonEnding,
		},
		{
			"the same, ended before",
			"Resume this session with:\nclaude --resume 0\n" + emptyBox,
			at(2, 3),
			ReasonNone,
		},
		{"an empty screen", "", at(0, 0), ReasonNoBox},
		{"no cursor anywhere", boxed(""), at(0, 4), ReasonUnclear},
		{"blanks", boxed("   \x1b[7m \x1b[0m"), at(5, 1), ReasonUnclear},
		{
			"faint by colour alone",
			boxed("\x1b[7mr\x1b[0;38;5;2mun the tests\x1b[0m"),
			at(2, 1),
			ReasonDraft,
		},
		{
			"a hint after a command",
			boxed("/model\x1b[2m [model]\x1b[0m"),
			at(8, 1),
			ReasonDraft,
		},
		{
			"another agent of the team",
			boxed("\x1b[7mM\x1b[0;2message @web…\x1b[0m"),
			at(2, 1),
			ReasonMenu,
		},
		{"vim NORMAL", emptyBox + "  -- NORMAL --\n", at(2, 1), ReasonVim},
		{
			"an empty box above a dialog",
			emptyBox + "Do you want to proceed?\n ❯ 1. Yes\n",
			at(2, 1),
			ReasonDialog,
		},
		{
			"an empty box above a list",
			emptyBox + "  a\n  b\n  Enter to confirm · Esc to exit\n",
			at(2, 1),
			ReasonMenu,
		},
		{
			"an old prompt with a number",
			"❯ 1. do this\n● Done.\n" + emptyBox,
			at(2, 3),
			ReasonNone,
		},
		{
			"a box that the agent printed",
			emptyBox + "● What now?\n" + testRule + "\n Do you want to proceed?\n ❯ 2. No\n",
			at(1, 6),
			ReasonDialog,
		},
		{
			"a scrolled draft",
			"──── ↑ 2 more ────────────────────\n  and so on\n" + testRule + "\n",
			at(11, 1),
			ReasonNoBox,
		},
		{
			"rule with a name",
			strings.Replace(emptyBox, testRule, "─────────────────────── web ──", 1),
			at(2, 1),
			ReasonNone,
		},
		{"bash", "dev@host:~/project$ \n", at(20, 0), ReasonShell},
		{"starship", "~/project main\n❯ \n", at(2, 1), ReasonShell},
		{
			"a shell with rules",
			testRule + "\n❯ ls\n" + testRule + "\nout\n❯ \n",
			at(2, 4),
			ReasonDraft,
		},
		{
			"a status line with a rule",
			emptyBox + "  main\n" + testRule + "\n  52%\n",
			at(2, 1),
			ReasonNone,
		},
	} {
		if got := Refusal(ParseScreen(c.screen, c.cursor)); got != c.want {
			t.Errorf("%s: Refusal = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const text = "[sm test] Context at 52%, naïve; go on. #a1b2c3"
	long := "[sm test] " + strings.Repeat("many words ", 100) + "#a1b2c3"
	checkBoxes(t, box.match, []boxCase{
		{"empty", text, "", false},
		{
			"an accent upon a blank",
			"[sm test] a \u0301b #a1b2c3",
			"[sm test] a b #a1b2c3",
			true,
		},
		{
			"two letters for one accented",
			"[sm test] a\u0301b #a1b2c3",
			"[sm test] aáb #a1b2c3",
			false,
		},
		{"a placeholder", text, "\x1b[2mTry this\x1b[0m", false},
		{"the text", text, text + "\x1b[7m \x1b[0m", true},
		{
			"broken into rows",
			text,
			"[sm test] Context at\n  52%, naïve; go on.\n  #a1b2c3",
			true,
		},
		{"a character that the terminal does not know", text + "🫩", text, true},
		{"a hint after it", text, text + "\x1b[2m tab to go on\x1b[0m", true},
		{"a letter before", text, "x" + text, false},
		{"an accented letter after", text, text + "é", false},
		{"part of it", text, text[:len(text)-3], false},
		{"collapsed", long, "[Pasted text #12]", true},
		{"collapsed after a letter", long, "x[Pasted text #3]", false},
		{"collapsed twice", long, "[Pasted text #3][Pasted text #4]", false},
		{"collapsed, though short", text, "[Pasted text #12]", false},
	})
}

func TestMatchOfScrolledBoxes(t *testing.T) {
	t.Parallel()
	const text = "[sm test] one two three four five six #a1b2c3"
	more := "─── ↑ 1 more ───────────────────\n"
	for _, c := range []struct {
		name, screen string
		want         bool
	}{
		{"the client reports it", more + "  four five six #a1b2c3\n" + testRule, true},
		{"a letter after", more + "  four five six #a1b2c3x\n" + testRule, false},
		{"a letter within", more + "  four fxive six #a1b2c3\n" + testRule, false},
	} {
		v := view{
			screen: ParseScreen(c.screen, Cursor{Y: strings.Count(c.screen, "\n") - 1}),
		}
		if err := v.shows(text, false); (err == nil) != c.want {
			t.Errorf("%s: shows = %v, want %v", c.name, err, c.want)
		}
	}
}

const testResume = "Read /home/dev/web/doc.md and continue from where you left off."

func TestHolds(t *testing.T) {
	t.Parallel()
	var cases []boxCase
	for text, want := range map[string]bool{
		"/clear": true, " /clear ": true, "/clear now": false, "/clearly": false, "x /clear": false, "/new": false, "": false, "/clear\n/clear": false,
	} {
		cases = append(cases, boxCase{text, "/clear", text, want})
	}
	checkBoxes(t, box.holds, cases)
}

func TestLeftover(t *testing.T) {
	t.Parallel()
	checkBoxes(t, box.leftover, []boxCase{
		{"the same", "[sm test] a #a1b2c3", "[sm test] a #a1b2c3", true},
		{
			"before it was repeated",
			"[sm from x, repeated] a #a1b2c3",
			"[sm from x] a #a1b2c3",
			true,
		},
		{"something before", "[sm test] a #a1b2c3", "x [sm test] a #a1b2c3", false},
		{
			"two of them",
			"[sm test] a #a1b2c3",
			"[sm test] a #a1b2c3 [sm test] a #a1b2c3",
			false,
		},
		{"a person's command", "/clear", "/clear", false},
		{"the prompt", testResume, testResume, true},
		{
			"the prompt, broken into lines",
			testResume,
			strings.Replace(testResume, " and", "\n  and", 1),
			true,
		},
		{
			"the prompt of another document",
			testResume,
			strings.Replace(testResume, "doc", "dog", 1),
			false,
		},
	})
}

// FuzzRefusal tests that any screen can be parsed, and that an accepted one has an empty box.
func FuzzRefusal(f *testing.F) {
	for _, s := range []string{
		emptyBox,
		"",
		testRule + "\n" + testRule,
		"❯ 1. Yes\n",
		"\x1b[38;5",
		"──── ↑ 2 more ────\n  a\n" + testRule,
	} {
		f.Add(s, 2, 1)
	}
	f.Fuzz(func(t *testing.T, capture string, x, y int) {
		v := view{screen: ParseScreen(capture, Cursor{x, y})}
		r := Refusal(v.screen)
		if err := v.shows(testText, true); r == ReasonNone && err == nil {
			t.Error("found the text in an empty box")
		}
	})
}

// TestLinks tests that addresses of links, which tmux 3.4 and newer capture, do not count as
// text of the screen.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"https://example.com", "file:///home/dev/日本/Übung"} {
		screen := boxed("a \x1b]8;;" + address + "\x1b\\b\x1b]8;;\x1b\\ c")
		if b, ok := findBox(ParseScreen(screen, Cursor{})); !ok || b.typed != "a b c" {
			t.Errorf("%s: got %q in the box", address, b.typed)
		}
	}
}

// TestShowsOnlyTheLowestBox tests that an old prompt between a rule printed by the agent and
// the box does not count as in the box.
func TestShowsOnlyTheLowestBox(t *testing.T) {
	t.Parallel()
	for _, box := range []string{"", "\x1b[2mTry this\x1b[0m", "x"} {
		screen := testRule + "\n❯ " + testText + "\n" + boxed(box)
		v := view{screen: ParseScreen(screen, Cursor{2, 3})}
		if err := v.shows(testText, true); err == nil {
			t.Errorf("found the text in a box with %q", box)
		}
	}
}
