package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"math"
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
		Pressure: "high", Ratio: 132_000.0 / 167_000, Source: "seen",
		Tokens: 132_000, Percent: 66, Window: 200_000, Threshold: 167_000, Warning: 100_000, Critical: 130_000,
		Replies: Range{12, 21.6, 40, true}, Turns: Range{2, 3.4, 6, true}, Work: Range{200, 600, 900, true}, Compactions: [3]int{2, 1, 0},
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
		r.ID, r.Name, r.Project, r.Model, r.Parent, r.Waiting, r.Title = s, s, "p"+s, "m"+s, "q"+s, "w"+s, "t"+s
		r.Name = "n" + s
		r.State, r.Level = "waiting", "warn"
		row, err := p.Row(&r, &h)
		if err != nil {
			t.Fatal(err)
		}
		detail, err := p.Detail(&Detail{Row: r, History: h, Facts: []Fact{{Name: "Directory", Value: "d" + s}},
			Under:    []Under{{ID: "u" + s, Name: "u" + s, Kind: "k" + s, State: "s" + s}},
			Messages: []Message{{At: noon, From: "f" + s, What: "h" + s, Text: "x" + s, Fate: "waiting", WaitsFor: "y" + s}},
		})
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

// TestBefore: who waits for a person comes first, then who is at work by what is left, then the idle and the quiet.
func TestBefore(t *testing.T) {
	soon, late := Range{1, 2, 3, true}, Range{10, 20, 30, true}
	rows := []Row{
		{Name: "quiet", State: "ended", Pressure: "imminent", Ratio: 1, Replies: soon}, {Name: "idle", State: "idle", Pressure: "imminent", Ratio: 0.99, Replies: soon},
		{Name: "unknown", State: "busy"}, {Name: "late", State: "busy", Pressure: "high", Ratio: 0.9, Replies: late},
		{Name: "soon", State: "busy", Pressure: "calm", Ratio: 0.3, Replies: soon}, {Name: "half", State: "shell", Pressure: "calm", Ratio: 0.5},
		{Name: "nearly", State: "busy", Pressure: "imminent", Ratio: 0.96}, {Name: "second", State: "busy", Pressure: "calm", Ratio: 0.3, Replies: soon, Title: "tests"},
		{Name: "waits", State: "waiting", Pressure: "calm", Ratio: 0.1}, {Name: "compacts", State: "idle", Compacting: true, Replies: Range{Known: true}},
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
	want := []string{"waits", "compacts", "soon", "second", "nearly", "late", "half", "unknown", "idle", "quiet"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOrderIsThatOfTheScript: what the script sorts by gives the order of Before.
func TestOrderIsThatOfTheScript(t *testing.T) {
	near := Row{State: "busy", Replies: Range{Likely: 1.2, Known: true}}
	far := Row{State: "busy", Replies: Range{Likely: 1e9, Known: true}}
	rest := Row{State: "idle", Replies: Range{Known: true}}
	if a, b, c := DataOf(&near).Order, DataOf(&far).Order, DataOf(&rest).Order; a >= b || b >= c {
		t.Errorf("%v, %v, %v do not rise", a, b, c)
	}
}

// TestRepliesAreShownAsTheyAreSorted: rows with the same figure are equals, and the figure is the one of `sm top`.
func TestRepliesAreShownAsTheyAreSorted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		likely float64
		want   string
		left   float64
	}{
		{0.4, "due now", 0}, {1.4, "≈ 1 reply", 1}, {21.6, "≈ 22 replies", 22}, {43.2, "≈ 43 replies", 43}, {999.4, "≈ 999 replies", 999},
		{999.6, "1000+ replies", 1000}, {1e9, "1000+ replies", 1000},
	} {
		r := Row{State: "busy", Replies: Range{Likely: c.likely, Known: true}}
		if got, data := replies(r.Replies), DataOf(&r); got != c.want || data.Left != c.left || math.Mod(data.Order, 2*repliesNever) != c.left {
			t.Errorf("%v: shows %q and sorts by %v and %v, want %q and %v", c.likely, got, data.Left, data.Order, c.want, c.left)
		}
	}
}

// TestTold: the notice that was reached is said in percent of the window, not at all of one who hears none, and
// not as told while a message waits.
func TestTold(t *testing.T) {
	r := Row{Level: "critical", Warning: 100_000, Critical: 130_000, Window: 200_000}
	warned, muted, early, bare, unheard := r, r, r, r, r
	warned.Level, muted.Silenced, early.Level, bare.Window, unheard.Unheard = "warn", true, "early_warn", 0, true
	got := []string{r.told(), warned.told(), muted.told(), early.told(), bare.told(), unheard.told()}
	if diff := cmp.Diff([]string{"told at 65 %", "told at 50 %", "", "", "told at 130k", "past 65 %, unheard"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestCycles: the curve is cut where a cycle begins, also where a mark alone says so.
func TestCycles(t *testing.T) {
	h := History{
		Points: []Point{{10, 5, false}, {20, 9, false}, {30, 2, false}, {40, 3, true}, {50, 4, false}},
		Marks:  []Mark{{15, "warning", "", 0}, {25, "compaction", "auto", 9}, {35, "handoff", "", 3}},
	}
	if diff := cmp.Diff([]cycle{{0, 2}, {2, 3}, {3, 5}}, h.cycles(), cmp.AllowUnexported(cycle{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoBareSeparator: between what is shown of an agent, and nowhere else, stands a dot.
func TestNoBareSeparator(t *testing.T) {
	p := newPage(t)
	for _, c := range []struct {
		of   Row
		want string
	}{
		{Row{ID: "a", Name: "a", Parent: "lead"}, "<small>of <bdi>lead</bdi></small>"},
		{Row{ID: "a", Name: "a", Parent: "lead", Model: "claude-x"}, "<small><bdi>x</bdi> · of <bdi>lead</bdi></small>"},
		{Row{ID: "a", Name: "a", Title: "tests", Parent: "lead"}, "<small><bdi>a</bdi> · of <bdi>lead</bdi></small>"},
	} {
		if html, err := p.Row(&c.of, &History{}); err != nil || !strings.Contains(html, c.want) {
			t.Errorf("%v: no %q in %s", err, c.want, html)
		}
	}
}

// TestMarksStandOnTheCurve: a notice of a context that is unknown stands where the context was, and not at 0.
func TestMarksStandOnTheCurve(t *testing.T) {
	h := &History{
		Points: []Point{{100, 50_000, false}, {200, 100_000, false}, {300, 20_000, true}},
		Marks:  []Mark{{50, "storm", "", 0}, {250, "storm", "", 0}, {250, "clear", "", 0}, {200, "warning", "", 100_000}},
	}
	var got []string
	for _, m := range chartOf(&Row{Window: 200_000}, h, time.UTC).Marks {
		got = append(got, m.Class+" "+m.Y)
	}
	if diff := cmp.Diff([]string{"storm 50%", "clear 100%", "warning 50%"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSparkScale: two sparklines can be compared: their height is the window.
func TestSparkScale(t *testing.T) {
	h := History{Points: []Point{{10, 20_000, false}, {20, 28_000, false}}}
	s := sparkOf(&Row{Window: 200_000, Threshold: 100_000}, &h)
	if want := "M0 88.4L100 84.6"; s.Now != want || s.Limit != "50" {
		t.Errorf("%q and %q, want %q and 50", s.Now, s.Limit, want)
	}
}

// TestSparkIsOfFewCycles: of many cycles the last ones are drawn, so that they can be told apart.
func TestSparkIsOfFewCycles(t *testing.T) {
	var h History
	for i := range int64(20) {
		h.Points = append(h.Points, Point{100 * i, 20_000, i > 0}, Point{100*i + 60, 160_000, false})
	}
	s := sparkOf(&Row{Window: 200_000}, &h)
	if n := len(s.Breaks); n != sparkCycles-1 || strings.Count(s.Earlier, "M") != sparkCycles-1 || !strings.HasPrefix(s.Earlier, "M0 ") {
		t.Errorf("%d breaks, %q", n, s.Earlier)
	}
}

// TestQuote: what is copied is one word of a shell, whatever it is.
func TestQuote(t *testing.T) {
	got := []string{Quote("em-1"), Quote(""), Quote("a b"), Quote("it's"), Quote("$(x)`y`;z\n")}
	want := []string{"em-1", "''", "'a b'", `'it'\''s'`, "'$(x)`y`;z\n'"}
	if diff := cmp.Diff(want, got); diff != "" {
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

// TestChartTime: the times below a curve are round and name the day at first and where it changes.
func TestChartTime(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     []string
	}{
		{noon - 7, noon + 65, []string{"12:00:00 Mar 2", "12:00:30", "12:01:00"}},
		{noon, noon + 3600, []string{"12:00 Mar 2", "12:30", "13:00"}},
		{noon + 1, noon + 10, []string{"12:00:05 Mar 2", "12:00:10"}},
		{noon + 60, noon + 24*3600, []string{"18:00 Mar 2", "00:00 Mar 3", "06:00", "12:00"}},
		{noon, noon + 4*24*3600, []string{"00:00 Mar 3", "00:00 Mar 4", "00:00 Mar 5", "00:00 Mar 6"}},
	} {
		var got []string
		for _, r := range times(c.from, c.to, time.UTC) {
			got = append(got, strings.TrimSpace(r.Text+" "+r.Day))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d s (-want +got):\n%s", c.to-c.from, diff)
		}
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
