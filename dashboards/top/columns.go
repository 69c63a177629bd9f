package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// column is a column of the list.
type column struct {
	title string
	right bool
	// min and max are its width in cells; rank says how long it stays when there is no room, 0 longest.
	min, max, rank int
	cell           func(t *model, s *api.Session, width int) []span
}

func columns() []column {
	return []column{
		{"NAME", false, 12, 24, 0, nameCell},
		{"PROJECT", false, 8, 16, 9, func(_ *model, s *api.Session, w int) []span { return []span{{screen.FitEnd(s.Project, w), ""}} }},
		{"CONTEXT", false, 10, 36, 1, barCell},
		{"USED", true, 4, 4, 2, usedCell},
		{"TOKENS", true, 9, 11, 3, tokensCell},
		{"TREND", false, 8, trendSlots, 6, func(t *model, s *api.Session, w int) []span { return t.trendOf(s).spans(w, t.now) }},
		{"TURNS", true, 5, 5, 8, turnsCell},
		{"CMP", true, 3, 4, 5, func(_ *model, s *api.Session, _ int) []span { return []span{{countText(compactionCount(s)), ""}} }},
		{"STATE", false, 10, 10, 4, stateCell},
		{"CYCLE", true, 5, 5, 10, func(_ *model, s *api.Session, _ int) []span { return []span{{countText(s.Cycle), ""}} }},
		{"FLAGS", false, 5, 22, 7, flagsCell},
		{"SEEN", true, 4, 4, 11, seenCell},
		{"MODEL", false, 10, 16, 12, func(_ *model, s *api.Session, w int) []span {
			return []span{{screen.FitEnd(strings.TrimPrefix(s.Model, "claude-"), w), screen.Dim}}
		}},
	}
}

// placed is a column that there is room for.
type placed struct {
	column
	width int
}

// placeColumns chooses the columns for so many cells, with gap cells between them, and shares out what is left.
func placeColumns(width, gap int) []placed {
	var out []placed
	all := columns()
	byRank := slices.Clone(all)
	slices.SortFunc(byRank, func(a, b column) int { return a.rank - b.rank })
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

func nameCell(t *model, s *api.Session, width int) []span {
	colour := ""
	switch {
	case s.ID == t.selected:
		colour = screen.Reverse
	case s.State == "quiet", s.State == "ended":
		colour = screen.Dim
	}
	return []span{{screen.FitEnd(nameOf(s), width), colour}}
}

// nameOf is what a session is called, as it came.
func nameOf(s *api.Session) string { return cmp.Or(s.Label, s.Name, s.SessionID, s.ID) }

// barCell is how full the context is, with a mark at the size at which the client compacts.
func barCell(_ *model, s *api.Session, width int) []span {
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
		spans = append(spans, span{filled.String(), levelColour(s.Level)}, span{empty.String(), screen.Dim})
		filled.Reset()
		empty.Reset()
	}
	for i := range width {
		n := min(8, max(0, eighths-8*i))
		switch {
		case i == mark:
			flush()
			spans = append(spans, span{"┃", screen.Magenta})
		case n > 0:
			filled.WriteRune([]rune("▏▎▍▌▋▊▉█")[n-1])
		default:
			empty.WriteString("·")
		}
	}
	flush()
	return slices.DeleteFunc(spans, func(s span) bool { return s.text == "" })
}

func usedCell(_ *model, s *api.Session, _ int) []span {
	if s.UsedPercentage == nil {
		return []span{{"–", screen.Dim}}
	}
	return []span{{fmt.Sprintf("%d%%", *s.UsedPercentage), levelColour(s.Level)}}
}

func tokensCell(_ *model, s *api.Session, width int) []span {
	used := "–"
	if s.TokensUsed != nil {
		used = screen.Tokens(*s.TokensUsed)
	}
	return []span{{screen.FitStart(used+"/"+screen.Tokens(s.WindowTokens), width), ""}}
}

// turnsCell is in about how many turns the client compacts.
func turnsCell(_ *model, s *api.Session, _ int) []span {
	if s.Forecast == nil || s.Forecast.Turns == nil {
		return []span{{"–", screen.Dim}}
	}
	turns := s.Forecast.Turns.Likely
	colour := ""
	if turns < 3 {
		colour = screen.Orange
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

func stateCell(_ *model, s *api.Session, width int) []span {
	state, colour := s.State, ""
	switch {
	case s.IsCompacting:
		state, colour = "compacting", screen.Magenta
	case state == "busy":
		colour = screen.Green
	case state == "idle", state == "quiet", state == "ended":
		colour = screen.Dim
	default:
		colour = screen.Yellow
	}
	return []span{{screen.FitEnd(state, width), colour}}
}

// flagsCell says what is under way: messages that wait, a handoff, what keeps the agent from one, and that notices are
// off. Where there is no room, it says so in letters.
func flagsCell(_ *model, s *api.Session, width int) []span {
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
	text := screen.Text(strings.Join(long, " "))
	if screen.Cells(text) > width {
		text = screen.FitStart(strings.Join(short, ""), width)
	}
	return []span{{text, screen.Yellow}}
}

// seenCell is how long ago the session did anything.
func seenCell(t *model, s *api.Session, width int) []span {
	text := strings.TrimSuffix(screen.Ago(s.LastActive, t.now), " ago")
	if screen.Cells(text) > width {
		text = "–" // it is still to come
	}
	return []span{{text, screen.Dim}}
}
