package report

import "sm/observer/history"

// MaxBins limits the bins of a histogram.
const MaxBins = 12

// Distribution is the distribution of figures. The quantiles are null without
// figures. Of an even number of figures the median is the mean of the two in
// the middle, rounded down; the other quantiles are nearest ranks.
type Distribution struct {
	Known     int    `json:"known"`
	Unknown   int    `json:"unknown"` // cases without a figure
	Min       *int64 `json:"min"`
	P10       *int64 `json:"p10"`
	Median    *int64 `json:"median"`
	P90       *int64 `json:"p90"`
	Max       *int64 `json:"max"`
	Histogram []Bin  `json:"histogram"` // without gaps, [] without any figure
}

// Bin counts the figures from From up to, but not including, To.
type Bin struct {
	From  int64 `json:"from"`
	To    int64 `json:"to"`
	Count int   `json:"count"`
}

// DistributionOf sorts the figures and returns their distribution. cases is the
// number of cases, with or without a figure. width is the minimum width of a
// bin, which grows in steps until there are at most MaxBins.
func DistributionOf(figures []int64, cases int, width int64) Distribution {
	return Distribution{
		Known:     len(figures),
		Unknown:   cases - len(figures),
		Min:       history.NearestRank(figures, 0),
		P10:       history.NearestRank(figures, 0.1),
		Median:    history.Median(figures),
		P90:       history.NearestRank(figures, 0.9),
		Max:       history.NearestRank(figures, 1),
		Histogram: binsOf(figures, width),
	}
}

// Widened returns width, or the smallest of 2, 5, 10, 20 times it and so on,
// that divides the range from lowest to highest into at most most parts.
func Widened(width, lowest, highest, most int64) int64 {
	for i := 0; highest/width-lowest/width >= most; i++ {
		width = width * []int64{2, 5, 2}[i%3] / []int64{1, 2, 1}[i%3]
	}
	return width
}

func binsOf(sorted []int64, width int64) []Bin {
	list := []Bin{}
	if len(sorted) == 0 {
		return list
	}
	lowest := sorted[0]
	highest := sorted[len(sorted)-1]
	width = Widened(width, lowest, highest, MaxBins)
	for from := lowest / width * width; from <= highest; from += width {
		list = append(list, Bin{From: from, To: from + width})
	}
	for _, x := range sorted {
		list[(x-list[0].From)/width].Count++
	}
	return list
}
