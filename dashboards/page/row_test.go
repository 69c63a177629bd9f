package page

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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

// TestTold: "told at" appears only where the agent has heard the notice.
func TestTold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Row)
		want   string
	}{
		{"heard", func(r *Row) { r.Heard = true }, "told at 65 %"},
		{"not heard", func(*Row) {}, "at 65 %"},
		{"warned", func(r *Row) { r.Level, r.NoticePercent = "warn", 50 }, "at 50 %"},
		{"early", func(r *Row) { r.Level = "early_warn" }, ""},
		{"silenced", func(r *Row) { r.Silenced = true }, ""},
		{"no window", func(r *Row) { r.NoticePercent = 0 }, "at 129k"},
	} {
		r := Row{Level: "critical", Warning: 100_000, Critical: 129_000, NoticePercent: 65}
		tt.change(&r)
		if got := r.told(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
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
