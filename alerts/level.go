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

// Level returns the level of a context. Without a window percentages do not
// apply. A compactsAt of 0 means unknown or never.
func (t Thresholds) Level(tokens int64, window transcript.Window, compactsAt int64) Level {
	warning, critical := t.Limits(window, compactsAt)
	switch {
	case critical > 0 && tokens >= critical:
		return Critical
	case warning > 0 && tokens >= warning:
		return Warn
	case warning > 0 && t.EarlyRatio > 0 && float64(tokens) >= t.EarlyRatio*float64(warning):
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
	return limit(t.WarningTokens, t.WarningPercentage, window, t.WarningOfThreshold, compactsAt),
		limit(t.CriticalTokens, t.CriticalPercentage, window, t.CriticalOfThreshold, compactsAt)
}

// byThreshold returns only the thresholds relative to the size at which the
// client compacts, for a window of 0. Levels that are switched off stay so.
func (t Thresholds) byThreshold() Thresholds {
	t.WarningTokens, t.WarningPercentage = 0, max(t.WarningPercentage, int(min(t.WarningTokens, 1)))
	t.CriticalTokens, t.CriticalPercentage = 0, max(
		t.CriticalPercentage,
		int(min(t.CriticalTokens, 1)),
	)
	return t
}

// limit returns the smaller of a threshold in tokens or percent of the window,
// and one in percent of the size at which the client compacts; 0 for none.
// Without either of the first two a level is switched off.
func limit(
	tokens int64,
	percentage int,
	window transcript.Window,
	latest int,
	compactsAt int64,
) int64 {
	if tokens <= 0 && percentage <= 0 {
		return 0
	}
	if tokens <= 0 {
		tokens = window.Reaches(percentage)
	}
	switch end := share(latest, compactsAt); {
	case end <= 0:
		return tokens
	case tokens <= 0:
		return end
	default:
		return min(tokens, end)
	}
}

// share is a percentage of a size, rounded up so that nothing smaller reaches it.
func share(percentage int, of int64) int64 { return (of*int64(percentage) + 99) / 100 }

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
