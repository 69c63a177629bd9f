// Package urgency orders agents by how soon they need a person, and rounds
// forecasts in replies, so that all views have the same order and figures.
//
// It is pure.
package urgency

import (
	"fmt"
	"math"

	"sm/observer/api"
)

// Need orders agents: those that wait for a person come first.
type Need int

// The needs, in order.
const (
	Waits Need = iota
	Works
	Idles
	Rests
)

// Of returns the need of a session.
func Of(s *api.Session) Need {
	if s.IsCompacting {
		return Works
	}
	switch s.State {
	case "waiting":
		return Waits
	case "idle":
		return Idles
	case "quiet", "ended", "left":
		return Rests
	}
	return Works
}

// Unreached reports whether a session is at work and no notice can reach its agent.
func Unreached(s *api.Session) bool { return Of(s) == Works && s.Enabled && !s.Reachable }

// Notices returns a line about agents that get no notices, "" for none.
func Notices(all *api.Sessions) string {
	n := 0
	for i := range all.Sessions {
		if Unreached(&all.Sessions[i]) {
			n++
		}
	}
	switch {
	case all.NotWarned:
		return api.NotWarnedNotice
	case n == 0:
		return ""
	}
	return fmt.Sprintf("No notices reach %d of the agents at work: start them anew after sm install.", n)
}

// Resting reports whether a session is idle or quiet.
func Resting(s *api.Session) bool { return Of(s) >= Idles }

// Forecast returns in how many replies the next compaction is due, or nil.
func Forecast(s *api.Session) *api.Range {
	if s.Forecast == nil {
		return nil
	}
	return s.Forecast.Replies
}

// wholeCycle is the assumed length of a cycle, in replies, without a forecast.
const wholeCycle = 100

// Left returns in how many replies a compaction is due, rounded as it is shown: by
// the forecast, else by the pressure, infinite while both are unknown.
func Left(s *api.Session) float64 {
	switch r := Forecast(s); {
	case r != nil:
		return float64(Replies(r.Likely))
	case s.Pressure != nil:
		return math.Round(wholeCycle * max(0, 1-*s.Pressure))
	}
	return math.Inf(1)
}

// ManyReplies is the largest forecast that is shown.
const ManyReplies = 1000

// Replies rounds a forecast to the figure that is shown and sorted by: whole,
// from 0 to ManyReplies.
func Replies(likely float64) int { return int(math.Round(min(ManyReplies, max(0, likely)))) }

// ReplyCount formats what Replies returns: 40, 1000+.
func ReplyCount(likely float64) string {
	n := Replies(likely)
	if n == ManyReplies {
		return "1000+"
	}
	return fmt.Sprint(n)
}
