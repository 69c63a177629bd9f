package alerts

// Pressure says how far a context is on its way to the next compaction by the client itself. It is one figure for colours,
// order and alerts everywhere; a Level says what the agent was told, which is something else.
type Pressure uint8

// The pressures, in rising order. PressureUnknown stands for a context or a compaction threshold that is not known.
const (
	PressureUnknown Pressure = iota
	Calm
	Rising
	High
	Imminent
)

// The ratios from which on a pressure holds. Rising and High are where the warning and the critical notice are due at the
// latest (warning_of_threshold, critical_of_threshold by default), Imminent is where a reply or two are left.
const (
	RisingFrom   = 0.6
	HighFrom     = 0.78
	ImminentFrom = 0.95
)

// String is the pressure as JSON writes it; "" while unknown.
func (p Pressure) String() string {
	return [...]string{"", "calm", "rising", "high", "imminent"}[p]
}

// PressureOf is the size that the client's own compaction goes by, context and cleared tool results in tokens, as a share
// of the compaction threshold in tokens: 0 or more, and above 1 for a client that is late. Without a threshold, or with
// negative sizes, it is 0 and PressureUnknown.
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
