package clients_test

import (
	"testing"

	"sm/transcript"
	"sm/transcript/clients/clientstest"
)

func TestFormatOf(t *testing.T) {
	const id = "01a200a2-c691-7de0-a325-4ece90591c2c"
	for _, c := range []struct{ path, head, want string }{
		{"/x/rollout-2026-11-22T00-23-17-" + id + ".jsonl", "", "codex"},
		{"/x/rollout-2026-11-22T00-23-17-" + id + ".jsonl.zst", "", "codex"},
		{
			"/x/copy.jsonl",
			`{"timestamp":"2026-11-22T00:23:18.067Z","ordinal":0,"type":"session_meta","payload":{`,
			"codex",
		},
		{
			"/x/copy.jsonl",
			`{"type":"user","message":{"content":"\"type\":\"session_meta\""}}`,
			"claude",
		},
		{"/x/" + id + ".jsonl", `{"type":"user"}`, "claude"},
		{"/x/" + id + ".jsonl", "", "claude"},
	} {
		if got := clientstest.Table().FormatOf(c.path, []byte(c.head)).Client; got != c.want {
			t.Errorf("%s beginning with %q: %s, want %s", c.path, c.head, got, c.want)
		}
	}
}

// TestOf tests that each client computes the window of its own sessions.
func TestOf(t *testing.T) {
	table := clientstest.Table()
	s := &transcript.Session{}
	c := table.Of(s)
	if w := c.WindowOf(s, 0, nil); c.Client != "claude" || w.Tokens != 200_000 {
		t.Errorf("%s: %+v", c.Client, w)
	}
	s.SetParticulars(transcript.Particulars{Client: "codex", Window: 95_000})
	c = table.Of(s)
	if w := c.WindowOf(
		s,
		0,
		nil,
	); c.Client != "codex" || w.Tokens != 95_000 ||
		w.Percent(26_000) != 17 {
		t.Errorf("%s: %+v", c.Client, w)
	}
}
