package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the files in testdata anew")
	os.Exit(m.Run())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if f := flag.Lookup("update"); f.Value.String() == "true" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); if that is meant, run go test -update:\n%s", path, diff)
	}
}

func newPage(t testing.TB) *renderer {
	t.Helper()
	p, err := newRenderer(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// noon is when the tests' histories begin.
const noon = 1_772_452_800 // 2026-03-02 12:00 UTC

func point(at, tokens int64) curve.Point { return curve.Point{At: at, Tokens: tokens} }

func first(at, tokens int64) curve.Point {
	return curve.Point{At: at, Tokens: tokens, First: true}
}

func mark(at int64, kind, cause string, tokens int64) curve.Mark {
	return curve.Mark{
		At:     at,
		Kind:   kind,
		Cause:  cause,
		Tokens: tokens,
	}
}

func full() (*api.Session, *curve.History) {
	s := &api.Session{
		ID:              "em",
		Name:            "em",
		Project:         "shop",
		Model:           "claude-sonnet-4-5",
		ParentID:        "lead",
		Enabled:         true,
		Level:           "critical",
		NoticePercent:   65,
		NoticeHeard:     true,
		PressureLevel:   "high",
		Pressure:        new(132_000.0 / 167_000),
		ThresholdSource: "seen",
		TokensUsed:      new(int64(132_000)),
		UsedPercentage:  new(66),
		WindowTokens:    200_000,
		WindowSource:    "model",
		ThresholdTokens: new(int64(167_000)),
		WarningTokens:   100_000,
		CriticalTokens:  130_000,
		Forecast: &api.Forecast{
			Replies: &api.Range{Low: 12, Likely: 21.6, High: 40},
			Turns:   &api.Range{Low: 2, Likely: 3.4, High: 6},
			Seconds: &api.Range{Low: 200, Likely: 600, High: 900},
		},
		Compactions: api.Compactions{Auto: 2, Manual: 1},
		State:       "busy",
		CrossCheck:  "drift",
		DriftTokens: new(int64(-2_150)),
		LastRecord:  time.Unix(noon+3600, 0),
	}
	h := &curve.History{
		Points: []curve.Point{
			point(noon, 20_000),
			point(noon+600, 90_000),
			point(noon+1200, 166_000),
			first(noon+1800, 31_000),
			point(noon+3600, 132_000),
		},
		Marks: []curve.Mark{mark(
			noon+600,
			"warning",
			"",
			104_000,
		), mark(
			noon+1300,
			"compaction",
			"auto",
			167_400,
		), mark(
			noon+2000,
			"handoff",
			"",
			0,
		),
			mark(noon+3000, "no_data", "", 0), mark(noon+3600, "critical", "", 132_000)},
	}
	return s, h
}

// TestRow tests how rows of each kind look.
func TestRow(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	known, past := full()
	estimate, _ := full()
	estimate.ContextSource = "estimate"
	estimate.ThresholdTokens = nil
	estimate.CrossCheck = "agrees"
	estimate.Forecast = nil
	estimate.PressureLevel = ""
	estimate.State = "waiting"
	estimate.WaitingFor = "permission prompt"
	estimate.Enabled = false
	estimate.Storming = true
	beyond, _ := full()
	beyond.Subagents.Active = 3
	beyond.Subagents.MaxContext = 84_000
	beyond.TokensUsed = new(int64(230_000))
	beyond.Forecast.Replies = &api.Range{}
	beyond.IsCompacting = true
	beyond.CrossCheck = "lagging"

	var b strings.Builder
	for _, c := range []struct {
		name    string
		session *api.Session
		past    *curve.History
	}{
		{"all is known", known, past},
		{"little is known", &api.Session{
			ID:      "x",
			Name:    "x",
			State:   "quiet",
			Enabled: true,
		}, &curve.History{}},
		{"unknown since a compaction", &api.Session{
			ID:              "y",
			Name:            "y",
			WindowTokens:    200_000,
			ThresholdTokens: new(int64(150_000)),
			State:           "idle",
			Enabled:         true,
		},
			&curve.History{Points: past.Points[:3], Marks: past.Marks[1:2]}},
		{"an estimate", estimate, &curve.History{Points: past.Points[:1]}},
		{"more than the window holds", beyond, past},
	} {
		html, err := p.draw("row", row{c.session, "", sparkOf(c.session, c.past)})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "<!-- %s -->\n%s", c.name, html)
	}
	golden(t, "rows.golden.html", b.String())
}

// TestDetail tests how an agent looks in full.
func TestDetail(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	s, h := full()
	s.StartedAt = new(time.Unix(noon, 0))
	s.Subagents.Latest = []api.Subagent{
		{
			ID:            "a9f92d45",
			Type:          "Explore",
			ContextTokens: new(int64(84_000)),
			WindowTokens:  200_000,
			PeakTokens:    121_000,
			Compactions:   1,
			LastActive:    time.Unix(noon+3000, 0),
		},
		{ID: "a8f3eb11", WindowTokens: 200_000, Compactions: 2},
	}
	messages := []api.Message{
		{Mode: "urgent", Status: "expired"},
		{
			Mode:   "sequential",
			Text:   "Go.",
			Status: "offered",
			Via:    "restart",
		},
		{
			Kind:   "warning",
			Text:   "50 %",
			Status: "unconfirmed",
			Via:    "tmux",
		},
		{
			Kind:   "critical",
			Text:   "65 %",
			Status: "confirmed",
			Via:    "hook",
		},
		{
			From:     "lead",
			Mode:     "important",
			Text:     "Look at the tests.",
			Status:   "waiting",
			WaitsFor: "hooks",
		},
	}
	for i := range messages {
		messages[i].MadeAt = time.Unix(noon+60, 0)
	}
	d := wire.Detail{Session: *s, History: *h, Messages: messages}
	kid, _ := full()
	kid.ID = "kid"
	kid.Name = "tests"
	known := p.detailOf(&d)
	known.Under = []*api.Session{kid}
	unknown := p.detailOf(&wire.Detail{Problem: "No such agent"})
	unknown.Asked = "nobody"

	var b strings.Builder
	for _, v := range []detail{known, p.detailOf(&wire.Detail{Session: *s}), unknown} {
		html, err := p.draw("detail", v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", html)
	}
	golden(t, "detail.golden.html", b.String())
}

// TestCommands tests that names and folders are words of a shell, and that unknown
// values give no command.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for _, c := range []struct {
		name    string
		session api.Session
		want    []string
	}{
		{"all is known", api.Session{
			ID:         "id",
			Name:       "em's",
			SessionID:  "s1",
			CWD:        "/home/a b",
			TmuxSocket: "/tmp/tmux-0/default",
			Pane:       "%3",
		}, []string{
			`sm send 'em'\''s' 'TEXT'`, "sm handoffs", "tmux -S /tmp/tmux-0/default attach -t %3", "cd '/home/a b' && claude --resume s1",
		}},
		{"little is known", api.Session{ID: "id"}, []string{"sm send id 'TEXT'", "sm handoffs"}},
		{"a name like a flag", api.Session{ID: "id", Name: "--help"}, []string{"sm send id 'TEXT'", "sm handoffs"}},
		{"another client", api.Session{
			ID:        "id",
			Provider:  "codex-app",
			SessionID: "s1",
		}, []string{"sm send id 'TEXT'", "sm handoffs"}},
	} {
		page, err := p.draw("commands", &c.session)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range regexp.MustCompile(`<code>(.*?)</code>`).FindAllStringSubmatch(page, -1) {
			got = append(got, html.UnescapeString(x[1]))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestHead tests what is above the rows while there is much, nothing, or not yet
// anything.
func TestHead(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	list := func() (l wire.List) {
		for i, s := range []*api.Session{
			agent("a", "busy", "calm", 0, -1),
			agent("b", "waiting", "imminent", 0, -1),
			agent("c", "idle", "high", 0, -1),
			agent("d", "quiet", "", 0, -1),
			agent("e", "shell", "rising", 0, -1),
			agent("f", "waiting", "imminent", 0, -1),
		} {
			s.IsCompacting = i == 5
			l.Agents = append(l.Agents, wire.Agent{Session: *s})
		}
		return l
	}
	full := list()
	for i := range full.Agents {
		full.Agents[i].Client = "claude"
	}
	full.Agents[0].Client = "codex"
	full.Head.Demo = true
	full.Head.Today = api.Today{Tokens: 12_300_000, CostUSD: new(4.2)}
	full.Head.RateLimits.FiveHour = &api.RateLimit{UsedRatio: 0.84, ResetsAt: time.Unix(noon+3600, 0)}
	full.Head.RateLimits.SevenDay = &api.RateLimit{UsedRatio: 0.125, ResetsAt: time.Unix(noon+86400, 0)}
	catchingUp := api.Sessions{CatchingUp: true}

	var b strings.Builder
	for _, l := range []wire.List{
		list(),
		full,
		{Head: api.Sessions{Others: 3}, Projects: []string{"/home/dev/.claude/projects"}},
		{Head: catchingUp},
		{Head: catchingUp, Done: 1200, Files: 2300},
		{},
	} {
		html, err := p.draw("head", headOf(&l))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", html)
	}
	golden(t, "head.golden.html", b.String())
}

// TestPolicy: the style and the script that the page carries are those that its policy
// allows, and there is nothing that would need more.
func TestPolicy(t *testing.T) {
	p := newPage(t)
	var b bytes.Buffer
	if err := p.write(&b, &Hub{o: Options{Version: "1.2.3"}}, &snapshot{run: "x", seq: 1}, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllSubmatch(b.Bytes(), -1)
		if len(m) != 1 {
			t.Fatalf("%d elements %s", len(m), name)
		}
		sum := sha256.Sum256(m[0][1])
		if want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(
			p.policy,
			want,
		) {
			t.Errorf("%s is not in %s", want, p.policy)
		}
	}
	for _, part := range []string{
		"default-src 'none'",
		"connect-src 'self'",
		"frame-ancestors 'none'",
		"base-uri 'none'",
		"form-action 'none'",
	} {
		if !strings.Contains(p.policy, part) {
			t.Errorf("%s lacks %s", p.policy, part)
		}
	}
	html := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(b.String(), "")
	for _, odd := range []string{
		" style=",
		" onclick=",
		"javascript:",
		"https://",
		"//cdn",
		"<link rel=\"stylesheet",
		"@import",
	} {
		if strings.Contains(html, odd) {
			t.Errorf("the page has %q", odd)
		}
	}
}
