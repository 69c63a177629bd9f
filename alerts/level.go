package alerts

// Level is how urgent a context's size is.
type Level uint8

// The levels, in rising order.
const (
	OK Level = iota
	EarlyWarn
	Warn
	Critical
)

// Levels lists all of them, for metrics that show each.
func Levels() [4]Level { return [4]Level{OK, EarlyWarn, Warn, Critical} }

// String is the level as metrics, JSON and level files write it.
func (l Level) String() string {
	return [...]string{"ok", "early_warn", "warn", "critical"}[l]
}

// Thresholds say from which size on a level holds. Tokens above 0 take the place
// of the percentages, which are of the context window, 1..100.
type Thresholds struct {
	WarningPercentage, CriticalPercentage int
	WarningTokens, CriticalTokens         int64
	// EarlyRatio is the share of the warning threshold from which on EarlyWarn
	// holds, 0..1.
	EarlyRatio float64
}

// Level judges a context of so many tokens in a window of so many. A window of 0
// has no percentages: then only token thresholds count.
func (t Thresholds) Level(tokens, window int64) Level {
	warning, critical := t.Limits(window)
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

// Limits are the sizes in tokens from which on Warn and Critical hold in a window of so
// many, 0 for never.
func (t Thresholds) Limits(window int64) (warning, critical int64) {
	return limit(t.WarningTokens, t.WarningPercentage, window), limit(t.CriticalTokens, t.CriticalPercentage, window)
}

// limit is a threshold in tokens, rounded up so that no smaller size reaches the
// percentage; 0 when there is none.
func limit(tokens int64, percentage int, window int64) int64 {
	if tokens > 0 {
		return tokens
	}
	return (window*int64(percentage) + 99) / 100
}
