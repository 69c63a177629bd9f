package top

import (
	"testing"
	"time"

	"sm/observer/api"
)

// TestSourceOfReading checks that a reading of Codex that is not from the
// transcript is said to be from a hook, as Codex has no status line.
func TestSourceOfReading(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := now.Add(-time.Minute)
	for _, c := range []struct{ client, source, want string }{
		{
			"codex",
			"statusline",
			"a hook",
		}, {
			"codex",
			"transcript",
			"transcript",
		}, {
			"claude",
			"statusline",
			"statusline",
		}, {
			"",
			"",
			"transcript",
		},
	} {
		s := api.Session{
			ID:            "a",
			Client:        c.client,
			ContextSource: c.source,
			ReadingAt:     &at,
		}
		got := ""
		for _, f := range Fields(s, now) {
			if f[0] == "last reading" {
				got = f[1]
			}
		}
		if want := "1m ago, by " + c.want; got != want {
			t.Errorf("%s, %s: %q, want %q", c.client, c.source, got, want)
		}
	}
}
