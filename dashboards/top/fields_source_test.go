package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// TestNoticesField checks that an agent at work that no notice can reach is marked.
func TestNoticesField(t *testing.T) {
	t.Parallel()
	const none = "none, as no hook of its client was seen in this session; run sm install, and give it a prompt"
	for more, want := range map[string]string{
		`{}`: "",
		`{"reachable": false, "hook_at": "2026-05-01T12:00:00Z"}`: none, // by a script
		`{"reachable": false, "client": "codex"}`:                 none,
		`{"reachable": false, "Host": "one"}`:                     none,
		`{"reachable": false, "state": "idle"}`:                   "",
		`{"reachable": false, "enabled": false}`:                  "off",
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

// TestMixedFleet checks that a list marks the agents at work that no notice can reach, and
// counts them, where others get notices; while only watching there is one line for all.
func TestMixedFleet(t *testing.T) {
	t.Parallel()
	unreached := topSession("api", 1000, `{"reachable": false}`)
	for _, c := range []struct {
		all    api.Sessions
		line   string
		marked bool
	}{
		{api.Sessions{Sessions: []api.Session{topSession("web", 1000, `{}`)}}, "", false},
		{
			api.Sessions{Sessions: []api.Session{topSession("web", 1000, `{}`), unreached}},
			"No notices reach 1 of the agents at work: run sm install, and give them a prompt.",
			true,
		},
		{
			api.Sessions{Sessions: []api.Session{unreached}, NotWarned: true},
			api.NotWarnedNotice,
			false,
		},
	} {
		if got := urgency.Notices(&c.all); got != c.line {
			t.Errorf("got %q, want %q", got, c.line)
		}
		var list strings.Builder
		if err := (Table{Width: 200, Mixed: !c.all.NotWarned}).Write(&list, c.all.Sessions, topNow); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(list.String(), "no notices") != c.marked {
			t.Errorf("got %s", list.String())
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
