package top

import (
	"slices"
	"testing"
	"time"

	"sm/observer/api"
)

// TestNoticesField checks that an agent at work that no notice can reach is marked.
func TestNoticesField(t *testing.T) {
	t.Parallel()
	const none = "none, as no hook of its client was seen in this session; start it anew after sm install"
	for more, want := range map[string]string{
		`{}`:                                  none,
		`{"hook_at": "2026-05-01T12:00:00Z"}`: none, // by a script
		`{"client": "codex"}`:                 none,
		`{"Host": "one"}`:                     none,
		`{"reachable": true}`:                 "",
		`{"state": "idle"}`:                   "",
		`{"enabled": false}`:                  "off",
	} {
		got := ""
		for _, f := range Fields(topSession("web", 1000, more), topNow) {
			if f[0] == "notices" {
				got = f[1]
			}
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", more, got, want)
		}
	}
}

// TestSourceOfReading checks that a reading of Codex that is not from the transcript is shown
// as from a hook, as Codex has no status line.
func TestSourceOfReading(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	at := now.Add(-time.Minute)
	for _, c := range [][3]string{ // client, source, want
		{"codex", "statusline", "a hook"},
		{"codex", "transcript", "transcript"},
		{"claude", "statusline", "statusline"},
		{"", "", "transcript"},
	} {
		s := api.Session{Client: c[0], ContextSource: c[1], ReadingAt: &at}
		if want := [2]string{
			"last reading",
			"1m ago, by " + c[2],
		}; !slices.Contains(
			Fields(s, now),
			want,
		) {
			t.Errorf("%v: no %q", c, want)
		}
	}
}
