package config

import "time"

// Default is what holds when nobody says otherwise. The values are a promise: testdata/defaults.yaml is the
// published list, and a test compares the two.
func Default() *Config {
	return &Config{
		Projects: []string{},
		Listen:   []string{"127.0.0.1:8420", "[::1]:8420"},
		Log:      logConfig{Level: "info", Format: "text"},
		HTTP:     httpConfig{AllowedHosts: []string{}, AllowedUIDs: []int{}},
		Metrics:  metricsConfig{SessionTTL: time.Hour, MaxSessions: 500, Project: true},
		Windows:  []windowConfig{},
		Compaction: compactionConfig{
			Settle: 5 * time.Minute,
		},
		ContextMonitor: contextMonitorConfig{
			Enabled:             true,
			WarningPercentage:   50,
			CriticalPercentage:  65,
			WarningOfThreshold:  60,
			CriticalOfThreshold: 78,
			EarlyWarnRatio:      0.8,
			NoDataAfter:         10 * time.Minute,
		},
		Storm:     stormConfig{Count: 3, Within: 30 * time.Minute, Turns: 5},
		Reminders: remindersConfig{CompactionWait: 5 * time.Minute},
		Queue: queueConfig{
			PerAgent:        50,
			MessageBytes:    4096,
			PerSenderMinute: 10,
			TTL:             24 * time.Hour,
		},
		Handoff: handoffConfig{
			Expiry:           2 * time.Hour,
			BreakerCount:     3,
			BreakerWithin:    15 * time.Minute,
			DocumentBytes:    262144,
			InjectCharacters: 9500,
		},
		Channels:  []channelConfig{},
		Guard:     guardConfig{OverflowThreshold: 0.76, Allow: []string{"Write", "Edit", "Read"}},
		Supervise: superviseConfig{Restarts: 10, TermAfter: 10 * time.Second},
		Operator:  operatorConfig{Notify: []string{}, Compactions: true},
	}
}
