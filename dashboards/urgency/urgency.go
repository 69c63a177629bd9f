// Package urgency orders agents by how soon they need a person, and rounds
// forecasts in replies, so that all views have the same order and figures.
//
// Its functions are pure.
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

// Unreached reports whether a session is active and notices cannot reach its
// agent.
func Unreached(s *api.Session) bool { return Of(s) == Works && s.Enabled && !s.Reachable }

// Notices returns a line about active agents without notices, "" if there are
// none.
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
	return fmt.Sprintf("No notices reach %d of the agents at work: run sm install, and give them a prompt.", n)
}

// Resting reports whether a session is idle or quiet.
func Resting(s *api.Session) bool { return Of(s) >= Idles }

// Forecast returns the forecast of the replies until the next compaction, nil
// if there is none.
func Forecast(s *api.Session) *api.Range {
	if s.Forecast == nil {
		return nil
	}
	return s.Forecast.Replies
}

// wholeCycle is the assumed length of a cycle, in replies, without a forecast.
const wholeCycle = 100

// Left returns the replies until the next compaction, rounded as shown: by the
// forecast, else by the pressure, infinite if both are unknown.
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

// Replies rounds a forecast for display and sorting: to a whole number from 0
// to ManyReplies.
func Replies(likely float64) int { return int(math.Round(min(ManyReplies, max(0, likely)))) }

// ReplyCount formats the result of Replies: 40, 1000+.
func ReplyCount(likely float64) string {
	n := Replies(likely)
	if n == ManyReplies {
		return "1000+"
	}
	return fmt.Sprint(n)
}
