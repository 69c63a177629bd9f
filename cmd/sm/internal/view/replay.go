package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sm/alerts"
	"sm/observer/history/replay"
)

// summary returns the numbers of events of a replay, and the compaction
// thresholds of its notices by their source.
func (g Glyphs) summary(all []replay.Event) string {
	type threshold struct {
		from, to int64
		notices  int
	}
	kinds := map[string]int{}
	thresholds := map[string]threshold{}
	var compactions, unwarned, idle int
	for _, e := range all {
		if e.Threshold > 0 {
			t := thresholds[e.ThresholdSource]
			t.from = min(cmp.Or(t.from, e.Threshold), e.Threshold)
			t.to = max(t.to, e.Threshold)
			t.notices++
			thresholds[e.ThresholdSource] = t
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
	for _, source := range slices.Sorted(maps.Keys(thresholds)) {
		t := thresholds[source]
		parts = append(parts, fmt.Sprintf(
			"%d at %s (%s)",
			t.notices,
			g.span("tokens", t.from, t.to),
			source,
		))
	}
	if len(parts) > 0 {
		text += "\nnotices by compaction threshold: " + strings.Join(parts, ", ")
	}
	return text + "\n"
}
