package alerts

import "sm/transcript"

// Level is how urgent the size of a context is.
type Level uint8

// The levels, in rising order.
const (
	OK Level = iota
	EarlyWarn
	Warn
	Critical
)

// String is the level as metrics, JSON and level files write it.
func (l Level) String() string {
	return [...]string{"ok", "early_warn", "warn", "critical"}[l]
}

// Thresholds are the sizes from which a level applies. Tokens above 0 replace
// the percentages of the context window, 1..100. The tags are those of the configuration.
type Thresholds struct {
	WarningPercentage  int   `yaml:"warning_percentage" default:"50" bounds:"1..100" below:"critical_percentage"`
	CriticalPercentage int   `yaml:"critical_percentage" default:"65" bounds:"1..100"`
	WarningTokens      int64 `yaml:"warning_tokens" bounds:"0..1000000000" below:"critical_tokens"`
	CriticalTokens     int64 `yaml:"critical_tokens" bounds:"0..1000000000"`
	// WarningOfThreshold and CriticalOfThreshold are percentages of the size at which
	// the client compacts, 1..100: at the latest there the levels hold. 0: not used.
	WarningOfThreshold  int `yaml:"warning_of_threshold" default:"60" bounds:"0..100" below:"critical_of_threshold"`
	CriticalOfThreshold int `yaml:"critical_of_threshold" default:"78" bounds:"0..100"`
	// EarlyRatio is the share of the warning threshold from which on EarlyWarn
	// holds, 0..1.
	EarlyRatio float64 `yaml:"early_warn_ratio" default:"0.8" bounds:"0..1"`
}

// Level returns the level of a context. cleared tokens count besides where the client
// decides whether to compact. Without a window percentages do not apply. A compactsAt of 0
// means unknown or never.
func (t Thresholds) Level(
	tokens, cleared int64,
	window transcript.Window,
	compactsAt int64,
) Level {
	warning, critical := t.bounds(window, compactsAt)
	switch {
	case critical.reached(tokens, cleared, 1):
		return Critical
	case warning.reached(tokens, cleared, 1):
		return Warn
	case t.EarlyRatio > 0 && warning.reached(tokens, cleared, t.EarlyRatio):
		return EarlyWarn
	}
	return OK
}

// Limits returns the sizes in tokens from which Warn and Critical apply, 0 for
// never. A percentage of the window is reached when the client shows it.
func (t Thresholds) Limits(
	window transcript.Window,
	compactsAt int64,
) (warning, critical int64) {
	w, c := t.bounds(window, compactsAt)
	return w.lower(), c.lower()
}

// bound has the sizes from which a level holds: of the context, and of what the client
// compares with the size at which it compacts. 0 is for none.
type bound struct{ context, total int64 }

func (t Thresholds) bounds(window transcript.Window, compactsAt int64) (warning, critical bound) {
	of := func(tokens int64, percentage, latest int) bound {
		if tokens <= 0 && percentage <= 0 {
			return bound{} // the level is switched off
		}
		if tokens <= 0 {
			tokens = window.Reaches(percentage)
		}
		return bound{tokens, (compactsAt*int64(latest) + 99) / 100} // nothing smaller reaches it
	}
	return of(t.WarningTokens, t.WarningPercentage, t.WarningOfThreshold),
		of(t.CriticalTokens, t.CriticalPercentage, t.CriticalOfThreshold)
}

// reached reports whether a context has come to a share of the bound.
func (b bound) reached(tokens, cleared int64, share float64) bool {
	return b.context > 0 && float64(tokens) >= share*float64(b.context) ||
		b.total > 0 && float64(tokens+cleared) >= share*float64(b.total)
}

// lower returns the smaller size.
func (b bound) lower() int64 {
	if b.context <= 0 || b.total > 0 && b.total < b.context {
		return b.total
	}
	return b.context
}

// Pressure is how near a context is to the next automatic compaction. Colours,
// order and alerts use it; a Level is what the agent was notified of.
type Pressure uint8

// The pressures, in rising order. PressureUnknown means that the context or the
// compaction threshold is unknown.
const (
	PressureUnknown Pressure = iota
	Calm
	Rising
	High
	Imminent
)

// The ratios from which on a pressure holds. Rising and High are where the
// warning and the critical notice are due at the latest (warning_of_threshold,
// critical_of_threshold by default), Imminent is where a reply or two are left.
const (
	RisingFrom   = 0.6
	HighFrom     = 0.78
	ImminentFrom = 0.95
)

// String is the pressure as JSON writes it; "" while unknown.
func (p Pressure) String() string {
	return [...]string{"", "calm", "rising", "high", "imminent"}[p]
}

// PressureOf is the size that the client's own compaction goes by, context and
// cleared tool results in tokens, as a share of the compaction threshold in
// tokens: 0 or more, and above 1 for a client that is late. Without a
// threshold, or with negative sizes, it is 0 and PressureUnknown.
func PressureOf(context, cleared, threshold int64) (ratio float64, p Pressure) {
	if threshold <= 0 || context < 0 || cleared < 0 {
		return 0, PressureUnknown
	}
	ratio = (float64(context) + float64(cleared)) / float64(threshold)
	switch {
	case ratio >= ImminentFrom:
		return ratio, Imminent
	case ratio >= HighFrom:
		return ratio, High
	case ratio >= RisingFrom:
		return ratio, Rising
	}
	return ratio, Calm
}
