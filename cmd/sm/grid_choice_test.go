package main

import (
	"path/filepath"
	"strings"
	"testing"

	"sm/alerts"
	"sm/observer/history/tune"
)

// TestGridConfiguration: what it says to paste is a configuration that holds.
func TestGridConfiguration(t *testing.T) {
	for _, want := range []alerts.Thresholds{{
		WarningPercentage:  60,
		CriticalPercentage: 65,
	}, {
		WarningTokens:  130_000,
		CriticalTokens: 140_000,
	}} {
		path := filepath.Join(t.TempDir(), "config.yaml")
		place(t, path, []byte(strings.Join(tune.ConfigurationOf(want, alerts.Thresholds{}), "\n")+"\n"))
		output(t, "check-config", path)
	}
}
