// Package urgency orders agents by how soon they need a person, and rounds
// forecasts in replies, so that all views have the same order and figures.
//
// It is pure, and has no type of a session: each view brings its own.
package urgency

import (
	"fmt"
	"math"
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

// Of returns the need of an agent in a state.
func Of(state string, compacting bool) Need {
	if compacting {
		return Works
	}
	switch state {
	case "waiting":
		return Waits
	case "idle":
		return Idles
	case "quiet", "ended", "left":
		return Rests
	}
	return Works
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

// wholeCycle is the assumed length of a cycle, in replies, without a forecast.
const wholeCycle = 100

// RepliesAt estimates from the pressure in how many replies a compaction is due.
func RepliesAt(pressure float64) float64 { return math.Round(wholeCycle * max(0, 1-pressure)) }
