package top

import (
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

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

var update = flag.Bool("update", false, "write the screens in testdata anew")

// topNow is when the sessions of these tests are looked at.
var topNow = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// topSession is a session at work.
func topSession(name string, tokens int64, with func(*api.Session)) api.Session {
	percent := int(tokens * 100 / 200_000)
	active := topNow.Add(-3 * time.Second)
	s := api.Session{
		ID: "agent-" + name, Name: name, Label: name, SessionID: "11111111-1111-4111-8111-111111111111", Project: "web", Model: "claude-sonnet-4-5",
		TokensUsed: &tokens, UsedPercentage: &percent, WindowTokens: 200_000, WindowSource: "model", Level: "ok", Cycle: 1, IsActive: true,
		State: "busy", Enabled: true, LastActive: &active, ContextSource: "transcript",
	}
	if with != nil {
		with(&s)
	}
	if s.ThresholdTokens != nil && s.TokensUsed != nil {
		s.Pressure = new(float64(*s.TokensUsed) / float64(*s.ThresholdTokens))
		for _, l := range []struct {
			from float64
			name string
		}{{0, "calm"}, {0.6, "rising"}, {0.78, "high"}, {0.95, "imminent"}} {
			if *s.Pressure >= l.from {
				s.PressureLevel = l.name
			}
		}
	}
	if s.TokensUsed != nil && *s.TokensUsed > 0 {
		for i := range 30 {
			s.Trend = append(s.Trend, float64(*s.TokensUsed)/float64(s.WindowTokens)*float64(i+10)/39)
		}
	}
	return s
}

// topFleet has a session of each kind that the list tells apart.
func topFleet() api.Sessions {
	return api.Sessions{Sessions: []api.Session{
		topSession("web", 104_000, func(s *api.Session) {
			s.Level, s.ThresholdTokens, s.Compactions, s.Cycle = "warn", new(int64(167_000)), api.Compactions{Auto: 3, Manual: 1}, 5
			s.CostUSD = new(4.2)
			s.Forecast = &api.Forecast{Replies: &api.Range{Low: 25, Likely: 40.4, High: 70}, Turns: &api.Range{Low: 2, Likely: 2.4, High: 9}, Seconds: &api.Range{Low: 450, Likely: 720, High: 1260}}
		}),
		topSession("api", 160_000, func(s *api.Session) {
			s.Level, s.ThresholdTokens, s.Queued, s.Handoff, s.Project = "critical", new(int64(167_000)), 2, "clearing", "api"
			s.Compactions.Auto, s.Cycle = 12, 13
			s.Forecast = &api.Forecast{Replies: &api.Range{Low: 1, Likely: 1, High: 3}, Turns: &api.Range{Low: 1, Likely: 1, High: 1}}
		}),
		topSession("train", 720_000, func(s *api.Session) {
			s.Name, s.Title = "", "Train the ranking model on last week's clicks"
			s.WindowTokens, s.UsedPercentage, s.Level, s.Model, s.Brake = 1_000_000, new(72), "critical", "claude-opus-4-8", "breaker"
		}),
		topSession("docs", 150_000, func(s *api.Session) { s.ThresholdTokens, s.State, s.IsIdle = new(int64(167_000)), "idle", true }),
		topSession("fresh", 0, func(s *api.Session) {
			s.TokensUsed, s.UsedPercentage, s.Level, s.IsCompacting, s.State = nil, nil, "", true, "busy"
		}),
		topSession("asks", 30_000, func(s *api.Session) { s.State, s.WaitingFor, s.Enabled = "waiting", "permission: Bash", false }),
		topSession("night", 66_000, func(s *api.Session) {
			s.State, s.IsIdle, s.IsActive, s.LastActive = "quiet", true, false, new(topNow.Add(-2*time.Hour))
		}),
		topSession("gone", 190_000, func(s *api.Session) { s.State = "left" }),
	}}
}

// topScene is a top that has seen the fleet once.
func topScene(width, height int, colour bool) *model {
	t := newModel(colour)
	t.width, t.height = width, height
	t.poll(topFleet(), nil, topNow)
	t.selectRow(0)
	return t
}

// TestTopScreens: what is on the screen, cell by cell.
func TestTopScreens(t *testing.T) {
	t.Setenv("TZ", "UTC")
	for _, c := range []struct {
		name string
		with func(*model)
	}{
		{"list", nil},
		{"demo", func(x *model) { x.all.Demo = true; x.keys("n") }},
		{"gone", func(x *model) {
			x.all.CatchingUp = true
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
			all.RateLimits.FiveHour = &api.RateLimit{UsedRatio: 0.82, ResetsAt: topNow.Add(2*time.Hour + 5*time.Minute)}
			all.RateLimits.SevenDay = &api.RateLimit{UsedRatio: 0.07, ResetsAt: topNow.Add(75 * time.Hour)}
			x.poll(all, nil, topNow)
		}},
		{"message", func(x *model) {
			x.keys("s")
			x.paste("Look at CI before you go on: the build of main is red since noon.")
		}},
		{"confirm", func(x *model) {
			x.keys("j", "s")
			x.paste(strings.Repeat("Look at CI before you go on: the build of main is red since noon. ", 3))
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
			x.poll(api.Sessions{}, errors.New("ask http://metrics.example: connection refused; see whether it runs and whether the address is right"), topNow.Add(time.Second))
		}},
		{"central-empty", func(x *model) {
			x.central = "http://metrics.example"
			x.poll(api.Sessions{}, nil, topNow)
		}},
		{"others", func(x *model) { x.poll(api.Sessions{Sessions: []api.Session{}, Others: 7}, nil, topNow) }},
	} {
		for _, size := range [][2]int{{60, 20}, {80, 24}, {200, 50}} {
			for _, colour := range []bool{false, true} {
				name := fmt.Sprintf("%s-%dx%d", c.name, size[0], size[1])
				if colour {
					name += "-colour"
				}
				t.Run(name, func(t *testing.T) {
					x := topScene(size[0], size[1], colour)
					if c.with != nil {
						c.with(x)
					}
					got := x.screen()
					checkScreen(t, x, got)
					goldenScreen(t, name, got)
				})
			}
		}
	}
}

// centralScene shows the fleet as a central server has it: two machines, and one does not answer.
func centralScene(x *model) {
	all := topFleet()
	for i := range all.Sessions {
		s := &all.Sessions[i]
		s.Host = []string{"one", "build-machine-two.example"}[i%2]
		s.ID, s.Name, s.Title = s.Host+"/"+s.Label, "", ""
	}
	all.Hosts, all.Down = 3, []string{"three"}
	x.central = "http://metrics.example"
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

// goldenScreen compares a screen with the one that is kept. Colours stand there as ⟨31⟩, ends as ⟨⟩.
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
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
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

// checkScreen holds a screen to what must be true of any.
func checkScreen(t *testing.T, x *model, screen string) {
	t.Helper()
	plain := ansi.Strip(screen)
	if !x.colour && plain != screen {
		t.Error("there are escapes without colour")
	}
	if strings.ContainsFunc(plain, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("what does not print is on the screen: %q", plain)
	}
	lines := strings.Split(plain, "\n")
	if len(lines) > max(1, x.height) || x.height == 0 && screen != "" {
		t.Errorf("%d lines on a screen of %d", len(lines), x.height)
	}
	for i, line := range lines {
		if w, wc := ansi.StringWidth(line), ansi.StringWidthWc(line); w > x.width || wc > x.width || w != wc {
			t.Errorf("line %d has %d cells, by another count %d, on a screen of %d: %q", i, w, wc, x.width, line)
		}
	}
}

// listed are the names of the sessions, as they stand, with the selected one in brackets.
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

// TestTopKeys: what keys do to the list.
func TestTopKeys(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
		want string
	}{
		{"who waits, who works by the replies left, the idle, the quiet; left never", nil, "[asks] api web fresh train docs night"},
		{"backwards", []string{"r"}, "night docs fresh train web api [asks]"},
		{"by name", []string{"n"}, "api [asks] docs fresh night train web"},
		{"an order begins forwards", []string{"r", "n"}, "api [asks] docs fresh night train web"},
		{"by name, backwards", []string{"n", "r"}, "web train night fresh docs [asks] api"},
		{"by pressure; unknown last", []string{"p"}, "api docs web [asks] fresh night train"},
		{"by replies left; unknown last", []string{"p", "l"}, "api docs web [asks] fresh night train"},
		{"by urgency again", []string{"n", "u"}, "[asks] api web fresh train docs night"},
		{"by activity", []string{"t"}, "api [asks] docs fresh train web night"},
		{"by compactions", []string{"c"}, "api web [asks] docs fresh night train"},
		{"down", []string{"j", "down"}, "asks api [web] fresh train docs night"},
		{"up, and no further", []string{"j", "k", "up"}, "[asks] api web fresh train docs night"},
		{"to the end, and no further", []string{"G", "j"}, "asks api web fresh train docs [night]"},
		{"by pages", []string{"pgdown", "pgdown", "pgup"}, "[asks] api web fresh train docs night"},
		{"the selection stays with its agent", []string{"j", "n"}, "[api] asks docs fresh night train web"},
		{"without the quiet", []string{"x"}, "[asks] api web fresh train docs"},
		{"with them again", []string{"x", "x"}, "[asks] api web fresh train docs night"},
		{"filter by name", []string{"/", "o", "C"}, "[docs]"},
		{"keys type while a filter is typed", []string{"/", "q", "u", "i"}, "[night]"},
		{"filter by title", []string{"/", "c", "l", "i", "c", "k", "enter"}, "[train]"},
		{"filter by model", []string{"/", "o", "p", "u", "s", "enter"}, "[train]"},
		{"filter by pressure", []string{"/", "i", "m", "m", "i", "enter"}, "[api]"},
		{"a filter corrected", []string{"/", "o", "x", "backspace", "p"}, "[train]"},
		{"a filter given up", []string{"/", "x", "esc"}, "[asks] api web fresh train docs night"},
		{"a filter cleared later", []string{"/", "x", "enter", "esc"}, "[asks] api web fresh train docs night"},
		{"what is unknown does nothing", []string{"z", "f5"}, "[asks] api web fresh train docs night"},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := topScene(80, 24, false)
			if x.keys(c.keys...) {
				t.Error("it ends")
			}
			if got := x.listed(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestTopQuits: q and Ctrl-C end it from everywhere but a filter that is typed, which q is part of.
func TestTopQuits(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want bool
	}{
		{[]string{"q"}, true}, {[]string{"ctrl+c"}, true}, {[]string{"enter", "q"}, true}, {[]string{"?", "q"}, true},
		{[]string{"/", "q"}, false}, {[]string{"/", "ctrl+c"}, true}, {[]string{"esc"}, false}, {[]string{"?", "x"}, false},
	} {
		if got := topScene(80, 24, false).keys(c.keys...); got != c.want {
			t.Errorf("%v: %v, want %v", c.keys, got, c.want)
		}
	}
}

// TestTopDetail: the detail stays with its agent, tells all of it, and scrolls no further than its end.
func TestTopDetail(t *testing.T) {
	x := topScene(80, 12, false)
	x.keys("j", "enter")
	if s := x.screen(); !strings.HasPrefix(s, "api ") {
		t.Errorf("%s", s)
	}
	x.keys("down", "down", "down", "pgdown", "pgdown", "pgdown", "pgdown")
	if s := x.screen(); !strings.Contains(s, "last activity") || strings.Count(s, "\n") != 11 {
		t.Errorf("%s", s)
	}
	x.poll(api.Sessions{}, nil, topNow.Add(time.Second))
	if s := x.screen(); !strings.Contains(s, "this session is gone") {
		t.Errorf("%s", s)
	}
	x.keys("esc")
	if s := x.screen(); !strings.Contains(s, "no sessions yet") {
		t.Errorf("%s", s)
	}
}

// TestTopScrolls: the selected row is on every screen.
func TestTopScrolls(t *testing.T) {
	x := newModel(false)
	x.width, x.height = 80, 10
	var all api.Sessions
	for i := range 40 {
		all.Sessions = append(all.Sessions, topSession(fmt.Sprintf("n%02d", i), 1000, nil))
	}
	x.poll(all, nil, topNow)
	for i := range 40 {
		if s := x.screen(); !strings.Contains(s, fmt.Sprintf("› web       n%02d ", i)) {
			t.Fatalf("row %d:\n%s", i, s)
		}
		x.keys("j")
	}
	x.keys("g")
	if s := x.screen(); !strings.Contains(s, "› web       n00 ") || !strings.Contains(s, "1–7 of 40") {
		t.Errorf("%s", s)
	}
	x.height = 50
	if s := x.screen(); !strings.Contains(s, " n39 ") {
		t.Errorf("%s", s)
	}
}

// TestTopGone: while there is no observer, what it said stands there, and since when.
func TestTopGone(t *testing.T) {
	x := topScene(80, 24, false)
	before := x.listed()
	for i := range 3 {
		x.poll(api.Sessions{}, api.ErrNoObserver, topNow.Add(time.Duration(i)*time.Second))
	}
	if x.listed() != before || !strings.Contains(x.screen(), "observer gone since "+topNow.Local().Format(time.TimeOnly)) {
		t.Errorf("%s", x.screen())
	}
	x.poll(topFleet(), nil, topNow.Add(4*time.Second))
	if x.listed() != before || strings.Contains(x.screen(), "observer gone") {
		t.Errorf("%s", x.screen())
	}
}

// TestTrend: the newest stands at the right, the whole height is the window, and what is not known is blank.
func TestTrend(t *testing.T) {
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
		if got := ansi.Strip(trendCell(nil, &api.Session{Trend: c.trend}, c.width)); got != c.want {
			t.Errorf("%v in %d cells: got %q, want %q", c.trend, c.width, got, c.want)
		}
	}
}

// TestPlaceColumns: columns leave by their rank, and what is left is shared out.
func TestPlaceColumns(t *testing.T) {
	for _, c := range []struct {
		width int
		want  string
	}{
		{5, ""},
		{12, "NAME"},
		{40, "NAME CONTEXT USED REPLIES"},
		{58, "NAME CONTEXT USED REPLIES CMP STATE FLAGS"},
		{78, "PROJECT NAME CONTEXT USED TREND REPLIES CMP STATE FLAGS"},
		{198, "PROJECT NAME ID CONTEXT USED TOKENS TREND REPLIES CMP STATE CYCLE FLAGS SEEN COST MODEL"},
	} {
		var names []string
		used := -1
		for _, p := range placeColumns(columns(), c.width, 1) {
			names = append(names, p.title)
			used += p.width + 1
		}
		if got := strings.Join(names, " "); got != c.want || used > c.width {
			t.Errorf("%d: %q in %d cells, want %q", c.width, got, used, c.want)
		}
	}
}
