package page

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// agent is a session in a state, with so many replies left; below 0 for unknown.
func agent(name, state, pressure string, ratio, left float64) *api.Session {
	s := &api.Session{
		ID:            name,
		Name:          name,
		State:         state,
		Enabled:       true,
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

// TestOrder tests the order of the rows: agents that wait for a person, working ones
// by what is left, then the idle and the quiet.
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

// TestTold: "told at" is shown only after the agent has read the notice.
func TestTold(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for change, want := range map[string]string{
		`{}`:                      "told at 65 %",
		`{"level": "early_warn"}`: "",
		`{"enabled": false}`:      "",
		`{"tokens_used": null}`:   "",
		`not heard`:               "at 65 %",
		`no window`:               "at 130k",
	} {
		s, h := full()
		switch change {
		case "no window":
			s.NoticePercent = 0
			fallthrough
		case "not heard":
			s.NoticeHeard = false
		default:
			if err := json.Unmarshal([]byte(change), s); err != nil {
				t.Fatal(err)
			}
		}
		html := p.draw("row", row{s, "", sparkOf(s, h)})
		_, html, _ = strings.Cut(html, `<td role="cell" class="c-pressure">`)
		_, html, _ = strings.Cut(html, "<small>")
		if got, _, _ := strings.Cut(html, "</small>"); got != want {
			t.Errorf("%s: %q, want %q", change, got, want)
		}
	}
}

// TestNoBareSeparator tests that dots are only between what is shown of an agent.
func TestNoBareSeparator(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for text, want := range map[string]string{
		`{"name": "a", "parent_session_id": "lead"}`:                      "<small>of <bdi>lead</bdi></small>",
		`{"name": "a", "parent_session_id": "lead", "model": "claude-x"}`: "<small><bdi>x</bdi> · of <bdi>lead</bdi></small>",
		`{"id": "a", "title": "tests", "parent_session_id": "lead"}`:      "<small><bdi>a</bdi> · of <bdi>lead</bdi></small>",
	} {
		var s api.Session
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if html := p.draw("row", row{Session: &s}); !strings.Contains(html, want) {
			t.Errorf("no %q in %s", want, html)
		}
	}
}
