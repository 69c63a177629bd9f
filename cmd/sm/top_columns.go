package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sm/observer/api"
)

// topColumn is a column of the list.
type topColumn struct {
	title string
	right bool
	// min and max are its width in cells; rank says how long it stays when there is no room, 0 longest.
	min, max, rank int
	cell           func(t *top, s *api.Session, width int) []span
}

func topColumns() []topColumn {
	return []topColumn{
		{"NAME", false, 12, 24, 0, nameCell},
		{"PROJECT", false, 8, 16, 9, func(_ *top, s *api.Session, w int) []span { return []span{{fitEnd(s.Project, w), ""}} }},
		{"CONTEXT", false, 10, 36, 1, barCell},
		{"USED", true, 4, 4, 2, usedCell},
		{"TOKENS", true, 9, 11, 3, tokensCell},
		{"TREND", false, 8, trendSlots, 6, func(t *top, s *api.Session, w int) []span { return t.trendOf(s).spans(w, t.now) }},
		{"TURNS", true, 5, 5, 8, turnsCell},
		{"CMP", true, 3, 4, 5, func(_ *top, s *api.Session, _ int) []span { return []span{{countText(compactionCount(s)), ""}} }},
		{"STATE", false, 10, 10, 4, stateCell},
		{"CYCLE", true, 5, 5, 10, func(_ *top, s *api.Session, _ int) []span { return []span{{countText(s.Cycle), ""}} }},
		{"FLAGS", false, 5, 22, 7, flagsCell},
		{"SEEN", true, 4, 4, 11, seenCell},
		{"MODEL", false, 10, 16, 12, func(_ *top, s *api.Session, w int) []span {
			return []span{{fitEnd(strings.TrimPrefix(s.Model, "claude-"), w), dim}}
		}},
	}
}

// placed is a column that there is room for.
type placed struct {
	topColumn
	width int
}

// placeColumns chooses the columns for so many cells, with gap cells between them, and shares out what is left.
func placeColumns(width, gap int) []placed {
	var out []placed
	all := topColumns()
	byRank := slices.Clone(all)
	slices.SortFunc(byRank, func(a, b topColumn) int { return a.rank - b.rank })
	used, most := -gap, -1
	for _, c := range byRank {
		if used += c.min + gap; used > width {
			used -= c.min + gap
			break
		}
		most = c.rank
	}
	for _, c := range all {
		if c.rank <= most {
			out = append(out, placed{c, c.min})
		}
	}
	for left := width - used; left > 0; {
		before := left
		for i := range out {
			if c := &out[i]; left > 0 && c.width < c.max {
				c.width++
				left--
			}
		}
		if left == before {
			break
		}
	}
	return out
}

func nameCell(t *top, s *api.Session, width int) []span {
	colour := ""
	switch {
	case s.ID == t.selected:
		colour = reverse
	case s.State == "quiet":
		colour = dim
	}
	return []span{{fitEnd(topName(s), width), colour}}
}

// topName is what a session is called, as it came.
func topName(s *api.Session) string { return cmp.Or(s.Label, s.Name, s.SessionID, s.ID) }

// barCell is how full the context is, with a mark at the size at which the client compacts.
func barCell(_ *top, s *api.Session, width int) []span {
	full, known := usedShare(s)
	mark := -1
	if s.ThresholdTokens != nil && s.WindowTokens > 0 && *s.ThresholdTokens > 0 {
		mark = min(width-1, int(float64(*s.ThresholdTokens)/float64(s.WindowTokens)*float64(width)))
	}
	eighths := int(full*float64(width)*8 + 0.5)
	if !known {
		eighths = 0
	}
	var filled, empty strings.Builder
	spans := make([]span, 0, 5)
	flush := func() {
		spans = append(spans, span{filled.String(), levelColour(s.Level)}, span{empty.String(), dim})
		filled.Reset()
		empty.Reset()
	}
	for i := range width {
		n := min(8, max(0, eighths-8*i))
		switch {
		case i == mark:
			flush()
			spans = append(spans, span{"┃", magenta})
		case n > 0:
			filled.WriteRune([]rune("▏▎▍▌▋▊▉█")[n-1])
		default:
			empty.WriteString("·")
		}
	}
	flush()
	return slices.DeleteFunc(spans, func(s span) bool { return s.text == "" })
}

func usedCell(_ *top, s *api.Session, _ int) []span {
	if s.UsedPercentage == nil {
		return []span{{"–", dim}}
	}
	return []span{{fmt.Sprintf("%d%%", *s.UsedPercentage), levelColour(s.Level)}}
}

func tokensCell(_ *top, s *api.Session, width int) []span {
	used := "–"
	if s.TokensUsed != nil {
		used = tokensText(*s.TokensUsed)
	}
	return []span{{fitStart(used+"/"+tokensText(s.WindowTokens), width), ""}}
}

// turnsCell is in about how many turns the client compacts.
func turnsCell(_ *top, s *api.Session, _ int) []span {
	if s.Forecast == nil || s.Forecast.Turns == nil {
		return []span{{"–", dim}}
	}
	turns := s.Forecast.Turns.Likely
	colour := ""
	if turns < 3 {
		colour = orange
	}
	return []span{{"≈" + countText(int(min(1e6, max(0, turns)+0.5))), colour}}
}

// countText writes a count in at most four characters.
func countText(n int) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return "many"
}

func compactionCount(s *api.Session) int {
	return s.Compactions.Auto + s.Compactions.Manual + s.Compactions.Unknown
}

func stateCell(_ *top, s *api.Session, width int) []span {
	state, colour := s.State, ""
	switch {
	case s.IsCompacting:
		state, colour = "compacting", magenta
	case state == "busy":
		colour = green
	case state == "idle", state == "quiet":
		colour = dim
	default:
		colour = yellow
	}
	return []span{{fitEnd(state, width), colour}}
}

// flagsCell says what is under way: messages that wait, a handoff, what keeps the agent from one, and that notices are
// off. Where there is no room, it says so in letters.
func flagsCell(_ *top, s *api.Session, width int) []span {
	var long, short []string
	if s.Queued > 0 {
		long, short = append(long, "q"+countText(s.Queued)), append(short, "q"+countText(s.Queued))
	}
	if s.Handoff != "" {
		long, short = append(long, "handoff "+s.Handoff), append(short, "H")
	}
	if s.Brake != "" {
		long, short = append(long, s.Brake), append(short, "B")
	}
	if !s.Enabled {
		long, short = append(long, "off"), append(short, "-")
	}
	text := screenText(strings.Join(long, " "))
	if cells(text) > width {
		text = fitStart(strings.Join(short, ""), width)
	}
	return []span{{text, yellow}}
}

// seenCell is how long ago the session did anything.
func seenCell(t *top, s *api.Session, width int) []span {
	text := strings.TrimSuffix(ago(s.LastActive, t.now), " ago")
	if cells(text) > width {
		text = "–" // it is still to come
	}
	return []span{{text, dim}}
}
