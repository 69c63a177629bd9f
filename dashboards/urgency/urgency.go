// Package urgency says which agents want a person first, and in how many replies they are compacted, so that all views have
// the same order and figures.
//
// It is pure, and knows neither rows nor sessions: each view brings its own.
package urgency

import (
	"fmt"
	"math"
)

// Need is in what order agents want a person: the first ones wait for one.
type Need int

// The needs, in their order.
const (
	Waits Need = iota
	Works
	Idles
	Rests
)

// Of is what an agent's state means.
func Of(state string, compacting bool) Need {
	switch {
	case compacting:
		return Works
	case state == "waiting":
		return Waits
	case state == "idle":
		return Idles
	case state == "quiet" || state == "ended" || state == "left":
		return Rests
	}
	return Works
}

// ManyReplies is from where a forecast is no more than "many".
const ManyReplies = 1000

// Replies is a forecast in replies as it is shown and sorted by: whole, 0 to ManyReplies, which stands for all that is more.
func Replies(likely float64) int { return int(math.Round(min(ManyReplies, max(0, likely)))) }

// ReplyCount writes what Replies gives: 40, 1000+.
func ReplyCount(likely float64) string {
	n := Replies(likely)
	if n == ManyReplies {
		return "1000+"
	}
	return fmt.Sprint(n)
}

// repliesWhole are as many replies as a cycle is taken to have where no forecast says how the context grows.
const repliesWhole = 100

// RepliesAt is in how many replies a compaction is due by the pressure alone, where there is no forecast.
func RepliesAt(pressure float64) float64 { return math.Round(repliesWhole * max(0, 1-pressure)) }
