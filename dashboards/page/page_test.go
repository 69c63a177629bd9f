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
	"slices"
	"strings"
	"testing"
	"time"

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
		ID: "em", Name: "em", Project: "shop", Model: "claude-sonnet-4-5", Parent: "lead", Level: "critical",
		Tokens: 132_000, Percent: 66, Window: 200_000, Threshold: 167_000, Warning: 100_000, Critical: 130_000,
		Turns: Range{2, 3.4, 6, true}, Work: Range{200, 600, 900, true}, Compactions: [3]int{2, 1, 0},
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
	estimate.Estimate, estimate.Threshold, estimate.Check, estimate.Turns, estimate.Work = true, 0, "agrees", Range{}, Range{}
	estimate.State, estimate.Waiting, estimate.Silenced, estimate.Storming = "waiting", "permission prompt", true, true
	beyond := known
	beyond.Tokens, beyond.Turns, beyond.Compacting, beyond.Check = 230_000, Range{Known: true}, true, "lagging"
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
	for _, d := range []Detail{
		{Row: r, History: h, Facts: []Fact{{Name: "Agent", Value: "em"}, {Name: "Started", At: noon}, {Name: "Parent"}}},
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
	for _, r := range []Row{{State: "busy", Level: "ok"}, {State: "waiting", Level: "critical"}, {State: "idle", Level: "warn"}, {State: "quiet"}, {State: "shell", Level: "early_warn"}} {
		busy.Count(&r)
	}
	if want := (Head{Agents: 5, Busy: 2, Waiting: 1, Levels: [5]int{1, 1, 1, 1, 1}}); cmp.Diff(want, busy) != "" {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, busy))
	}
	var b strings.Builder
	for _, h := range []Head{
		busy, {Hidden: 3, Projects: []string{"/home/dev/.claude/projects"}}, {CatchingUp: true}, {CatchingUp: true, Done: 1200, Files: 2300}, {},
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

// hostile are texts that transcripts, hooks and command lines may bring.
func hostile() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onmouseover='alert(1)", "</style><svg/onload=alert(1)>",
		"javascript:alert(1)", "{{.}}", "\u202egpj.exe\u202c", "a\u200bb\u2066c\u2069", "\x00\x01\x1b[31m", "\xff\xfe\xc0", "\u2028\u2029\r\n\t",
		strings.Repeat("long ", 20_000), strings.Repeat("\U0001F4A9", 5_000), "&lt;b&gt; &amp;", "<!--", "]]>", "`${alert(1)}`", "שלום", "",
	}
}

// TestHostile: whatever the texts are, the markup is that of harmless ones, and nothing
// that cannot be seen gets through.
func TestHostile(t *testing.T) {
	p := newPage(t)
	for _, s := range hostile() {
		t.Run(fmt.Sprintf("%.20q", s), func(t *testing.T) { checkText(t, p, s) })
	}
}

func checkText(t *testing.T, p *Page, s string) {
	t.Helper()
	tags := func(html string) []string {
		var names []string
		for _, m := range regexp.MustCompile(`<[/!]?[a-zA-Z-]*( [a-z-]+=)?`).FindAllString(html, -1) {
			names = append(names, strings.TrimSpace(m))
		}
		return names
	}
	draw := func(s string) (all string) {
		r, h := full()
		r.ID, r.Name, r.Project, r.Model, r.Parent, r.Waiting = s, s, "p"+s, "m"+s, "q"+s, "w"+s
		r.State, r.Level = "waiting", "warn"
		row, err := p.Row(&r, &h)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := p.Detail(&Detail{Row: r, History: h, Facts: []Fact{{Name: "Directory", Value: "d" + s}}})
		if err != nil {
			t.Fatal(err)
		}
		lost, err := p.Detail(&Detail{Problem: "No such agent", Asked: s})
		if err != nil {
			t.Fatal(err)
		}
		head, err := p.Head(&Head{Projects: []string{s}})
		if err != nil {
			t.Fatal(err)
		}
		return row + detail + lost + head
	}
	got := draw(s)
	if diff := cmp.Diff(tags(draw("harmless")), tags(got)); diff != "" {
		t.Errorf("the markup is another (-harmless +this):\n%s", diff)
	}
	for _, r := range got {
		if r < ' ' && r != '\n' || slices.Contains([]rune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2028\u2029\u007f"), r) {
			t.Errorf("%q gets through", r)
		}
	}
	if visible := regexp.MustCompile(`href="[^"]*"`).ReplaceAllString(got, ""); len(visible) > 50_000 {
		t.Errorf("%d bytes for a text of %d", len(visible), len(s))
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s)
	}
	p := newPage(f)
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) < 4_000 {
			checkText(t, p, s)
		}
	})
}

// FuzzHistory: whatever is remembered, the curve can be drawn, and lies where it can be
// seen.
func FuzzHistory(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, int64(200_000), int64(167_000))
	f.Add([]byte{}, int64(0), int64(0))
	f.Add([]byte{255, 255, 255, 0, 0, 0}, int64(-1), int64(1<<60))
	p := newPage(f)
	coordinate := regexp.MustCompile(`[ML](-?[0-9.]+) (-?[0-9.]+)`)
	f.Fuzz(func(t *testing.T, b []byte, window, threshold int64) {
		var h History
		at := int64(noon)
		for len(b) >= 3 {
			at += int64(b[0]) * int64(b[0])
			size := int64(b[1])<<16 | int64(b[2])<<8
			if b[0]%7 == 0 {
				h.Marks = append(h.Marks, Mark{At: at, Kind: []string{"compaction", "warning", "odd"}[b[1]%3], Tokens: size})
			} else {
				h.Points = append(h.Points, Point{At: at, Tokens: size, First: b[2]%5 == 0})
			}
			b = b[3:]
		}
		r := Row{ID: "x", Name: "x", Window: window, Threshold: threshold, Tokens: 5}
		row, err := p.Row(&r, &h)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := p.Detail(&Detail{Row: r, History: h})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(row+detail, "NaN") || strings.Contains(row+detail, "Inf") {
			t.Fatal("not a number")
		}
		for _, m := range coordinate.FindAllStringSubmatch(row+detail, -1) {
			var x, y float64
			if _, err := fmt.Sscan(m[1], &x); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(m[2], &y); err != nil {
				t.Fatal(err)
			}
			if x < -0.01 || x > 110 || y < -0.01 || y > 100.01 {
				t.Fatalf("%s lies outside", m[0])
			}
		}
	})
}

// TestTexts: figures as people read them.
func TestTexts(t *testing.T) {
	got := map[string]string{}
	for _, n := range []int64{0, 950, 1_000, 9_949, 9_950, 104_000, 999_499, 999_500, 1_000_000, 1_250_000, -2_150} {
		got[fmt.Sprint(n)] = short(n) + " " + Thousands(n)
	}
	for _, s := range []float64{30, 600, 6_100, 200_000} {
		got[fmt.Sprint(s, "s")] = work(s)
	}
	want := map[string]string{
		"0": "0 0", "950": "950 950", "1000": "1k 1,000", "9949": "9.9k 9,949", "9950": "10k 9,950", "104000": "104k 104,000",
		"999499": "999k 999,499", "999500": "1M 999,500", "1000000": "1M 1,000,000", "1250000": "1.2M 1,250,000", "-2150": "−2.1k −2,150",
		"30s": "under a minute", "600s": "10 min", "6100s": "1.7 h", "200000s": "2 days",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBefore: the fullest of the highest level comes first, the unknown last.
func TestBefore(t *testing.T) {
	rows := []Row{
		{Name: "unknown", Window: 100}, {Name: "half", Level: "ok", Tokens: 50, Window: 100}, {Name: "warned", Level: "warn", Tokens: 10, Window: 100},
		{Name: "b", Level: "ok", Tokens: 70, Window: 100}, {Name: "a", Level: "ok", Tokens: 70, Window: 100}, {Name: "critical", Level: "critical", Tokens: 1, Window: 100},
	}
	slices.SortFunc(rows, func(a, b Row) int {
		if Before(&a, &b) {
			return -1
		}
		return 1
	})
	var got []string
	for _, r := range rows {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff([]string{"critical", "warned", "a", "b", "half", "unknown"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestKey: agents have rows of their own, whose names are fit for an id.
func TestKey(t *testing.T) {
	seen := map[string]string{}
	for _, s := range append(hostile(), "a", "b") {
		key := Key(s)
		if other, known := seen[key]; known && other != s {
			t.Errorf("%q and %q share a row", s, other)
		}
		if seen[key] = s; !regexp.MustCompile(`^a[0-9a-f]{16}$`).MatchString(key) {
			t.Errorf("%q", key)
		}
	}
}

// TestChartTime: a long curve names its days.
func TestChartTime(t *testing.T) {
	r, h := full()
	c := chartOf(&r, &h, time.UTC)
	h.Points = append(h.Points, Point{At: noon + 3*24*3600, Tokens: 140_000})
	long := chartOf(&r, &h, time.UTC)
	got := []string{c.Times[0].Text, c.Times[2].Text, long.Times[0].Text, long.Times[2].Text}
	if diff := cmp.Diff([]string{"12:00", "13:00", "Mar 2 12:00", "Mar 5 12:00"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// BenchmarkRow is a row with a history of 128 points.
func BenchmarkRow(b *testing.B) {
	p := newPage(b)
	r, h := full()
	for i := range 123 {
		h.Points = append(h.Points, Point{At: noon + 4000 + int64(i), Tokens: int64(1000 * i)})
	}
	for b.Loop() {
		if _, err := p.Row(&r, &h); err != nil {
			b.Fatal(err)
		}
	}
}
