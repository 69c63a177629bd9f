package codex

import (
	"fmt"

	"sm/transcript"
)

const (
	// reserved is the number of tokens that the client attributes to the
	// beginning of each conversation and leaves out of its percentages.
	reserved = 12_000
	// usualWindow is 95 % of 272,000 tokens, the window of most models.
	usualWindow = 258_400
	// lastTruncating is the minor version of the newest client that was
	// observed to truncate the remaining percentage. 0.80 rounds it.
	lastTruncating = 45
)

// WindowOf returns the window of a session: that of the first rule whose name
// is a prefix of the model's name, else that of its records, else that of most
// models.
func WindowOf(s *transcript.Session, rules []transcript.WindowRule) transcript.Window {
	w := transcript.Window{
		Tokens:   usualWindow,
		Source:   transcript.WindowDefault,
		Reserved: reserved,
	}
	if reported := s.Details().Window; reported > 0 {
		w.Tokens = reported
		w.Source = transcript.WindowTranscript
	}
	var minor int
	if n, _ := fmt.Sscanf(s.Version, "0.%d.", &minor); n == 1 {
		w.Truncated = minor <= lastTruncating
	}
	if configured := transcript.Configured(rules, s.Model); configured > 0 {
		w.Tokens = configured
		w.Source = transcript.WindowConfig
	}
	return w
}

// CompactsAt returns the size in tokens at which the client compacts
// automatically at the latest: 90 % of the raw window. The argument is 95 % of
// that. The user may configure a lower limit, which is in no record.
func CompactsAt(window int64) int64 { return window * 18 / 19 }
