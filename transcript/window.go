package transcript

import (
	"math"
	"strings"
)

// WindowSource says where the size of a context window comes from.
type WindowSource uint8

// Sources in falling order of trust.
const (
	WindowStatusline WindowSource = iota
	WindowConfig
	WindowObserved
	WindowModel
	WindowDefault
)

// String is the source as metrics and JSON write it.
func (w WindowSource) String() string {
	return [...]string{"statusline", "config", "observed", "model", "default"}[w]
}

const (
	smallWindow = 200_000
	largeWindow = 1_000_000
)

// Window is the size of a context window in tokens.
type Window struct {
	Tokens int64
	Source WindowSource
}

// WindowRule sets the window of the models whose name begins with Model.
type WindowRule struct {
	Model  string
	Tokens int64
}

// modelWindows lists the models whose window does not depend on plan or suffix,
// after the vendor's documentation of August 2026. A transcript never carries the
// suffix [1m], so models that come with both windows are missing here.
var modelWindows = [...]WindowRule{
	{"claude-fable-5", largeWindow},
	{"claude-sonnet-5", largeWindow},
	{"claude-opus-4-7", largeWindow},
	{"claude-opus-4-8", largeWindow},
	{"claude-opus-4-9", largeWindow},
	{"claude-sonnet-4-5", smallWindow},
	{"claude-haiku-4-5", smallWindow},
}

// WindowOf finds the window of a session: what its status line said (0: nothing),
// else the first rule that fits its model, else a million once it has shown more
// than 200,000 tokens, else the table of models, else 200,000.
func WindowOf(s *Session, statusline int64, rules []WindowRule) Window {
	if statusline > 0 {
		return Window{statusline, WindowStatusline}
	}
	for _, r := range rules {
		if r.Tokens > 0 && s.Model != "" && strings.HasPrefix(s.Model, r.Model) {
			return Window{r.Tokens, WindowConfig}
		}
	}
	if s.Peak > smallWindow {
		return Window{largeWindow, WindowObserved}
	}
	for _, r := range modelWindows {
		if named(s.Model, r.Model) {
			return Window{r.Tokens, WindowModel}
		}
	}
	return Window{smallWindow, WindowDefault}
}

// Percent is the share of the window in use as the client shows it: a whole number
// in 0..100. The client divides before it multiplies, so that 57,000 of 200,000,
// 28.499999999999996 in its arithmetic, is 28.
func (w Window) Percent(tokens int64) int {
	if w.Tokens <= 0 || tokens <= 0 {
		return 0
	}
	return int(min(100, math.Floor(float64(tokens)/float64(w.Tokens)*100+0.5)))
}
