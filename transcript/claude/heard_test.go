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

func TestHeard(t *testing.T) {
	type want struct {
		Kind transcript.Kind
		Text string
	}
	long := strings.Repeat("x", 2000)
	tests := map[string]struct {
		line string
		want want
	}{
		"hook's context in a list": {
			`{"type":"attachment","attachment":{"type":"hook_additional_context","content":["one","t\u0077o"]}}`,
			want{transcript.KindHeard, "one\ntwo"},
		},
		"hook's context as a string": {
			`{"type":"attachment","attachment":{"content":"one","type":"hook_additional_context"}}`,
			want{transcript.KindHeard, "one"},
		},
		"hook's context without any": {
			`{"type":"attachment","attachment":{"type":"hook_additional_context"}}`,
			want{transcript.KindHeard, ""},
		},
		"hook's context, before type": {
			`{"attachment":{"type":"hook_additional_context","content":["one"]},"type":"attachment"}`,
			want{transcript.KindHeard, "one"},
		},
		"long context": {
			`{"type":"attachment","attachment":{"type":"hook_additional_context","content":["` + long + `"]}}`,
			want{transcript.KindHeard, long[:1024]},
		},
		"other attachment": {
			`{"type":"attachment","attachment":{"type":"skill_listing","content":["one"]}}`,
			want{},
		},
		"attachment of no object": {`{"type":"attachment","attachment":"hook_additional_context"}`, want{}},
		"attachment of another type": {
			`{"type":"user","attachment":{"type":"hook_additional_context","content":["one"]}}`,
			want{},
		},
		"prompt of ours": {
			prompted("a", `"[sm 7] time to write"`),
			want{transcript.KindTurnStart, "[sm 7] time to write"},
		},
		"prompt of ours in blocks": {
			prompted("a", `[{"type":"text","text":"[sm 7]"},{"type":"text","text":"more"}]`),
			want{transcript.KindTurnStart, "[sm 7]\nmore"},
		},
		"prompt that mentions it": {prompted("a", `"say [sm 7]"`), want{transcript.KindTurnStart, ""}},
		"resume prompt": {
			prompted("a", `"Read /home/dev/a b.md and continue from where you left off."`),
			want{transcript.KindTurnStart, "Read /home/dev/a b.md and continue from where you left off."},
		},
		"resume prompt, newline": {
			prompted("a", `"Read x and continue from where you left off.\n"`),
			want{transcript.KindTurnStart, "Read x and continue from where you left off.\n"},
		},
		"resume prompt with more": {
			prompted("a", `"Read x and continue from where you left off. Then stop."`),
			want{transcript.KindTurnStart, ""},
		},
		"resume prompt with messages": {
			prompted("a", `"Read /x and continue from where you left off.\n[sm from web] Hi. #a1b2c3"`),
			want{transcript.KindTurnStart, "Read /x and continue from where you left off.\n[sm from web] Hi. #a1b2c3"},
		},
		"resume prompt with long messages": {prompted(
			"a",
			`"Read /x and continue from where you left off.\n[sm from web] `+long+` #a1b2c3\n[sm from em] `+long+` #d4e5f6"`,
		),
			want{
				transcript.KindTurnStart,
				"Read /x and continue from where you left off.\n[sm from web] " + long[:38] + "xxxxxxxx #a1b2c3\n[sm from em] " + long[:39] + "xxxxxxxx #d4e5f6",
			}},
		"long resume prompt with messages": {prompted(
			"a",
			`"Read /`+long+` and continue from where you left off.\n[sm from web] Hi. #a1b2c3"`,
		),
			want{
				transcript.KindTurnStart,
				"Read /" + long[:1002] + "re you left off." + "\n[sm from web] Hi. #a1b2c3",
			}},
		"prompt of many messages": {
			prompted("a", `"[sm x]`+strings.Repeat(`\n[sm `+long[:300], 20)+`"`),
			want{transcript.KindTurnStart, "[sm x]" + strings.Repeat("\n[sm "+long[:64], 8)},
		},
		"queued": {
			`{"type":"queue-operation","operation":"enqueue","content":"[sm 8] queued"}`,
			want{transcript.KindHeard, "[sm 8] queued"},
		},
		"queued, not ours": {`{"type":"queue-operation","operation":"enqueue","content":"hello"}`, want{}},
		"taken from the queue": {
			`{"type":"queue-operation","operation":"dequeue","content":"[sm 8] queued"}`,
			want{},
		},
		"queue without content": {`{"type":"queue-operation","operation":"enqueue"}`, want{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var e transcript.Entry
			if err := Scan([]byte(test.line), &e); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(test.want, want{e.Kind, e.Text}); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestHeardTextIsItsOwn: the line's buffer is used again.
func TestHeardTextIsItsOwn(t *testing.T) {
	line := []byte(prompted("a", `"[sm 7] time to write"`))
	var e transcript.Entry
	if err := Scan(line, &e); err != nil {
		t.Fatal(err)
	}
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
		some := [3]string{parts[r.IntN(len(parts))], parts[r.IntN(len(parts))], parts[r.IntN(len(parts))]}
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
		if err := json.Unmarshal([]byte(content), &list); err != nil {
			t.Fatal(err)
		}
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
