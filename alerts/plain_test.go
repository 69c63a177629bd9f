package alerts

import (
	"strings"
	"testing"
)

// TestDefaultTextsAreNothingToAShell tests that default texts have no meaning in a shell:
// without hooks a notice is typed completely, and a shell may have replaced the client.
func TestDefaultTextsAreNothingToAShell(t *testing.T) {
	for _, name := range []string{
		"web",
		"a;rm -rf $HOME",
		"`id` & <x> | 'y' \"z\" \\",
		"#!~*?[a]{b}(c)\n@d",
		"",
	} {
		a := &AgentState{Agent: "an agent; id", Name: name}
		d := Data{
			Name:      a.data().Name,
			Percent:   66,
			Tokens:    thousands(132_000),
			Window:    thousands(200_000),
			PreTokens: thousands(167_000),
			Trigger:   "auto",
			Count:     3,
			Minutes:   19,
		}
		for k := range Kinds {
			for _, d.Turns = range []int{0, 5} {
				text, plain := must(t, Messages{}).text(k, d)
				if !strings.HasPrefix(text, "[sm context] ") || !Plain(text) || plain != "" {
					t.Errorf("%s for %q: %q, %q", k, name, text, plain)
				}
			}
		}
	}
	if !Plain("[sm remind] " + remindText) {
		t.Error("the text of the configuration's reminder is not plain")
	}
}

// TestTextOfTheUserHasAPlainOne tests that the user's texts are not typed if they have a
// meaning in a shell.
func TestTextOfTheUserHasAPlainOne(t *testing.T) {
	usual := "[sm context] Context at 66%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near."
	for own, want := range map[string]string{
		"At {{.Percent}}%. Hand over now.": "", "At {{.Percent}}% (hand over)": usual, "Now!": usual, "a\nb": usual, "[sm x] It's late.": usual,
		"[sm x; id] Late.": usual, "[sm x] Late.": "", "[sm x] [y] Late.": usual,
	} {
		if _, plain := must(t, Messages{
			Critical: own,
		}).text(KindCritical, Data{
			Percent: 66,
		}); plain != want {
			t.Errorf("%q: got %q, want %q", own, plain, want)
		}
	}
}

func must(t *testing.T, m Messages) *Engine {
	t.Helper()
	o := Defaults()
	o.Messages = m
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestDefaultTexts(t *testing.T) {
	e := newEngine(t)
	actions := stepAll(
		e,
		seen("web"),
		active(0, true),
		reading(1, 104_000),
		reading(2, 132_000),
		boundary(60, 1),
		tick(661),
	)
	want := []string{
		"[sm context] Context at 52%, 104,000 tokens. A good time to write a handoff document and run sm handoff PATH.",
		"[sm context] Context at 66%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near.",
		"[sm context] web was compacted, auto, 167,000 tokens, and is still running.",
		"[sm context] web is active, but its context size has not been seen for 10 min. sm doctor shows which source is silent.",
	}
	check(t, want, texts(actions))
}
