package claude

import (
	"math"
	"strconv"
	"strings"

	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

// AutoCompact computes the automatic compaction of a client with these
// settings.
type AutoCompact hook.AutoCompact

// The rules by which clients compute the size at which they compact, read in
// their programs and compared with running ones from 2.0.30 to 2.1.330.
const (
	// outputReserve is the part of a window that is reserved for the next
	// answer, unless configured otherwise. oldOutputReserve is that of clients
	// before 2.1.21.
	outputReserve    = 20_000
	oldOutputReserve = 32_000
	mostOutput       = 64_000
	// compactBuffer is the number of tokens kept free in addition.
	compactBuffer = 13_000
	// leastAutoWindow is the smallest window that a client accepts for
	// compacting. It replaces a smaller one in the environment; a smaller one
	// in the settings is ignored.
	leastAutoWindow = 100_000
)

// Basis returns the rule by which a client of that version and model decides to
// compact. Since 2.1.197 a client compares the context with the computed size
// only if a window is configured, or if the model has a default window of its
// own: claude-sonnet-4-6 has one, claude-sonnet-4-5 has none. An account's
// server may set one for any model.
func (a *AutoCompact) Basis(model, version string) clients.Basis {
	switch {
	case version == "":
		return clients.Earliest
	case !atLeast(version, 2, 1, 197),
		a.window(model, version) > 0,
		strings.HasPrefix(model, "claude-sonnet-4-6"):
		return clients.Assumed
	case strings.HasPrefix(model, "claude-sonnet-4-5"):
		return clients.Refusal
	}
	return clients.Earliest
}

// CompactsAt returns the context size in tokens at which a client of that version
// compacts automatically, with a model of that window; 0 if it does not, or if the
// window is unknown. An empty version means the newest.
func (a *AutoCompact) CompactsAt(window int64, model, version string) int64 {
	if a.Off || window <= 0 {
		return 0
	}
	if a.Basis(model, version) == clients.Refusal {
		return window
	}
	if own := a.window(model, version); own > 0 {
		window = min(window, own)
	}
	room := window - a.reserve(version)
	at := room - compactBuffer
	p, err := strconv.ParseFloat(number(a.Percent, "."), 64)
	if err == nil && p > 0 && p <= 100 {
		at = min(at, int64(math.Floor(float64(room)*(p/100))))
	}
	return max(0, at)
}

// window returns the configured window for compaction, 0 for the model's own
// window.
func (a *AutoCompact) window(model, version string) int64 {
	if atLeast(version, 2, 1, 53) { // 2.1.52 ignores the variable, 2.1.75 reads it
		if n := envWindow(a.Window, version); n > 0 {
			return n
		}
	}
	if !atLeast(version, 2, 1, 76) { // 2.1.75 ignores the setting, 2.1.100 reads it
		return 0
	}
	best := transcript.WindowRule{Tokens: a.Setting}
	for name, tokens := range a.Models { // claude-opus-4 includes an unlisted claude-opus-4-8
		rule := transcript.WindowRule{Model: name, Tokens: tokens}
		if rule.Names(model) && len(name) > len(best.Model) {
			best = rule
		}
	}
	if best.Tokens < leastAutoWindow { // the client ignores it
		return 0
	}
	return best.Tokens
}

// envWindow parses the variable. It returns 0 for a value that the client
// ignores.
func envWindow(text, version string) int64 {
	text = strings.ToLower(strings.TrimSpace(text))
	unit := float64(1)
	if atLeast(version, 2, 1, 330) { // 2.1.300 reads 200k as 200
		switch {
		case strings.HasSuffix(text, "k"):
			unit = 1e3
		case strings.HasSuffix(text, "m"):
			unit = 1e6
		}
	}
	digits := number(text, "")
	if unit > 1 {
		digits = number(text, ".")
	}
	n, err := strconv.ParseFloat(digits, 64)
	if n = math.Round(n * unit); err != nil || n < 1 || n > 1e15 {
		return 0
	}
	if atLeast(version, 2, 1, 76) { // 2.1.75 has no minimum
		n = max(n, leastAutoWindow)
	}
	return int64(n)
}

// reserve returns the number of tokens that the client keeps free for the next
// answer.
func (a *AutoCompact) reserve(version string) int64 {
	most := int64(outputReserve)
	usual := int64(outputReserve)
	if !atLeast(version, 2, 1, 21) {
		most = mostOutput
		usual = oldOutputReserve
	}
	if n, err := strconv.ParseInt(number(a.Output, ""), 10, 64); err == nil && n > 0 {
		return min(n, most)
	}
	return usual
}

// number returns the number with which a text begins, as the client reads it;
// the rest is ignored. point is "." if a fraction counts.
func number(text, point string) string {
	text = strings.TrimSpace(text)
	text = strings.TrimPrefix(text, "+")
	rest := strings.TrimLeft(text, "0123456789")
	if point != "" && strings.HasPrefix(rest, point) {
		rest = strings.TrimLeft(rest[1:], "0123456789")
	}
	return text[:len(text)-len(rest)]
}

// atLeast reports whether the client has at least that version; an unknown
// version counts as the newest.
func atLeast(version string, than ...int) bool {
	return !hook.AtLeast(version, 0) || hook.AtLeast(version, than...)
}
