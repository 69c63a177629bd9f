package page

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

// hostile returns texts that transcripts, hooks and command lines may contain.
func hostile() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "' onmouseover='alert(1)", "</style><svg/onload=alert(1)>",
		"javascript:alert(1)", "{{.}}", "\u202egpj.exe\u202c", "a\u200bb\u2066c\u2069", "\x00\x01\x1b[31m", "\xff\xfe\xc0", "\u2028\u2029\r\n\t",
		strings.Repeat(
			"long ",
			20_000,
		), strings.Repeat(
			"\U0001F4A9",
			5_000,
		), "&lt;b&gt; &amp;", "<!--", "]]>", "`${alert(1)}`", "שלום", "",
	}
}

// checkText checks for any texts that the markup is that of harmless ones, and that no
// invisible characters get through.
func checkText(t *testing.T, p *renderer, s string) {
	t.Helper()
	tags := func(html string) []string {
		var names []string
		for _, m := range regexp.MustCompile(`<[/!]?[a-zA-Z-]*( [a-z-]+=)?`).FindAllString(
			html,
			-1,
		) {
			names = append(names, strings.TrimSpace(m))
		}
		return names
	}
	copied := regexp.MustCompile(`<div data-part="commands">.*</div>|<button.*?</button>`)
	draw := func(s string) (all string) {
		x, h := full()
		x.ID = "i" + s
		x.Name = "n" + s
		x.Project = "p" + s
		x.Model = "m" + s
		x.ParentID = "q" + s
		x.WaitingFor = "w" + s
		x.CWD = "d" + s
		x.State = "waiting"
		x.Subagents.Latest = []api.Subagent{{ID: "u" + s, Type: "k" + s}}
		d := wire.Detail{Session: *x, History: *h, Messages: []api.Message{
			{
				MadeAt:   time.Unix(noon, 0),
				From:     "f" + s,
				Mode:     "h" + s,
				Text:     "x" + s,
				Status:   "waiting",
				WaitsFor: "y" + s,
			},
		}}
		unknown := p.detailOf(&wire.Detail{Problem: "No such agent"})
		unknown.Asked = s
		for _, part := range []struct {
			name string
			data any
		}{
			{"row", row{x, "", sparkOf(x, h)}},
			{"detail", p.detailOf(&d)},
			{"detail", unknown},
			{"head", headOf(&wire.List{Projects: []string{s}})},
		} {
			all += p.draw(part.name, part.data)
		}
		return all
	}
	got := draw(s)
	// Altered text cannot be copied.
	harmless := copied.ReplaceAllString(draw("harmless"), "")
	if diff := cmp.Diff(tags(harmless), tags(copied.ReplaceAllString(got, ""))); diff != "" {
		t.Errorf("the markup is another (-harmless +this):\n%s", diff)
	}
	for _, r := range got {
		if r < ' ' && r != '\n' ||
			slices.Contains(
				[]rune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u2028\u2029\u007f"),
				r,
			) {
			t.Errorf("%q gets through", r)
		}
	}
	if visible := regexp.MustCompile(`href="[^"]*"`).ReplaceAllString(
		got,
		"",
	); len(visible) > 50_000 {
		t.Errorf("%d bytes for a text of %d", len(visible), len(s))
	}
}

func FuzzText(f *testing.F) {
	for _, s := range hostile() {
		f.Add(s)
	}
	p := newPage(f)
	f.Fuzz(func(t *testing.T, s string) {
		checkText(t, p, s)
	})
}

// FuzzHistory tests that the curve of any history can be drawn and is visible.
func FuzzHistory(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9}, int64(200_000), int64(167_000))
	f.Add([]byte{}, int64(0), int64(0))
	f.Add([]byte{255, 255, 255, 0, 0, 0}, int64(-1), int64(1<<60))
	p := newPage(f)
	coordinate := regexp.MustCompile(`[ML](-?[0-9.]+) (-?[0-9.]+)`)
	f.Fuzz(func(t *testing.T, b []byte, window, threshold int64) {
		var h curve.History
		at := int64(noon)
		for len(b) >= 3 {
			at += int64(b[0]) * int64(b[0])
			size := int64(b[1])<<16 | int64(b[2])<<8
			if b[0]%7 == 0 {
				h.Marks = append(h.Marks, curve.Mark{
					At:     at,
					Kind:   []string{"compaction", "warning", "odd"}[b[1]%3],
					Tokens: size,
				})
			} else {
				h.Points = append(h.Points, curve.Point{
					At:     at,
					Tokens: size,
					First:  b[2]%5 == 0,
				})
			}
			b = b[3:]
		}
		s := api.Session{
			ID:              "x",
			WindowTokens:    window,
			ThresholdTokens: &threshold,
			TokensUsed:      new(int64(5)),
			UsedPercentage:  new(0),
		}
		row := p.draw("row", row{&s, "", sparkOf(&s, &h)})
		detail := p.draw("detail", p.detailOf(&wire.Detail{Session: s, History: h}))
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
