package page

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// agent returns a session in a state, with the number of replies left; below 0 for unknown.
func agent(name, state, pressure string, ratio, left float64) *api.Session {
	s := &api.Session{
		ID:            name,
		Name:          name,
		State:         state,
		Enabled:       true,
		Reachable:     true,
		PressureLevel: pressure,
	}
	if pressure != "" {
		s.Pressure = &ratio
	}
	if left >= 0 {
		s.Forecast = &api.Forecast{
			Replies: &api.Range{Low: left / 2, Likely: left, High: left * 2},
		}
	}
	return s
}

// TestOrder tests the order of the rows: agents that wait for a person, working ones by the
// replies left, then the idle and the quiet.
func TestOrder(t *testing.T) {
	t.Parallel()
	compacts := agent("compacts", "idle", "", 0, 0)
	compacts.IsCompacting = true
	var rows []*drawn
	for _, s := range []*api.Session{
		agent("quiet", "ended", "imminent", 1, 2),
		agent("idle", "idle", "imminent", 0.99, 2),
		agent("unknown", "busy", "", 0, -1),
		agent("late", "busy", "high", 0.9, 20),
		agent("soon", "busy", "calm", 0.3, 2),
		agent("half", "shell", "calm", 0.5, -1),
		agent("nearly", "busy", "imminent", 0.96, -1),
		agent("sooner by name", "busy", "calm", 0.3, 2),
		agent("waits", "waiting", "calm", 0.1, -1),
		compacts,
	} {
		rows = append(rows, &drawn{session: s, data: dataOf(s)})
	}
	slices.SortFunc(rows, compare)

	var got []string
	for _, r := range rows {
		got = append(got, r.data.Name)
	}
	want := "waits, compacts, soon, sooner by name, nearly, late, half, unknown, idle, quiet"
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFind tests that the filter finds an agent by what its row shows of its state.
func TestFind(t *testing.T) {
	t.Parallel()
	compacts := agent("b", "busy", "", 0, -1)
	compacts.IsCompacting = true
	unreached := agent("d", "busy", "", 0, -1)
	unreached.Reachable = false
	for want, s := range map[string]*api.Session{
		"at work":    agent("a", "busy", "", 0, -1),
		"compacting": compacts,
		"waiting":    agent("c", "waiting", "", 0, -1),
		"no notices": unreached,
	} {
		if find := dataOf(s).Find; !strings.Contains(find, want) || strings.Contains(find, "busy") {
			t.Errorf("%q does not have %q alone", find, want)
		}
	}
}

// TestUnreached tests that an agent at work that no notice can reach is marked.
func TestUnreached(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for change, want := range map[string]bool{
		`{}`:                                  true,
		`{"hook_at": "2026-03-02T12:00:00Z"}`: true, // by a script
		`{"client": "codex"}`:                 true,
		`{"Host": "one"}`:                     true,
		`{"reachable": true}`:                 false,
		`{"enabled": false}`:                  false,
		`{"state": "idle", "is_idle": true}`:  false,
	} {
		s, _ := full()
		s.Reachable = false
		if err := json.Unmarshal([]byte(change), s); err != nil {
			t.Fatal(err)
		}
		if got := p.draw("unreached", s); (got != "") != want {
			t.Errorf("%s: %q", change, got)
		}
	}
}

// TestNoticeText tests that a notice is called confirmed only after the agent has read it,
// and is not mentioned if it cannot reach the agent.
func TestNoticeText(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for change, want := range map[string]string{
		`{}`:                      "notice at 65 % confirmed",
		`{"level": "early_warn"}`: "",
		`{"enabled": false}`:      "",
		`{"tokens_used": null}`:   "",
		`{"reachable": false}`:    "",
		`not read`:                "notice at 65 % not confirmed",
		`no window`:               "notice at 130k not confirmed",
	} {
		s, h := full()
		switch change {
		case "no window":
			s.NoticePercent = 0
			fallthrough
		case "not read":
			s.NoticeRead = false
		default:
			if err := json.Unmarshal([]byte(change), s); err != nil {
				t.Fatal(err)
			}
		}
		html := p.draw("row", row{s, "", sparkOf(s, h)})
		_, html, _ = strings.Cut(html, "; window 200k")
		got, _, _ := strings.Cut(html, "<")
		if got = strings.TrimPrefix(got, "; "); got != want && html != "" {
			t.Errorf("%s: got %q, want %q", change, got, want)
		}
	}
}
