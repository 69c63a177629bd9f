package view

import (
	"cmp"
	"fmt"
	"slices"

	"sm/dashboards/screen"
	"sm/observer/history/tune"
)

// candidateRows returns, in the chosen unit, the best pair for each warning.
// For the warning of the chosen pair it returns that pair.
func candidateRows(g *tune.Grid) (list []*tune.Candidate) {
	for i := range g.Pairs {
		p := &g.Pairs[i]
		if p.Unit != g.Chosen.Unit {
			continue
		}
		last := len(list) - 1
		switch {
		case last < 0 || list[last].Warning != p.Warning:
			list = append(list, p)
		case list[last].Same(g.Chosen):
		case p.Same(g.Chosen) || p.Measure > list[last].Measure:
			list[last] = p
		}
	}
	return list
}

// timeliest returns the first of the pairs that announce most compactions in
// time.
func timeliest(g *tune.Grid) *tune.Candidate {
	pair := slices.MaxFunc(g.Pairs, func(a, b tune.Candidate) int {
		return cmp.Compare(a.Timely, b.Timely)
	})
	return &pair
}

func thresholdText(n int64, unit string) string {
	if n == 0 {
		return "off"
	}
	if unit == "percent" || unit == "mixed" && n <= 100 {
		return fmt.Sprintf("%d%%", n)
	}
	return screen.Tokens(n)
}
