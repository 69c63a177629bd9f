package main

import (
	"sm/alerts"
	"sm/alerts/outbox"
	"sm/transcript"
)

// windowRules are the configured windows.
func (c *config) windowRules() []transcript.WindowRule {
	rules := make([]transcript.WindowRule, len(c.Windows))
	for i, w := range c.Windows {
		rules[i] = transcript.WindowRule{Model: w.Model, Tokens: int64(w.Tokens)}
	}
	return rules
}

// thresholds are the configured levels.
func (c *config) thresholds() alerts.Thresholds {
	m := c.ContextMonitor
	return alerts.Thresholds{
		WarningPercentage: m.WarningPercentage, CriticalPercentage: m.CriticalPercentage,
		WarningTokens: int64(m.WarningTokens), CriticalTokens: int64(m.CriticalTokens), EarlyRatio: m.EarlyWarnRatio,
	}
}

// alerts are the settings of the policy.
func (c *config) alerts() alerts.Options {
	m, t := c.ContextMonitor, c.Messages
	return alerts.Options{
		Disabled: !m.Enabled, Thresholds: c.thresholds(), Estimate: m.Estimate, ForecastTurns: m.ForecastTurns,
		NoDataAfter: m.NoDataAfter, CompactionThreshold: int64(c.Compaction.ThresholdTokens), Settle: c.Compaction.Settle,
		Storm:     alerts.Storm{Count: c.Storm.Count, Within: c.Storm.Within, Turns: c.Storm.Turns},
		Reminders: alerts.Reminders{Soft: c.Reminders.Soft, Hard: c.Reminders.Hard, Wait: c.Reminders.CompactionWait},
		Messages: alerts.Messages{
			Warning: t.Warning, Critical: t.Critical, Compacted: t.Compacted, Storm: t.Storm, NoData: t.NoData, Forecast: t.Forecast,
		},
	}
}

// offersMost is how often one message is given to a client that never shows it in its transcript.
const offersMost = 10

// queue are the settings of the messages.
func (c *config) queue() outbox.Options {
	o := outbox.Defaults()
	o.Offers = offersMost
	o.PerAgent, o.MessageBytes, o.PerSenderMinute, o.TTL = c.Queue.PerAgent, c.Queue.MessageBytes, c.Queue.PerSenderMinute, c.Queue.TTL
	return o
}
