package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sm/alerts"
	"sm/dashboards/screen"
	"sm/observer/history/replay"
)

// summary counts the events of a replay, and lists the compaction thresholds by
// which notices were given.
func summary(all []replay.Event) string {
	type threshold struct {
		source string
		tokens int64
	}
	kinds := map[string]int{}
	thresholds := map[threshold]int{}
	var compactions, unwarned, idle int
	for _, e := range all {
		if e.Threshold > 0 {
			thresholds[threshold{e.ThresholdSource, e.Threshold}]++
		}
		switch {
		case e.Event == "notice":
			kinds[e.Kind]++
		case e.Trigger == "idle":
			idle++
		default:
			compactions++
			if !*e.Warned {
				unwarned++
			}
		}
	}

	var notices []string
	for k := range alerts.Kinds {
		if n := kinds[k.String()]; n > 0 {
			notices = append(notices, fmt.Sprintf("%d %s", n, k))
		}
	}
	text := fmt.Sprintf(
		"notices: %s; compactions: %d, %d of them unwarned",
		cmp.Or(strings.Join(notices, ", "), "none"),
		compactions,
		unwarned,
	)
	if idle > 0 {
		text += fmt.Sprintf("; %d more while idle", idle)
	}

	var parts []string
	for _, t := range slices.SortedFunc(maps.Keys(thresholds), func(a, b threshold) int {
		return cmp.Or(cmp.Compare(a.source, b.source), cmp.Compare(a.tokens, b.tokens))
	}) {
		n := thresholds[t]
		parts = append(parts, fmt.Sprintf("%s (%s, %d)", screen.Tokens(t.tokens), t.source, n))
	}
	const maxParts = 4
	if n := len(parts); n > maxParts {
		parts = append(parts[:maxParts], fmt.Sprintf("%d more", n-maxParts))
	}
	if len(parts) > 0 {
		text += "\ncompaction thresholds of these notices: " + strings.Join(parts, ", ")
	}
	return text + "\n"
}
