package page

import (
	"fmt"
	"strings"

	"sm/observer/api"
)

// row is a session in the list.
type row struct {
	*api.Session
	View  string
	Spark spark
}

// warned reports whether the agent gets notices.
func warned(s *api.Session) bool { return s.Enabled && s.Reachable }

// noticed returns the threshold of the highest notice that the context has
// reached, 0 if it has reached none.
func noticed(s *api.Session) int64 {
	if !warned(s) || tokens(s) == 0 {
		return 0
	}
	return map[string]int64{"warn": s.WarningTokens, "critical": s.CriticalTokens}[s.Level]
}

// limit returns the compaction threshold as a share of the window, 0 if it is
// not within the window.
func limit(s *api.Session) float64 {
	if threshold := value(s.ThresholdTokens); threshold > 0 && threshold < s.WindowTokens {
		return float64(threshold) / float64(s.WindowTokens)
	}
	return 0
}

// reached returns the pressure in percent, "" while unknown.
func reached(s *api.Session) string {
	if s.PressureLevel == "" {
		return ""
	}
	return fmt.Sprintf("%d%%", int(100*min(value(s.Pressure), 10)))
}

// assumed reports whether a threshold with this source was neither seen nor
// configured.
func assumed(source string) bool {
	return source == "assumed" || source == "refusal" || source == "earliest"
}

// CompactsAt describes a compaction threshold and its source, such as "at 167k
// (assumed)".
func CompactsAt(threshold int64, source string) string {
	size := short(threshold)
	switch source {
	case "":
		return "at " + size
	case "refusal":
		return "when the API refuses, near " + size + " (assumed)"
	case "earliest":
		return "at " + size + " at the earliest (assumed)"
	case "seen":
		return "at " + size + " (seen before)"
	}
	return "at " + size + " (" + tame(source) + ")"
}

// notes returns special facts about what the agent does, separated by dots.
func notes(s *api.Session) string {
	var all []string
	if !s.IsCompacting && s.State == "waiting" && s.WaitingFor != "" {
		all = append(all, tame(s.WaitingFor))
	}
	if n := s.Subagents.Active; n > 0 {
		note := many(n, "subagent")
		if s.Subagents.MaxContext > 0 {
			note += ", " + short(s.Subagents.MaxContext)
		}
		all = append(all, note)
	}
	if s.Storming {
		all = append(all, "compaction storm")
	}
	if !s.Enabled {
		all = append(all, "muted")
	}
	return strings.Join(all, " · ")
}
