package page

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	return newRenderer(time.UTC)
}

// noon is the start of the tests' histories.
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
	s := &api.Session{}
	err := json.Unmarshal([]byte(`{"id": "em", "name": "em", "project": "shop", "model": "claude-sonnet-4-5-20250929",
"parent_session_id": "lead", "enabled": true, "reachable": true, "level": "critical", "pressure_level": "high",
"compaction_threshold_source": "seen", "compaction_threshold_tokens": 167000, "tokens_used": 132000,
"used_percentage": 66, "window_tokens": 200000, "window_source": "model", "compactions": {"auto": 2, "manual": 1},
"forecast": {"replies": {"low": 12, "likely": 21.6, "high": 40}, "turns": {"low": 2, "likely": 3.4, "high": 6},
"seconds": {"low": 200, "likely": 600, "high": 900}}, "state": "busy", "cross_check": "drift",
"drift_tokens": -2150}`), s)
	if err != nil {
		panic(err)
	}
	s.Pressure = new(132_000.0 / 167_000)
	s.NoticePercent = 65
	s.NoticeRead = true
	s.WarningTokens = 100_000
	s.CriticalTokens = 130_000
	s.LastRecord = time.Unix(noon+3600, 0)
	h := &curve.History{
		Points: []curve.Point{
			point(noon, 20_000),
			point(noon+600, 90_000),
			point(noon+1200, 166_000),
			first(noon+1800, 31_000),
			point(noon+3600, 132_000),
		},
		Marks: []curve.Mark{
			mark(noon+600, "warning", "", 104_000),
			mark(noon+1300, "compaction", "auto", 167_400),
			mark(noon+2000, "handoff", "", 0),
			mark(noon+3000, "no_data", "", 0),
			mark(noon+3600, "critical", "", 132_000),
		},
	}
	return s, h
}

// TestRow tests rows of each kind.
func TestRow(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	_, past := full()
	var b strings.Builder
	for _, c := range []struct {
		name string
		base string // full or empty
		text string // changed fields, in JSON
		past *curve.History
	}{
		{"all is known", "full", `{}`, past},
		{
			"little is known",
			"",
			`{"id": "x", "name": "x", "state": "quiet", "enabled": true}`,
			&curve.History{},
		},
		{
			"unknown since a compaction", "", `{"id": "y", "name": "y", "window_tokens": 200000,
			"compaction_threshold_tokens": 150000, "state": "idle", "enabled": true}`,
			&curve.History{Points: past.Points[:3], Marks: past.Marks[1:2]},
		},
		{"an estimate", "full", `{"context_source": "estimate", "compaction_threshold_tokens": null,
			"cross_check": "agrees", "forecast": null, "pressure_level": "", "state": "waiting",
			"waiting_for": "permission prompt", "enabled": false}`, &curve.History{
			Points: past.Points[:1],
		}},
		{"more than the window holds", "full", `{"tokens_used": 230000, "is_compacting": true, "cross_check": "lagging",
			"forecast": {"replies": {"low": 0, "likely": 0, "high": 0}}}`, past},
	} {
		session := &api.Session{}
		if c.base == "full" {
			session, _ = full()
		}
		if err := json.Unmarshal([]byte(c.text), session); err != nil {
			t.Fatal(err)
		}
		session.Storming = c.name == "an estimate"
		if session.IsCompacting {
			session.Subagents.Active = 3
			session.Subagents.MaxContext = 84_000
		}
		html := p.draw("row", row{session, "", sparkOf(session, c.past)})
		fmt.Fprintf(&b, "<!-- %s -->\n%s", c.name, html)
	}
	golden(t, "rows.golden.html", b.String())
}

// TestDetail tests the detail of an agent.
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
	var messages []api.Message
	err := json.Unmarshal([]byte(`[
{"delivery_mode": "urgent", "status": "expired"},
{"delivery_mode": "sequential", "text": "Go.", "status": "offered", "via": "restart"},
{"kind": "warning", "text": "50 %", "status": "unconfirmed", "via": "tmux"},
{"kind": "critical", "text": "65 %", "status": "confirmed", "via": "hook"},
{"from": "lead", "delivery_mode": "important", "text": "Look at the tests.", "status": "waiting", "waits_for": "hooks"}
]`), &messages)
	if err != nil {
		t.Fatal(err)
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
		html := p.draw("detail", v)
		fmt.Fprintf(&b, "%s\n", html)
	}
	golden(t, "detail.golden.html", b.String())
}

// TestCommands tests that names and folders are quoted for a shell, and that unknown values
// give no command.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for text, want := range map[string]string{
		`{"id": "id", "name": "em's", "session_id": "s1", "cwd": "/home/a b", "tmux_socket": "/tmp/tmux-0/default", "pane": "%3"}`: `sm send 'em'\''s' 'TEXT'
sm handoffs
tmux -S /tmp/tmux-0/default attach -t %3
cd '/home/a b' && claude --resume s1`,
		`{"id": "id", "client": "codex", "session_id": "s1"}`: "sm send id 'TEXT'\nsm handoffs\ncodex resume s1",
		`{"id": "id"}`:                   "sm send id 'TEXT'\nsm handoffs",
		`{"id": "id", "name": "--help"}`: "sm send id 'TEXT'\nsm handoffs",
	} {
		var session api.Session
		if err := json.Unmarshal([]byte(text), &session); err != nil {
			t.Fatal(err)
		}
		page := p.draw("commands", &session)
		var got []string
		for _, x := range regexp.MustCompile(`<code title=".*?">(.*?)</code>`).FindAllStringSubmatch(
			page,
			-1,
		) {
			got = append(got, html.UnescapeString(x[1]))
		}
		if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestHead tests the part above the rows with many agents, none, and before the first answer.
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
	full.Head.NotWarned = true
	full.Head.Today = api.Today{
		Tokens:       12_300_000,
		CostUSD:      new(4.2),
		EstimatedUSD: new(12.3),
	}
	full.Head.RateLimits.FiveHour = &api.RateLimit{
		UsedRatio: 0.84,
		ResetsAt:  time.Unix(noon+3600, 0),
	}
	full.Head.RateLimits.SevenDay = &api.RateLimit{
		UsedRatio: 0.125,
		ResetsAt:  time.Unix(noon+86400, 0),
	}
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
		html := p.draw("head", headOf(&l))
		fmt.Fprintf(&b, "%s\n", html)
	}
	golden(t, "head.golden.html", b.String())
}

// TestPolicy tests that the page's style and script are those that its policy allows, and
// that nothing needs more.
func TestPolicy(t *testing.T) {
	p := newPage(t)
	page := p.whole(&view{Hub: &Hub{o: Options{Version: "1.2.3"}}}, &snapshot{seq: 1}, "")
	for _, name := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllStringSubmatch(
			page,
			-1,
		)
		if len(m) != 1 {
			t.Fatalf("%d elements %s", len(m), name)
		}
		sum := sha256.Sum256([]byte(m[0][1]))
		if want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(
			p.policy,
			want,
		) {
			t.Errorf("%s is not in %s", want, p.policy)
		}
	}
	for part := range strings.FieldsSeq("default-src frame-ancestors base-uri form-action") {
		if !strings.Contains(p.policy, part+" 'none'") {
			t.Errorf("%s lacks %s 'none'", p.policy, part)
		}
	}
	if !strings.Contains(p.policy, "connect-src 'self'") {
		t.Errorf("%s allows other connections", p.policy)
	}
	html := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(
		page,
		"",
	)
	for odd := range strings.FieldsSeq("style= onclick= javascript: https:// //cdn rel=\"stylesheet @import") {
		if strings.Contains(html, odd) {
			t.Errorf("the page has %q", odd)
		}
	}
}
