package alerts

import "time"

// Options are the settings of an Engine: context_monitor, compaction, storm,
// reminders and messages. The configuration has checked them.
type Options struct {
	// Disabled suppresses all notices; levels and cycles are still computed.
	Disabled   bool
	Thresholds Thresholds
	// Estimate permits notices based on estimated context sizes.
	Estimate bool
	// ForecastReplies and ForecastTurns are the numbers of model replies and of
	// turns left before the compaction at which a forecast is sent, by the low
	// end of its range; 0: never.
	ForecastReplies, ForecastTurns int
	// NoDataAfter is how long an active agent may be without a reading; 0: for
	// ever.
	NoDataAfter time.Duration
	// CompactionThreshold is the context size in tokens at which clients
	// compact. If 0, it is the size at which compactions were observed, else an
	// assumed one.
	CompactionThreshold int64
	// Settle is the maximum duration of a compaction, and of the time between
	// its signs.
	Settle time.Duration
	// OperatorCompactions notifies the operator of compactions of agents without
	// a parent.
	OperatorCompactions bool
	Storm               Storm
	Reminders           Reminders
	Messages            Messages
}

// Reminders are the intervals after which every agent is reminded, and how long
// a reminder waits for a compaction. The tags are those of the configuration.
type Reminders struct {
	// Soft and Hard count from the last activity of the agent; 0: never.
	Soft time.Duration `yaml:"soft" below:"hard"`
	Hard time.Duration `yaml:"hard"`
	// Wait is how long a single reminder waits while its agent compacts; 0: 5
	// minutes.
	Wait time.Duration `yaml:"compaction_wait" default:"5m"`
}

// Storm defines a storm. Either condition is sufficient; 0 turns a condition
// off. The tags are those of the configuration.
type Storm struct {
	// Count is the number of automatic compactions within Within that make a
	// storm.
	Count  int           `yaml:"count" default:"3" bounds:"1..1000000"`
	Within time.Duration `yaml:"within" default:"30m" bounds:">0"`
	// Turns is the number of consecutive turns, including the first and the
	// last, in which two automatic compactions make a storm.
	Turns int `yaml:"turns" default:"5" bounds:"0..1000000"`
}

// Defaults returns the default settings.
func Defaults() Options {
	return Options{
		Thresholds: Thresholds{
			WarningPercentage:   50,
			CriticalPercentage:  65,
			WarningOfThreshold:  60,
			CriticalOfThreshold: 78,
			EarlyRatio:          0.8,
		},
		NoDataAfter: 10 * time.Minute,
		Settle:      5 * time.Minute,
		Storm:       Storm{Count: 3, Within: 30 * time.Minute, Turns: 5},
		Reminders:   Reminders{Wait: 5 * time.Minute},
	}
}
