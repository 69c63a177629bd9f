package alerts

import "sm/transcript"

// Level is the urgency of a context size.
type Level uint8

// The levels, in rising order.
const (
	OK Level = iota
	EarlyWarn
	Warn
	Critical
)

// String returns the level as metrics, JSON and level files write it.
func (l Level) String() string {
	return [...]string{"ok", "early_warn", "warn", "critical"}[l]
}

// Thresholds are the sizes from which a level applies. Tokens above 0 replace
// the percentages of the context window, 1..100. The tags are those of the
// configuration.
type Thresholds struct {
	WarningPercentage  int   `yaml:"warning_percentage" default:"50" bounds:"1..100" below:"critical_percentage"`
	CriticalPercentage int   `yaml:"critical_percentage" default:"65" bounds:"1..100"`
	WarningTokens      int64 `yaml:"warning_tokens" bounds:"0..1000000000" below:"critical_tokens"`
	CriticalTokens     int64 `yaml:"critical_tokens" bounds:"0..1000000000"`
	// WarningOfThreshold and CriticalOfThreshold are percentages of the size at
	// which the client compacts, 1..100, from which the levels apply at the
	// latest. 0: not used.
	WarningOfThreshold  int `yaml:"warning_of_threshold" default:"60" bounds:"0..100" below:"critical_of_threshold"`
	CriticalOfThreshold int `yaml:"critical_of_threshold" default:"78" bounds:"0..100"`
	// EarlyRatio is the share of the warning threshold from which EarlyWarn
	// applies, 0..1.
	EarlyRatio float64 `yaml:"early_warn_ratio" default:"0.8" bounds:"0..1"`
}

// Level returns the level of a context. Clients add the cleared tokens to the
// context when they decide whether to compact. Percentages do not apply without
// a window. A compactsAt of 0 means unknown or never.
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

// bound has the sizes from which a level applies: the size of the context, and
// the total that the client compares with its compaction threshold. 0 is none.
type bound struct{ context, total int64 }

func (t Thresholds) bounds(window transcript.Window, compactsAt int64) (warning, critical bound) {
	of := func(tokens int64, percentage, latest int) bound {
		if tokens <= 0 && percentage <= 0 {
			return bound{} // the level is off
		}
		if tokens <= 0 {
			tokens = window.Reaches(percentage)
		}
		return bound{tokens, (compactsAt*int64(latest) + 99) / 100} // rounded up
	}
	return of(t.WarningTokens, t.WarningPercentage, t.WarningOfThreshold),
		of(t.CriticalTokens, t.CriticalPercentage, t.CriticalOfThreshold)
}

// reached reports whether a context has reached a share of the bound.
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

// Pressure is the proximity of a context to the next automatic compaction.
// Colours, order and alerts use it. A Level, in contrast, reflects the notices
// to the agent.
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

// The ratios from which a pressure applies. At Rising and High the warning and
// the critical notice are due at the latest (defaults of warning_of_threshold
// and critical_of_threshold). At Imminent one or two replies are left.
const (
	RisingFrom   = 0.6
	HighFrom     = 0.78
	ImminentFrom = 0.95
)

// String returns the pressure as JSON writes it, "" if unknown.
func (p Pressure) String() string {
	return [...]string{"", "calm", "rising", "high", "imminent"}[p]
}

// PressureOf returns the pressure of a context. ratio is the sum of context and
// cleared tool results, which the client compares with its compaction
// threshold, as a share of that threshold, all in tokens. It is 0 or more, and
// above 1 for a client that compacts late. Without a threshold, or with
// negative sizes, the result is 0 and PressureUnknown.
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
