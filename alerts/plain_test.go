package alerts

import (
	"strings"
	"testing"
)

// TestDefaultTextsAreNothingToAShell: where hooks do not work a notice is typed whole, and a
// shell may stand where the client was.
func TestDefaultTextsAreNothingToAShell(t *testing.T) {
	for _, name := range []string{"web", "a;rm -rf $HOME", "`id` & <x> | 'y' \"z\" \\", "#!~*?[a]{b}(c)\n@d", ""} {
		a := &AgentState{Agent: "an agent; id", Name: name}
		d := Data{
			Name: a.title(), Percent: 66, Tokens: thousands(132_000), Window: thousands(200_000), PreTokens: thousands(167_000),
			Trigger: "auto", Count: 3, Minutes: 19,
		}
		for k := range kinds {
			for _, d.Turns = range []int{0, 5} {
				text, plain := must(t, Messages{}).text(k, d)
				if !strings.HasPrefix(text, "[sm context] ") || !Plain(text) || plain != "" {
					t.Errorf("%s for %q: %q, %q", k, name, text, plain)
				}
			}
		}
	}
	if !Plain("[sm remind] " + remindText) {
		t.Error("that of the configuration's reminder is not plain")
	}
}

// TestTextOfTheUserHasAPlainOne: the user's own words are not typed where a shell would
// make something of them.
func TestTextOfTheUserHasAPlainOne(t *testing.T) {
	usual := "[sm context] Context at 66%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near."
	for own, want := range map[string]string{
		"At {{.Percent}}%. Hand over now.": "", "At {{.Percent}}% (hand over)": usual, "Now!": usual, "a\nb": usual, "[sm x] It's late.": usual,
		"[sm x; id] Late.": usual, "[sm x] Late.": "", "[sm x] [y] Late.": usual,
	} {
		if _, plain := must(t, Messages{Critical: own}).text(KindCritical, Data{Percent: 66}); plain != want {
			t.Errorf("%q: %q, want %q", own, plain, want)
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
