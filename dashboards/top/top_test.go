package top

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

var update = flag.Bool("update", false, "write the screens in testdata anew")

// topNow is the present in these tests.
var topNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// topSession returns a session at work, with more fields in JSON.
func topSession(name string, tokens int64, more string) api.Session {
	s := api.Session{
		ID:             "agent-" + name,
		Name:           name,
		Label:          name,
		TokensUsed:     &tokens,
		UsedPercentage: new(int(tokens * 100 / 200_000)),
		LastActive:     new(topNow.Add(-3 * time.Second)),
	}
	for _, text := range []string{`{"session_id": "11111111-1111-4111-8111-111111111111", "project": "web",
		"model": "claude-sonnet-4-5", "window_tokens": 200000, "window_source": "model", "level": "ok", "cycle": 1,
		"is_active": true, "state": "busy", "enabled": true, "reachable": true, "context_source": "transcript"}`, more} {
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			panic(err)
		}
	}
	if s.ThresholdTokens != nil && s.TokensUsed != nil {
		s.Pressure = new(float64(*s.TokensUsed) / float64(*s.ThresholdTokens))
		switch p := *s.Pressure; {
		case p >= 0.95:
			s.PressureLevel = "imminent"
		case p >= 0.78:
			s.PressureLevel = "high"
		case p >= 0.6:
			s.PressureLevel = "rising"
		default:
			s.PressureLevel = "calm"
		}
	}
	if s.TokensUsed != nil && *s.TokensUsed > 0 {
		for i := range 30 {
			s.Trend = append(
				s.Trend,
				float64(*s.TokensUsed)/float64(s.WindowTokens)*float64(i+10)/39,
			)
		}
	}
	return s
}

// topFleet returns a session of each kind that the list distinguishes.
func topFleet() api.Sessions {
	return api.Sessions{Sessions: []api.Session{
		topSession("web", 104_000, `{"level": "warn", "compaction_threshold_tokens": 167000,
			"compactions": {"auto": 3, "manual": 1}, "cycle": 5, "cost_usd": 4.2, "forecast": {
			"replies": {"low": 25, "likely": 40.4, "high": 70}, "turns": {"low": 2, "likely": 2.4, "high": 9},
			"seconds": {"low": 450, "likely": 720, "high": 1260}}}`),
		topSession("api", 160_000, `{"level": "critical", "compaction_threshold_tokens": 167000, "queued_messages": 2,
			"handoff": "clearing", "project": "api", "compactions": {"auto": 12}, "cycle": 13, "forecast": {
			"replies": {"low": 1, "likely": 1, "high": 3}, "turns": {"low": 1, "likely": 1, "high": 1}}}`),
		topSession("train", 720_000, `{"name": "", "title": "Train the ranking model on last week's clicks",
			"window_tokens": 1000000, "used_percentage": 72, "level": "critical", "model": "claude-opus-4-8",
			"handoff_brake": "breaker"}`),
		topSession(
			"docs",
			150_000,
			`{"compaction_threshold_tokens": 167000, "state": "idle", "is_idle": true}`,
		),
		topSession(
			"fresh",
			0,
			`{"tokens_used": null, "used_percentage": null, "level": "", "is_compacting": true}`,
		),
		topSession(
			"asks",
			30_000,
			`{"state": "waiting", "waiting_for": "permission: Bash", "enabled": false}`,
		),
		topSession("night", 66_000, `{"state": "quiet", "is_idle": true, "is_active": false,
			"last_activity_at": "2026-05-01T10:00:00Z"}`),
		topSession("gone", 190_000, `{"state": "left"}`),
	}}
}

// topScene returns a view of the fleet.
func topScene(width, height int, colour bool) *model {
	t := newModel(colour)
	t.Width = width
	t.height = height
	t.poll(topFleet(), nil, topNow)
	t.selectRow(0)
	return t
}

// TestTopScreens compares the screens, cell by cell.
func TestTopScreens(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, c := range []struct {
		name string
		with func(*model)
	}{
		{"list", nil},
		{"demo", func(x *model) { x.All.Demo = true; x.keys("n") }},
		{"gone", func(x *model) {
			x.All.CatchingUp = true
			x.poll(api.Sessions{}, api.ErrNoObserver, topNow.Add(time.Second))
			x.poll(api.Sessions{}, errors.New("later"), topNow.Add(2*time.Second))
		}},
		{"typing", func(x *model) { x.keys("/", "w", "e") }},
		{"nothing", func(x *model) { x.keys("/", "x", "x", "enter") }},
		{"quiet", func(x *model) { x.keys("x", "r", "c", "r") }},
		{"detail", func(x *model) { x.keys("enter") }},
		{"help", func(x *model) { x.keys("?") }},
		{"money", func(x *model) {
			all := topFleet()
			all.Today = api.Today{Tokens: 12_340_000, CostUSD: new(41.5)}
			all.RateLimits.FiveHour = &api.RateLimit{
				UsedRatio: 0.82,
				ResetsAt:  topNow.Add(2*time.Hour + 5*time.Minute),
			}
			all.RateLimits.SevenDay = &api.RateLimit{
				UsedRatio: 0.07,
				ResetsAt:  topNow.Add(75 * time.Hour),
			}
			x.poll(all, nil, topNow)
		}},
		{"message", func(x *model) {
			x.keys("s")
			x.paste("Look at CI before you go on: the build of main is red since noon.")
		}},
		{"confirm", func(x *model) {
			x.keys("j", "s")
			x.paste(strings.Repeat(
				"Look at CI before you go on: the build of main is red since noon. ",
				3,
			))
			x.keys("enter")
		}},
		{"failed", func(x *model) { x.keys("a") }},
		{"handoffs", func(x *model) {
			x.keys("h")
			x.handed = handedOf("agent-asks", handoffsOfTest(), documentsOfTest())
		}},
		{"central", func(x *model) {
			centralScene(x)
			x.keys("s")
		}},
		{"central-gone", func(x *model) {
			centralScene(x)
			x.poll(
				api.Sessions{},
				errors.New("ask http://metrics.example: connection refused; see whether it runs and whether the address is right"),
				topNow.Add(time.Second),
			)
		}},
		{"central-empty", func(x *model) {
			x.Central = "http://metrics.example"
			x.poll(api.Sessions{}, nil, topNow)
		}},
		{"others", func(x *model) {
			x.poll(api.Sessions{
				Sessions: []api.Session{},
				Others:   7,
			}, nil, topNow)
		}},
	} {
		sizes := [][2]int{{60, 20}, {80, 24}, {200, 50}}
		switch c.name {
		case "list", "detail", "message", "money", "central", "handoffs":
		default: // wide, the other views differ in nothing that these do not show
			sizes = sizes[:2]
		}
		for _, size := range sizes {
			name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				var screens [2]string
				for i, colour := range []bool{false, true} {
					x := topScene(size[0], size[1], colour)
					if c.with != nil {
						c.with(x)
					}
					screens[i] = x.screen()
					checkScreen(t, x, screens[i])
				}
				if plain := ansi.Strip(screens[1]); plain != screens[0] {
					t.Errorf(
						"without colour it is another screen (-coloured +plain):\n%s",
						cmp.Diff(plain, screens[0]),
					)
				}
				goldenScreen(t, name, screens[1])
			})
		}
	}
}

// centralScene shows the fleet as a central server has it: on two machines, and
// a third does not answer.
func centralScene(x *model) {
	all := topFleet()
	for i := range all.Sessions {
		s := &all.Sessions[i]
		s.Host = []string{"one", "build-machine-two.example"}[i%2]
		s.ID = s.Host + "/" + s.Label
		s.Name = ""
		s.Title = ""
	}
	all.Hosts = 3
	all.Down = []string{"three"}
	x.Central = "http://metrics.example"
	x.poll(all, nil, topNow)
}

// keys presses keys; a single character types itself.
func (t *model) keys(keys ...string) (quit bool) {
	for _, k := range keys {
		text := ""
		if len([]rune(k)) == 1 {
			text = k
		}
		quit = t.key(k, text)
	}
	return quit
}

// goldenScreen compares a screen with its golden file, in which ⟨31⟩ begins a
// colour and ⟨⟩ ends it.
func goldenScreen(t *testing.T, name, got string) {
	t.Helper()
	got = regexp.MustCompile("\x1b\\[([0-9;]*)m").ReplaceAllString(got, "⟨$1⟩")
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n") + "\n"
	path := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(got), 0o644),
		); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; run with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// checkScreen checks invariants of every screen.
func checkScreen(t *testing.T, x *model, screen string) {
	t.Helper()
	plain := ansi.Strip(screen)
	if !x.colour && plain != screen {
		t.Error("there are escapes without colour")
	}
	if strings.ContainsFunc(
		plain,
		func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) },
	) {
		t.Errorf("unprintable characters on the screen: %q", plain)
	}
	lines := strings.Split(plain, "\n")
	if len(lines) > max(1, x.height) || x.height == 0 && screen != "" {
		t.Errorf("%d lines on a screen of %d", len(lines), x.height)
	}
	for i, line := range lines {
		if w, wc := ansi.StringWidth(line), ansi.StringWidthWc(line); w > x.Width ||
			wc > x.Width ||
			w != wc {
			t.Errorf(
				"line %d has %d cells, by another count %d, on a screen of %d: %q",
				i,
				w,
				wc,
				x.Width,
				line,
			)
		}
	}
}

// listed returns the names of the sessions in order, the selected one in brackets.
func (t *model) listed() string {
	var names []string
	for i := range t.rows {
		name := t.rows[i].Label
		if t.rows[i].ID == t.selected {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestTopKeys checks what keys do to the list.
func TestTopKeys(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(` → [asks] api web fresh train docs night # who waits, who works by the replies left, the idle, the quiet; left never
r → night docs fresh train web api [asks] # backwards
n → api [asks] docs fresh night train web # by name
r n → api [asks] docs fresh night train web # an order begins forwards
n r → web train night fresh docs [asks] api # by name, backwards
p → api docs web [asks] fresh night train # by pressure; unknown last
p l → api docs web [asks] fresh night train # by replies left; unknown last
n u → [asks] api web fresh train docs night # by urgency again
t → api [asks] docs fresh train web night # by activity
c → api web [asks] docs fresh night train # by compactions
j down → asks api [web] fresh train docs night # down
j k up → [asks] api web fresh train docs night # up, and no further
G j → asks api web fresh train docs [night] # to the end, and no further
pgdown pgdown pgup → [asks] api web fresh train docs night # by pages
j n → [api] asks docs fresh night train web # the selection stays with its agent
x → [asks] api web fresh train docs # without the quiet
x x → [asks] api web fresh train docs night # with them again
/ o C → [docs] # filter by name
/ q u i → [night] # keys type while a filter is typed
/ c l i c k enter → [train] # filter by title
/ o p u s enter → [train] # filter by model
/ i m m i enter → [api] # filter by pressure
/ o x backspace p → [train] # a filter corrected
/ x esc → [asks] api web fresh train docs night # a filter given up
/ x enter esc → [asks] api web fresh train docs night # a filter cleared later
z f5 → [asks] api web fresh train docs night # what is unknown does nothing
`) {
		line, name, _ := strings.Cut(line, " # ")
		keys, want, _ := strings.Cut(line, "→ ")
		x := topScene(80, 24, false)
		if x.keys(strings.Fields(keys)...) {
			t.Errorf("%s it ends", name)
		}
		if got := x.listed(); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// TestTopQuits checks that q and Ctrl-C end the view everywhere, except that q
// can be typed into a filter.
func TestTopQuits(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]bool{
		"q":        true,
		"ctrl+c":   true,
		"enter q":  true,
		"? q":      true,
		"/ q":      false,
		"/ ctrl+c": true,
		"esc":      false,
		"? x":      false,
	} {
		if got := topScene(80, 24, false).keys(strings.Fields(keys)...); got != want {
			t.Errorf("%v: got %v, want %v", keys, got, want)
		}
	}
}

// TestTopDetail checks that the detail stays with its agent, and scrolls to its
// end and no further.
func TestTopDetail(t *testing.T) {
	t.Parallel()
	x := topScene(80, 12, false)
	x.keys("j", "enter")
	if s := x.screen(); !strings.HasPrefix(s, "api ") {
		t.Errorf("got %s", s)
	}
	x.keys("down", "down", "down", "pgdown", "pgdown", "pgdown", "pgdown")
	if s := x.screen(); !strings.Contains(s, "last activity") ||
		strings.Count(s, "\n") != 11 {
		t.Errorf("got %s", s)
	}
	x.poll(api.Sessions{}, nil, topNow.Add(time.Second))
	if s := x.screen(); !strings.Contains(s, "this agent is gone") {
		t.Errorf("got %s", s)
	}
	x.keys("esc")
	if s := x.screen(); !strings.Contains(s, "no agents yet") {
		t.Errorf("got %s", s)
	}
}

// TestTopScrolls checks that the selected row is always on the screen.
func TestTopScrolls(t *testing.T) {
	t.Parallel()
	x := newModel(false)
	x.Width = 80
	x.height = 10
	var all api.Sessions
	for i := range 40 {
		all.Sessions = append(all.Sessions, topSession(fmt.Sprintf("n%02d", i), 1000, "{}"))
	}
	x.poll(all, nil, topNow)
	for i := range 40 {
		if s := x.screen(); !strings.Contains(s, fmt.Sprintf("› web     n%02d ", i)) {
			t.Fatalf("row %d:\n%s", i, s)
		}
		x.keys("j")
	}
	x.keys("g")
	if s := x.screen(); !strings.Contains(s, "› web     n00 ") ||
		!strings.Contains(s, "1–7 of 40") {
		t.Errorf("got %s", s)
	}
	x.height = 50
	if s := x.screen(); !strings.Contains(s, " n39 ") {
		t.Errorf("got %s", s)
	}
}

// TestMouse checks that the wheel and a click select, and that a second click opens.
func TestMouse(t *testing.T) {
	t.Parallel()
	x := topScene(80, 24, false)
	p := teaModel{model: x}
	p.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
	p.View()
	for y, want := range []string{"fresh", "fresh", "asks", "api", "web"} {
		p.Update(tea.MouseClickMsg{Y: y, Button: tea.MouseLeft})
		if got := x.session().Name; got != want || x.view != viewList {
			t.Errorf("line %d selects %s, want %s", y, got, want)
		}
	}
	if p.Update(tea.MouseClickMsg{Y: 4, Button: tea.MouseLeft}); x.view != viewDetail {
		t.Error("a second click does not open the agent")
	}
	x.keys("esc", "/", "e")
	p.View()
	p.Update(tea.MouseClickMsg{Y: 2, Button: tea.MouseLeft})
	p.View()
	p.Update(tea.MouseClickMsg{Y: 2, Button: tea.MouseLeft})
	if x.keys("esc"); x.view != viewList || x.Filter != "e" {
		t.Errorf("after a click while a filter is typed esc leaves view %d, filter %q", x.view, x.Filter)
	}
}

// TestTopGone checks that the last answer stays while there is no observer.
func TestTopGone(t *testing.T) {
	t.Parallel()
	x := topScene(80, 24, false)
	before := x.listed()
	for i := range 3 {
		x.poll(api.Sessions{}, api.ErrNoObserver, topNow.Add(time.Duration(i)*time.Second))
	}
	if x.listed() != before ||
		!strings.Contains(
			x.screen(),
			"observer gone since "+topNow.Local().Format(time.TimeOnly),
		) {
		t.Errorf("got %s", x.screen())
	}
	x.poll(topFleet(), nil, topNow.Add(4*time.Second))
	if x.listed() != before || strings.Contains(x.screen(), "observer gone") {
		t.Errorf("got %s", x.screen())
	}
}

// TestTrend checks that the newest size is at the right, the whole height is the
// window, and unknown sizes are blank.
func TestTrend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		trend []float64
		want  string
	}{
		{6, []float64{0, 0.125, 0.13, 0.5, 1, 1.2}, "▁▁▂▄██"},
		{6, []float64{0.5, 1}, "    ▄█"},
		{2, []float64{0.1, 0.5, 1}, "▄█"},
		{3, nil, "   "},
		{0, []float64{1}, ""},
	} {
		at := place{Session: &api.Session{Trend: c.trend}, Width: c.width}
		if got := ansi.Strip(trend(at, 1)[0]); got != c.want {
			t.Errorf("%v in %d cells: got %q, want %q", c.trend, c.width, got, c.want)
		}
	}
}
