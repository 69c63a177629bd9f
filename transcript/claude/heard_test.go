package claude

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
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
		"hook's context in a list":    {`{"type":"attachment","attachment":{"type":"hook_additional_context","content":["one","t\u0077o"]}}`, want{transcript.KindHeard, "one\ntwo"}},
		"hook's context as a string":  {`{"type":"attachment","attachment":{"content":"one","type":"hook_additional_context"}}`, want{transcript.KindHeard, "one"}},
		"hook's context without any":  {`{"type":"attachment","attachment":{"type":"hook_additional_context"}}`, want{transcript.KindHeard, ""}},
		"hook's context, before type": {`{"attachment":{"type":"hook_additional_context","content":["one"]},"type":"attachment"}`, want{transcript.KindHeard, "one"}},
		"long context":                {`{"type":"attachment","attachment":{"type":"hook_additional_context","content":["` + long + `"]}}`, want{transcript.KindHeard, long[:1024]}},
		"other attachment":            {`{"type":"attachment","attachment":{"type":"skill_listing","content":["one"]}}`, want{}},
		"attachment of no object":     {`{"type":"attachment","attachment":"hook_additional_context"}`, want{}},
		"attachment of another type":  {`{"type":"user","attachment":{"type":"hook_additional_context","content":["one"]}}`, want{}},
		"prompt of ours":              {prompted("a", `"[sm 7] time to write"`), want{transcript.KindTurnStart, "[sm 7] time to write"}},
		"prompt of ours in blocks":    {prompted("a", `[{"type":"text","text":"[sm 7]"},{"type":"text","text":"more"}]`), want{transcript.KindTurnStart, "[sm 7]\nmore"}},
		"prompt that mentions it":     {prompted("a", `"say [sm 7]"`), want{transcript.KindTurnStart, ""}},
		"resume prompt":               {prompted("a", `"Read /home/dev/a b.md and continue from where you left off."`), want{transcript.KindTurnStart, "Read /home/dev/a b.md and continue from where you left off."}},
		"resume prompt, newline":      {prompted("a", `"Read x and continue from where you left off.\n"`), want{transcript.KindTurnStart, "Read x and continue from where you left off.\n"}},
		"resume prompt with more":     {prompted("a", `"Read x and continue from where you left off. Then stop."`), want{transcript.KindTurnStart, ""}},
		"resume prompt with messages": {prompted("a", `"Read /x and continue from where you left off.\n[sm from web] Hi. #a1b2c3"`), want{transcript.KindTurnStart, "Read /x and continue from where you left off.\n[sm from web] Hi. #a1b2c3"}},
		"resume prompt with long messages": {prompted("a", `"Read /x and continue from where you left off.\n[sm from web] `+long+` #a1b2c3\n[sm from em] `+long+` #d4e5f6"`),
			want{transcript.KindTurnStart, "Read /x and continue from where you left off.\n[sm from web] " + long[:38] + "xxxxxxxx #a1b2c3\n[sm from em] " + long[:39] + "xxxxxxxx #d4e5f6"}},
		"long resume prompt with messages": {prompted("a", `"Read /`+long+` and continue from where you left off.\n[sm from web] Hi. #a1b2c3"`),
			want{transcript.KindTurnStart, "Read /" + long[:1002] + "re you left off." + "\n[sm from web] Hi. #a1b2c3"}},
		"prompt of many messages": {prompted("a", `"[sm x]`+strings.Repeat(`\n[sm `+long[:300], 20)+`"`), want{transcript.KindTurnStart, "[sm x]" + strings.Repeat("\n[sm "+long[:64], 8)}},
		"queued":                  {`{"type":"queue-operation","operation":"enqueue","content":"[sm 8] queued"}`, want{transcript.KindHeard, "[sm 8] queued"}},
		"queued, not ours":        {`{"type":"queue-operation","operation":"enqueue","content":"hello"}`, want{}},
		"taken from the queue":    {`{"type":"queue-operation","operation":"dequeue","content":"[sm 8] queued"}`, want{}},
		"queue without content":   {`{"type":"queue-operation","operation":"enqueue"}`, want{}},
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

func TestInstants(t *testing.T) {
	for _, s := range []string{
		"1970-01-01T00:00:00.001Z", "2026-11-20T08:13:30.067Z", "2024-02-29T23:59:59.999Z", "2000-02-29T00:00:00.000Z", "2261-12-31T23:59:59.999Z",
		"2026-01-31T00:00:00.000Z", "2026-04-30T00:00:00.000Z", "2026-12-31T23:59:59.999Z", "2026-02-28T12:00:00.000Z", "2026-03-01T00:00:00.000Z",
		"2026-11-20T08:13:30Z", "2026-11-20T08:13:30.1Z", "2026-11-20T08:13:30.123456789Z", "2026-11-20T08:13:30.067+05:30", "2026-11-20T23:30:00-02:00",
		"2025-02-29T00:00:00.000Z", "1900-02-29T00:00:00.000Z", "2100-02-29T00:00:00.000Z", "2026-04-31T00:00:00.000Z", "2026-11-31T00:00:00.000Z",
		"2026-13-01T00:00:00.000Z", "2026-00-01T00:00:00.000Z", "2026-01-00T00:00:00.000Z", "2026-01-32T00:00:00.000Z", "2026-01-01T24:00:00.000Z",
		"2026-01-01T00:60:00.000Z", "2026-01-01T00:00:60.000Z", "1969-12-31T23:59:59.999Z", "2262-01-01T00:00:00.000Z", "0000-00-00T00:00:00.000Z",
		"2026-11-20 08:13:30.067Z", "2026-11-20T08:13:30,067Z", "2026-11-20t08:13:30.067z", "2026-11-2aT08:13:30.067Z", "-026-11-20T08:13:30.067Z",
		"", "now", "1795169550", "2026-11-20T08:13:30.067", "2026-11-20T08:13:30.067ZZ",
	} {
		if got := instant(text{1, uint32(len(s) + 1)}, []byte(`"`+s+`"`)); got != when(s) {
			t.Errorf("%q: %d, want %d", s, got, when(s))
		}
	}
	day := time.Date(1970, 1, 1, 11, 12, 13, 14e6, time.UTC)
	for ; day.Year() < 2262; day = day.AddDate(0, 0, 1) {
		s := day.Format("2006-01-02T15:04:05.000Z")
		if got := instant(text{1, uint32(len(s) + 1)}, []byte(`"`+s+`"`)); got.Time() != day {
			t.Fatalf("%s: %s", s, got.Time())
		}
	}
}
