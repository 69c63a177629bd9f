package transcript

import (
	"math"
	"sort"
	"strings"
)

// WindowSource is the source of the size of a context window.
type WindowSource uint8

// Sources in falling order of trust.
const (
	WindowStatusline WindowSource = iota
	WindowConfig
	WindowObserved
	WindowModel
	WindowDefault
	// WindowTranscript is the size in the session's own records; it is trusted
	// like WindowStatusline.
	WindowTranscript
)

// String returns the source as metrics and JSON write it.
func (w WindowSource) String() string {
	return [...]string{
		"statusline",
		"config",
		"observed",
		"model",
		"default",
		"transcript",
	}[w]
}

// Window is the size of a context window in tokens.
type Window struct {
	Tokens int64
	Source WindowSource
	// Reserved is the number of tokens of each context that the client leaves
	// out of its percentages, 0 for none: instructions and tools, with which
	// every conversation begins.
	Reserved int64
	// Truncated is true if the client truncates the remaining percentage
	// instead of rounding it.
	Truncated bool
}

// WindowRule sets the window of the models whose name begins with Model. The tags are those
// of the configuration.
type WindowRule struct {
	Model  string `yaml:"model" is:"name" unique:"true"`
	Tokens int64  `yaml:"tokens" bounds:"1..1000000000"`
}

// Names reports whether the rule is for the model, with or without a date or a
// suffix.
func (r WindowRule) Names(model string) bool {
	rest, ok := strings.CutPrefix(model, r.Model)
	return ok && r.Model != "" &&
		(rest == "" || rest[0] == '-' || rest[0] == '[' || rest[0] == '@')
}

// Configured returns the window that rules set for a model, by the first rule
// whose Model is a prefix of the model's name; 0 for none.
func Configured(rules []WindowRule, model string) int64 {
	for _, r := range rules {
		if r.Tokens > 0 && model != "" && strings.HasPrefix(model, r.Model) {
			return r.Tokens
		}
	}
	return 0
}

// Percent returns the share of the window in use as the client shows it: a
// whole number in 0..100. The client divides before it multiplies, so that
// 57,000 of 200,000, 28.499999999999996 in its arithmetic, is 28. With Reserved
// tokens it is 100 minus the share of the other tokens that the client shows as
// left; 100 if the window is not larger than Reserved.
func (w Window) Percent(tokens int64) int {
	if w.Reserved <= 0 {
		if w.Tokens <= 0 || tokens <= 0 {
			return 0
		}
		return int(min(100, math.Floor(float64(tokens)/float64(w.Tokens)*100+0.5)))
	}
	room := w.Tokens - w.Reserved
	if room <= 0 {
		return 100
	}
	free := max(0, room-max(0, tokens-w.Reserved))
	left := float64(free) / float64(room) * 100
	if w.Truncated {
		return 100 - int(left)
	}
	return 100 - int(left+0.5)
}

// Reaches returns the smallest size in tokens that Percent shows as percent, 0
// for none.
func (w Window) Reaches(percent int) int64 {
	if percent > 100 {
		return 0
	}
	return int64(sort.Search(int(w.Tokens), func(tokens int) bool {
		return w.Percent(int64(tokens)) >= percent
	}))
}
