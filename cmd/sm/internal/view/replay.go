package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/observer/history/replay"
)

// WriteReplay prints a line for each event, and how many there are.
func (to *Printer) WriteReplay(all []replay.Event) error {
	t := term.Table{
		Headers: []string{"TIME", "SESSION", "CYCLE", "WHAT", "TEXT"},
		Colour:  to.Colour,
	}
	for _, x := range all {
		t.Add(term.Text(
			timeText(x.At),
			screen.Dim,
		), screen.FitEnd(x.Session[:min(8, len(x.Session))], 8), fmt.Sprint(x.Cycle),
			what(x), textOf(x))
	}
	text := summary(all)
	if len(all) > 0 {
		text = t.String() + text
	}
	_, err := io.WriteString(to.Writer, text)
	return err
}

func timeText(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return t.Local().Format(time.DateTime)
}

func what(t replay.Event) term.Cell {
	switch {
	case t.Event == "notice":
		return term.Text(
			t.Kind,
			map[string]string{"warning": screen.Orange, "critical": screen.Red}[t.Kind],
		)
	case t.Trigger == "idle":
		return term.Text("compaction, idle", "")
	case !*t.Warned:
		return term.Text("compaction, unwarned", screen.Red)
	}
	return term.Text("compaction", "")
}

func textOf(t replay.Event) string {
	switch {
	case t.Event == "notice":
		return t.Text
	case t.PreTokens > 0:
		return fmt.Sprintf("%s, %s tokens", t.Trigger, screen.Tokens(t.PreTokens))
	}
	return t.Trigger
}

// thresholdsText says by which compaction thresholds the notices to agents were given.
func thresholdsText(all []replay.Event) string {
	by := map[string]map[int64]int{}
	for _, t := range all {
		if t.Threshold > 0 {
			if by[t.ThresholdSource] == nil {
				by[t.ThresholdSource] = map[int64]int{}
			}
			by[t.ThresholdSource][t.Threshold]++
		}
	}
	var parts []string
	for _, source := range slices.Sorted(maps.Keys(by)) {
		for _, tokens := range slices.Sorted(maps.Keys(by[source])) {
			parts = append(
				parts,
				fmt.Sprintf("%s (%s, %d)", screen.Tokens(tokens), source, by[source][tokens]),
			)
		}
	}
	const maxParts = 4
	if n := len(parts); n > maxParts {
		parts = append(parts[:maxParts], fmt.Sprintf("%d more", n-maxParts))
	}
	if parts == nil {
		return ""
	}
	return "compaction thresholds of these notices: " + strings.Join(parts, ", ") + "\n"
}

// summary counts the events of a replay.
func summary(all []replay.Event) string {
	kinds := map[string]int{}
	compactions := 0
	unwarned := 0
	idle := 0
	for _, t := range all {
		switch {
		case t.Event == "notice":
			kinds[t.Kind]++
		case t.Trigger == "idle":
			idle++
		case !*t.Warned:
			unwarned++
			fallthrough
		default:
			compactions++
		}
	}
	var said []string
	for _, k := range alerts.Kinds() {
		if n := kinds[k.String()]; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, k))
		}
	}
	if len(said) == 0 {
		said = []string{"none"}
	}
	text := fmt.Sprintf(
		"notices: %s; compactions: %d, %d of them unwarned",
		strings.Join(said, ", "),
		compactions,
		unwarned,
	)
	if idle > 0 {
		text += fmt.Sprintf("; %d more while idle", idle)
	}
	return text + "\n" + thresholdsText(all)
}
