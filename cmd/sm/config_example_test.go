package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"sm/cmd/sm/internal/config"
	"sm/transcript"
)

const exampleConfig = "../../deploy/config.example.yaml"

// TestConfigExample tests that the example names every key with its default.
func TestConfigExample(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs(exampleConfig)
	noErrors(t, err)
	if diff := cmp.Diff(outcome{
		Out: path + ": ok\n",
	}, execute(t, nil, "check-config", path)); diff != "" {
		t.Errorf("check-config (-want +got):\n%s", diff)
	}
	text := readFile(t, path)
	var example, ours map[string]any
	noErrors(t, yaml.Unmarshal(text, &example))
	noErrors(t, yaml.Unmarshal(printed(t, config.Default()), &ours))
	if diff := cmp.Diff(ours, example); diff != "" {
		t.Errorf("values of the example (-default +example):\n%s", diff)
	}
}

// TestConfigExampleCompose tests that the configuration shown in the compose file is valid.
func TestConfigExampleCompose(t *testing.T) {
	t.Parallel()
	text := readFile(t, "../../deploy/compose/compose.yaml")
	_, rest, found := strings.Cut(string(text), "#   metrics:\n")
	part, _, ended := strings.Cut(rest, "\n#\n")
	if !found || !ended {
		t.Fatal("the file shows no configuration")
	}
	part = "metrics:\n" + strings.ReplaceAll("\n"+part, "\n#   ", "\n")
	c := mustLoad(t, part, nil)
	if c.Metrics.Listen != "172.17.0.1:8421" ||
		!slices.Equal(c.HTTP.AllowedHosts, []string{"host.docker.internal"}) ||
		c.HTTP.WebhookTokenFile == "" {
		t.Errorf("%s\n%+v %+v", part, c.Metrics, c.HTTP)
	}
}

// TestConfigExamplePrices tests that the prices in the example's comment load, and that each
// model has its own.
func TestConfigExamplePrices(t *testing.T) {
	t.Parallel()
	text := readFile(t, exampleConfig)
	_, rest, found := strings.Cut(string(text), "\n  #   prices:\n")
	rest, _, ended := strings.Cut(rest, "\n  prices: []")
	if !found || !ended {
		t.Fatal("the example has no prices")
	}
	c := mustLoad(t, "cost:\n  prices:\n"+strings.ReplaceAll("\n"+rest, "\n  # ", "\n"), nil)
	got := map[string]float64{}
	for _, model := range []string{
		"claude-opus-4-20250514", "claude-opus-4-1-20250805",
		"claude-opus-4-5-20251101", "claude-opus-4-8", "claude-opus-5-5", "claude-3-5-haiku",
	} {
		got[model], _ = c.Cost.Prices.Cost(model, transcript.Usage{Output: 1e6})
	}
	want := map[string]float64{
		"claude-opus-4-20250514": 75, "claude-opus-4-1-20250805": 75,
		"claude-opus-4-5-20251101": 25, "claude-opus-4-8": 25, "claude-opus-5-5": 20, "claude-3-5-haiku": 0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a million tokens of output (-want +got):\n%s", diff)
	}
}
