package claude

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/wording"
)

// TestHeardTextIsItsOwn: the line's buffer is used again.
func TestHeardTextIsItsOwn(t *testing.T) {
	line := []byte(prompted("a", `"[sm 7] time to write"`))
	var e transcript.Entry
	noErrors(t, Scan(line, &e))
	clear(line)
	if e.Text != "[sm 7] time to write" {
		t.Errorf("now %q", e.Text)
	}
}

// TestHeardLongTexts: of what is left out of a long text nothing is kept anyway.
func TestHeardLongTexts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 0))
	heads := []string{
		"[sm message] ",
		"=== HANDOFF LOADED (ID: ",
		"Read /x and continue from where you left off.",
		"Read /x",
		`\u005bsm `,
		"Rea",
		"x",
		"",
		`\n[sm `,
	}
	parts := []string{
		"plain words ",
		`\n`,
		`\\`,
		`\"`,
		`\u0041`,
		`\ud83d\ude00`,
		`\ud83d`,
		`\ude00`,
		"é",
		"😀",
		"\xff",
		"\xf0\x9f",
		`\n[sm a] `,
		strings.Repeat("x", 90),
		strings.Repeat(`\t`, 40),
		strings.Repeat(`\u00e9`, 30),
	}
	text := func() string {
		var b strings.Builder
		b.WriteString(heads[r.IntN(len(heads))])
		some := [3]string{
			parts[r.IntN(len(parts))],
			parts[r.IntN(len(parts))],
			parts[r.IntN(len(parts))],
		}
		for n := []int{0, 50, 1000, 2000, 6000}[r.IntN(5)]; b.Len() < n+r.IntN(100); {
			b.WriteString(some[r.IntN(len(some))])
		}
		return b.String()
	}
	short := 0
	for round := range 20_000 {
		all := make([]string, 1+r.IntN(3))
		for i := range all {
			all[i] = `"` + text() + `"`
		}
		content := "[" + strings.Join(all, ",") + "]"
		var list, own []string
		noErrors(t, json.Unmarshal([]byte(content), &list))
		for _, s := range list {
			if wording.IsOurs([]byte(s)) {
				own = append(own, s)
			}
		}
		if len(own) == 0 {
			own = list
		}
		if len(all) == 1 && round%2 == 0 {
			content = all[0]
		}
		want := wording.Clip([]byte(strings.Join(own, "\n")))
		if len(want) < wording.HeardBytes {
			short++
		}
		var e transcript.Entry
		if err := Scan(
			[]byte(`{"type":"attachment","attachment":{"type":"hook_additional_context","content":`+content+`}}`),
			&e,
		); err != nil ||
			e.Text != want {
			t.Fatalf("%v (-want +got):\n%s\ncontent %s", err, cmp.Diff(want, e.Text), content)
		}
	}
	if short < 1000 || short > 15_000 {
		t.Errorf("%d short texts", short)
	}
}
