package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func newPage(t testing.TB) *Page {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// noon is when the tests' histories begin.
const noon = 1_772_452_800 // 2026-03-02 12:00 UTC

func full() (Row, History) {
	r := Row{
		ID: "em", Name: "em", Project: "shop", Model: "claude-sonnet-4-5", Parent: "lead", Level: "critical", NoticePercent: 65, Heard: true,
		Pressure: "high", Ratio: 132_000.0 / 167_000, Source: "seen",
		Tokens: 132_000, Percent: 66, Window: 200_000, Threshold: 167_000, Warning: 100_000, Critical: 130_000,
		Replies: Range{12, 21.6, 40, true}, Turns: Range{2, 3.4, 6, true}, Work: Range{200, 600, 900, true}, Compactions: [4]int{2, 1, 0},
		State: "busy", Check: "drift", Drift: -2_150, Seen: noon + 3600,
	}
	h := History{
		Points: []Point{{noon, 20_000, false}, {noon + 600, 90_000, false}, {noon + 1200, 166_000, false}, {noon + 1800, 31_000, true}, {noon + 3600, 132_000, false}},
		Marks: []Mark{{noon + 600, "warning", "", 104_000}, {noon + 1300, "compaction", "auto", 167_400}, {noon + 2000, "handoff", "", 0},
			{noon + 3000, "no_data", "", 0}, {noon + 3600, "critical", "", 132_000}},
	}
	return r, h
}

// TestRow: what a row looks like, of each kind.
func TestRow(t *testing.T) {
	p := newPage(t)
	known, past := full()
	estimate := known
	estimate.Estimate, estimate.Threshold, estimate.Check, estimate.Replies, estimate.Pressure, estimate.Ratio = true, 0, "agrees", Range{}, "", 0
	estimate.State, estimate.Waiting, estimate.Silenced, estimate.Storming = "waiting", "permission prompt", true, true
	beyond := known
	beyond.Subagents, beyond.SubagentTokens = 3, 84_000
	beyond.Tokens, beyond.Replies, beyond.Compacting, beyond.Check = 230_000, Range{Known: true}, true, "lagging"
	var b strings.Builder
	for _, c := range []struct {
		name string
		row  Row
		past History
	}{
		{"all is known", known, past},
		{"little is known", Row{ID: "x", Name: "x", State: "quiet"}, History{}},
		{"unknown since a compaction", Row{ID: "y", Name: "y", Window: 200_000, Threshold: 150_000, State: "idle"}, History{Points: past.Points[:3], Marks: past.Marks[1:2]}},
		{"an estimate", estimate, History{Points: past.Points[:1]}},
		{"more than the window holds", beyond, past},
	} {
		html, err := p.Row(&c.row, &c.past)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "<!-- %s -->\n%s", c.name, html)
	}
	golden(t, "rows.golden.html", b.String())
}

// TestDetail: what one agent looks like in full.
func TestDetail(t *testing.T) {
	p := newPage(t)
	r, h := full()
	var b strings.Builder
	known := Detail{
		Row: r, History: h, Facts: []Fact{{Name: "Agent", Value: "em", Copy: true}, {Name: "Started", At: noon}, {Name: "Parent"}},
		Commands: []Command{{"say something to it", "sm send em …"}, {"odd", "sm send a\u202eb"}},
		Under: []Under{
			{ID: "kid", Name: "tests", State: "busy", Pressure: "high", Tokens: 132_000, Window: 200_000, Seen: noon + 3600}, {Name: "a9f92d45", Kind: "Explore", Tokens: 84_000, Window: 200_000, Peak: 121_000, Compactions: 1, Seen: noon + 3000},
			{Name: "a8f3eb11", Window: 200_000, Compactions: 2},
		},
	}
	for _, m := range []Message{
		{From: "lead", What: "important", Text: "Look at the tests.", Fate: "waiting", WaitsFor: "hooks"}, {What: "critical", Text: "65 %", Fate: "confirmed", Way: "hook"},
		{What: "warning", Text: "50 %", Fate: "unconfirmed", Way: "tmux"}, {What: "sequential", Text: "Go.", Fate: "offered", Way: "restart"}, {What: "urgent", Fate: "expired"},
	} {
		m.At = noon + 60
		known.Messages = append(known.Messages, m)
	}
	for _, d := range []Detail{
		known,
		{Row: r},
		{Problem: "No such agent", Asked: "nobody"},
	} {
		html, err := p.Detail(&d)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", html)
	}
	golden(t, "detail.golden.html", b.String())
}

// TestHead: what stands above, while there is much, nothing, or not yet anything.
func TestHead(t *testing.T) {
	p := newPage(t)
	var busy Head
	for _, r := range []Row{
		{State: "busy", Pressure: "calm"}, {State: "waiting", Pressure: "imminent"}, {State: "idle", Pressure: "high"}, {State: "quiet"},
		{State: "shell", Pressure: "rising"}, {State: "waiting", Compacting: true, Pressure: "imminent"},
	} {
		busy.Count(&r)
	}
	want := Head{Agents: 6, States: [4]int{1, 3, 1, 1}, Pressures: [5]int{1, 1, 1, 2, 1}}
	if diff := cmp.Diff(want, busy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	made := busy
	made.Demo, made.TodayTokens, made.TodayDollars, made.DollarsSince = true, 12_300_000, 4.2, "14:05"
	made.Clients = map[string]int{"codex": 1, "claude": 5}
	made.Limits = []Limit{{"5 hour", 0.84, noon + 3600}, {"7 day", 0.125, noon + 86400}}
	var b strings.Builder
	for _, h := range []Head{
		busy, made, {Hidden: 3, Projects: []string{"/home/dev/.claude/projects"}}, {CatchingUp: true}, {CatchingUp: true, Done: 1200, Files: 2300}, {},
	} {
		html, err := p.Head(&h)
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
	if err := p.Write(&b, &View{Build: "1.2.3", Mark: "x.1"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllSubmatch(b.Bytes(), -1)
		if len(m) != 1 {
			t.Fatalf("%d elements %s", len(m), name)
		}
		sum := sha256.Sum256(m[0][1])
		if want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(p.Policy(), want) {
			t.Errorf("%s is not in %s", want, p.Policy())
		}
	}
	for _, part := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(p.Policy(), part) {
			t.Errorf("%s lacks %s", p.Policy(), part)
		}
	}
	html := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(b.String(), "")
	for _, odd := range []string{" style=", " onclick=", "javascript:", "https://", "//cdn", "<link rel=\"stylesheet", "@import"} {
		if strings.Contains(html, odd) {
			t.Errorf("the page has %q", odd)
		}
	}
}
