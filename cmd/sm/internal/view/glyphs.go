package view

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"sm/cmd/internal/places"
	"sm/dashboards/screen"
	"sm/observer/history/report"
)

// Glyphs are the characters of drawings.
type Glyphs struct {
	full  string   // a full cell of a bar
	parts []string // parts of a cell, from small to large
	Dash  string   // between two figures
	None  string   // for an unknown figure
	more  string   // for the omitted part of a name
}

// GlyphsOf returns Unicode characters, or ASCII if the locale in the
// environment has another character set.
func GlyphsOf(env places.Env) Glyphs {
	locale := strings.ToUpper(cmp.Or(env.Get("LC_ALL"), env.Get("LC_CTYPE"), env.Get("LANG")))
	if locale != "" && !strings.Contains(strings.ReplaceAll(locale, "-", ""), "UTF8") {
		return Glyphs{
			full: "#",
			Dash: "-",
			None: "-",
			more: "~",
		}
	}
	return Glyphs{
		full:  "█",
		parts: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"},
		Dash:  "–",
		None:  "–",
		more:  "…",
	}
}

// histogram draws one line for each bin. A bin that is not empty has at least
// the smallest bar.
func (g Glyphs) histogram(unit string, list []report.Bin) string {
	const width = 40 // of a bar
	steps := len(g.parts) + 1
	var b strings.Builder
	names := make([]string, len(list))
	longest := 0
	most := 0
	for i, x := range list {
		if unit == "turns" {
			x.To-- // whole numbers; the bin excludes To
		}
		names[i] = g.span(unit, x.From, x.To)
		longest = max(longest, utf8.RuneCountInString(names[i]))
		most = max(most, x.Count)
	}
	for i, x := range list {
		drawn := ""
		if x.Count > 0 {
			n := max(1, x.Count*width*steps/most)
			drawn = strings.Repeat(g.full, n/steps)
			if n%steps > 0 {
				drawn += g.parts[n%steps-1]
			}
			drawn += " "
		}
		fmt.Fprintf(&b, "  %*s  %s%d\n", longest, names[i], drawn, x.Count)
	}
	return b.String()
}

// span formats two figures, or one if both look the same.
func (g Glyphs) span(unit string, from, to int64) string {
	show := func(n int64) string { return fmt.Sprint(n) }
	if unit == "tokens" {
		show = screen.Tokens
	}
	text := show(from)
	if end := show(to); end != text {
		text += g.Dash + end
	}
	if unit == "percent" {
		text += "%"
	}
	return text
}
