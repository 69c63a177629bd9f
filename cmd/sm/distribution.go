package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostBins bounds the lines of a histogram.
const mostBins = 12

// distribution says how figures are spread. The quantiles are null without any figure; of an even number the median is
// the mean of the two in the middle, rounded down, and the others are the nearest rank.
type distribution struct {
	Known     int    `json:"known"`
	Unknown   int    `json:"unknown"` // cases of which the figure is not known
	Min       *int64 `json:"min"`
	P10       *int64 `json:"p10"`
	Median    *int64 `json:"median"`
	P90       *int64 `json:"p90"`
	Max       *int64 `json:"max"`
	Histogram []bin  `json:"histogram"` // without gaps, [] without any figure
}

// bin counts the figures of From and more, but less than To.
type bin struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int   `json:"count"`
}

// distributionOf sorts the figures. Bins are at least so wide, and wider by nice steps until they are no more than
// mostBins.
func distributionOf(figures []int64, unknown int, width int64) distribution {
	d := distribution{Known: len(figures), Unknown: unknown, Histogram: []bin{}}
	if len(figures) == 0 {
		return d
	}
	slices.Sort(figures)
	d.Min, d.Max = &figures[0], &figures[len(figures)-1]
	d.P10, d.P90 = new(nearestRank(figures, 0.1)), new(nearestRank(figures, 0.9))
	d.Median = new(medianOf(figures))
	d.Histogram = binsOf(figures, width)
	return d
}

// nearestRank is the nearest-rank quantile of sorted figures.
func nearestRank[T cmp.Ordered](sorted []T, q float64) T {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// medianOf is the median of sorted figures.
func medianOf[T int64 | float64](sorted []T) T {
	a, b := sorted[(len(sorted)-1)/2], sorted[len(sorted)/2]
	return a + (b-a)/2
}

func binsOf(sorted []int64, width int64) []bin {
	lowest, highest := sorted[0], sorted[len(sorted)-1]
	for i := 0; highest/width-lowest/width >= mostBins; i++ {
		width = width * []int64{2, 5, 2}[i%3] / []int64{1, 2, 1}[i%3] // 1, 2, 5, 10
	}
	var list []bin
	for from := lowest / width * width; from <= highest; from += width {
		list = append(list, bin{From: from, To: from + width})
	}
	for _, x := range sorted {
		list[(x-list[0].From)/width].Count++
	}
	return list
}

// fullest is the first of the bins that hold most.
func fullest(list []bin) (most bin) {
	for _, b := range list {
		if b.Count > most.Count {
			most = b
		}
	}
	return most
}

// glyphs are the characters of what is drawn: full, and what a part of a full one looks like from small to large.
type glyphs struct {
	full  string
	parts []string
	dash  string // between two figures
	none  string // for a figure that is not known
	more  string // for what is left out of a name
}

// glyphs are Unicode's unless the locale names another character set.
func (env *environ) glyphs() glyphs {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		value, _ := env.lookupEnv(name)
		if value == "" {
			continue
		}
		if upper := strings.ToUpper(value); !strings.Contains(upper, "UTF-8") && !strings.Contains(upper, "UTF8") {
			return glyphs{full: "#", dash: "-", none: "-", more: "~"}
		}
		break
	}
	return glyphs{full: "█", parts: []string{"▏", "▎", "▍", "▌", "▋", "▊", "▉"}, dash: "–", none: "–", more: "…"}
}

// bar draws a part of a whole in at most so many characters. What is more than nothing shows.
func (g glyphs) bar(part, whole, width int) string {
	if part <= 0 || whole <= 0 {
		return ""
	}
	steps := len(g.parts) + 1
	n := max(1, part*width*steps/whole)
	s := strings.Repeat(g.full, n/steps)
	if n%steps > 0 {
		s += g.parts[n%steps-1]
	}
	return s
}

// histogram draws one line a bin.
func (g glyphs) histogram(list []bin, label func(bin) string) string {
	const width = 40
	most := fullest(list).Count
	var b strings.Builder
	names := make([]string, len(list))
	longest := 0
	for i, x := range list {
		names[i] = label(x)
		longest = max(longest, utf8.RuneCountInString(names[i]))
	}
	for i, x := range list {
		drawn := g.bar(x.Count, most, width)
		if drawn != "" {
			drawn += " "
		}
		fmt.Fprintf(&b, "  %*s  %s%d\n", longest, names[i], drawn, x.Count)
	}
	return b.String()
}
