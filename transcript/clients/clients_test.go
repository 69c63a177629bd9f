package clients

import (
	"testing"

	"sm/transcript"
)

func TestFormatOf(t *testing.T) {
	const id = "01a200a2-c691-7de0-a325-4ece90591c2c"
	for _, c := range []struct{ path, head, want string }{
		{"/x/rollout-2026-11-22T00-23-17-" + id + ".jsonl", "", Codex},
		{"/x/rollout-2026-11-22T00-23-17-" + id + ".jsonl.zst", "", Codex},
		{
			"/x/copy.jsonl",
			`{"timestamp":"2026-11-22T00:23:18.067Z","ordinal":0,"type":"session_meta","payload":{`,
			Codex,
		},
		{"/x/copy.jsonl", `{"type":"user","message":{"content":"\"type\":\"session_meta\""}}`, Claude},
		{"/x/" + id + ".jsonl", `{"type":"user"}`, Claude},
		{"/x/" + id + ".jsonl", "", Claude},
	} {
		if got := FormatOf(c.path, []byte(c.head)).Client; got != c.want {
			t.Errorf("%s beginning with %q: %s, want %s", c.path, c.head, got, c.want)
		}
	}
}

// TestWindowOf: each client is asked about its own sessions.
func TestWindowOf(t *testing.T) {
	s := &transcript.Session{}
	if w := WindowOf(s, 0, nil); Of(s) != Claude || w.Tokens != 200_000 {
		t.Errorf("%s: %+v", Of(s), w)
	}
	s.SetParticulars(transcript.Particulars{Client: Codex, Window: 95_000})
	if w := WindowOf(s, 0, nil); Of(s) != Codex || w.Tokens != 95_000 || w.Percent(26_000) != 17 {
		t.Errorf("%s: %+v", Of(s), w)
	}
}
