package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
