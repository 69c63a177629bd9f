package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/spf13/pflag"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/cmd/sm/internal/config"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer"
	"sm/transcript"
)

// loadConfig reads the configuration for a command with these flags.
func loadConfig(flags *pflag.FlagSet, env *environ) (*config.Config, error) {
	source, err := findConfig(flags, env)
	if err != nil {
		return nil, err
	}
	return source.Load(flags, env.lookupEnv)
}

// findConfig says where the configuration is.
func findConfig(flags *pflag.FlagSet, env *environ) (config.Source, error) {
	if f := flags.Lookup("config"); f != nil && f.Changed && f.Value.String() == "" {
		return config.Source{}, usagef("--config is empty: give it a file")
	}
	return config.Find(flags, env.lookupEnv)
}

func quote(s string) string { return config.Quote(s) }

// windowRules are the configured windows.
func windowRules(c *config.Config) []transcript.WindowRule {
	rules := make([]transcript.WindowRule, len(c.Windows))
	for i, w := range c.Windows {
		rules[i] = transcript.WindowRule{Model: w.Model, Tokens: int64(w.Tokens)}
	}
	return rules
}

// thresholds are the configured levels.
func thresholds(c *config.Config) alerts.Thresholds {
	m := c.ContextMonitor
	return alerts.Thresholds{
		WarningPercentage: m.WarningPercentage, CriticalPercentage: m.CriticalPercentage,
		WarningTokens: int64(m.WarningTokens), CriticalTokens: int64(m.CriticalTokens),
		WarningOfThreshold: m.WarningOfThreshold, CriticalOfThreshold: m.CriticalOfThreshold, EarlyRatio: m.EarlyWarnRatio,
	}
}

// alertOptions are the settings of the policy.
func alertOptions(c *config.Config) alerts.Options {
	m, t := c.ContextMonitor, c.Messages
	return alerts.Options{
		Disabled: !m.Enabled, Thresholds: thresholds(c), Estimate: m.Estimate, ForecastTurns: m.ForecastTurns,
		NoDataAfter: m.NoDataAfter, CompactionThreshold: int64(c.Compaction.ThresholdTokens), Settle: c.Compaction.Settle,
		Storm:     alerts.Storm{Count: c.Storm.Count, Within: c.Storm.Within, Turns: c.Storm.Turns},
		Reminders: alerts.Reminders{Soft: c.Reminders.Soft, Hard: c.Reminders.Hard, Wait: c.Reminders.CompactionWait},
		Messages: alerts.Messages{
			Warning: t.Warning, Critical: t.Critical, Compacted: t.Compacted, Storm: t.Storm, NoData: t.NoData, Forecast: t.Forecast,
		},
	}
}

// resumeText is what messages.resume may show.
type resumeText struct{ Path string }

// handoffOptions sets what concerns handoffs.
func handoffOptions(c *config.Config, o *observer.Options, env *environ) error {
	h, dir := c.Handoff, c.Handoff.Directory
	if dir == "" {
		state, err := c.StateDir(env.lookupEnv)
		if err != nil {
			return err
		}
		dir = filepath.Join(state, "handoff")
	}
	o.Handoff = observer.HandoffOptions{
		Rotations: rotation.Options{
			BreakerCount: h.BreakerCount, BreakerWithin: h.BreakerWithin,
		},
		Documents:     handoff.NewDocuments(dir, h.Expiry, o.Logger.With("component", "handoff")),
		DocumentBytes: int64(h.DocumentBytes), Characters: h.InjectCharacters, AutoDocument: h.AutoDocument, AutoRotate: h.AutoRotate,
	}
	if text := c.Messages.Resume; text != "" {
		prompt, err := template.New("messages.resume").Option("missingkey=error").Parse(text)
		var b strings.Builder
		if err == nil {
			err = prompt.Execute(&b, resumeText{"/a/path"})
		}
		if err != nil {
			return fmt.Errorf("messages.resume: %w; it knows {{.Path}} alone", err)
		}
		if !strings.Contains(b.String(), "/a/path") {
			return errors.New("messages.resume does not name the document; put {{.Path}} into it")
		}
		o.Handoff.Rotations.Resume = func(path string) string {
			var b strings.Builder
			_ = prompt.Execute(&b, resumeText{path}) // it has been tried
			return o.Sanitise(b.String())
		}
	}
	for _, ch := range c.Channels {
		o.Handoff.Channels = append(o.Handoff.Channels, handoff.Channel{Name: ch.Name, Path: ch.Path})
	}
	return nil
}

// offersMost is how often one message is given to a client that never shows it in its transcript.
const offersMost = 10

// queueOptions are the settings of the messages.
func queueOptions(c *config.Config) outbox.Options {
	o := outbox.Defaults()
	o.Offers = offersMost
	o.PerAgent, o.MessageBytes, o.PerSenderMinute, o.TTL = c.Queue.PerAgent, c.Queue.MessageBytes, c.Queue.PerSenderMinute, c.Queue.TTL
	return o
}
