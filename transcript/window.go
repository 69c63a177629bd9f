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

// Names reports whether the rule's model is that one, with or without a date or a suffix.
func (r WindowRule) Names(model string) bool {
	rest, ok := strings.CutPrefix(model, r.Model)
	return ok && r.Model != "" && (rest == "" || rest[0] == '-' || rest[0] == '[' || rest[0] == '@')
}

// Windows is what is known of the windows of one client's models, in tokens.
type Windows struct {
	// Models have a window that depends on nothing but the model.
	Models []WindowRule
	// Default is the window of any other model, and Large that of a session which has shown
	// a context of more than Default.
	Default, Large int64
}

// Of finds the window of a session: what its status line said (0: nothing), else the first
// rule that its model's name begins with, else Large once it has shown more than Default, else
// the table of models, else Default.
func (w Windows) Of(s *Session, statusline int64, rules []WindowRule) Window {
	if statusline > 0 {
		return Window{statusline, WindowStatusline}
	}
	for _, r := range rules {
		if r.Tokens > 0 && s.Model != "" && strings.HasPrefix(s.Model, r.Model) {
			return Window{r.Tokens, WindowConfig}
		}
	}
	if s.Peak > w.Default {
		return Window{w.Large, WindowObserved}
	}
	for _, r := range w.Models {
		if r.Names(s.Model) {
			return Window{r.Tokens, WindowModel}
		}
	}
	return Window{w.Default, WindowDefault}
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
