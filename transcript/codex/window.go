package codex

import (
	"fmt"

	"sm/transcript"
)

const (
	// reserved is how many tokens the client takes for what each conversation begins with: it
	// leaves them out of its percentages.
	reserved = 12_000
	// usualWindow is 95 % of 272,000 tokens, the window of most models.
	usualWindow = 258_400
	// lastTruncating is the minor version of the newest client that was observed to
	// truncate the percentage that is left. 0.80 rounds it.
	lastTruncating = 45
)

// WindowOf finds the window of a session: the first rule that its model's name begins with,
// else what its records name, else that of most models.
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

// CompactsAt is the size in tokens at which the client compacts by itself, at
// the latest: 90 % of the raw window. The window given is 95 % of that. A lower
// limit may be configured; it is in no record.
func CompactsAt(window int64) int64 { return window * 18 / 19 }
