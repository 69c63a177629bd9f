package claude

import (
	"testing"

	"sm/transcript/claude/hook"
	"sm/transcript/clients"
)

func TestCompactsAt(t *testing.T) {
	const small, large = 200_000, 1_000_000
	const haiku, sonnet, opus = "claude-haiku-4-5", "claude-sonnet-4-5-20250929", "claude-opus-4-8"
	env := func(window string) AutoCompact { return AutoCompact{Window: window} }
	percent := func(p string) AutoCompact { return AutoCompact{Percent: p} }
	setting := func(n int64) AutoCompact { return AutoCompact{Setting: n} }
	type client struct {
		window         int64
		model, version string
	}
	current := client{small, opus, "2.1.330"}
	wide := client{large, opus, "2.1.330"}
	tests := []struct {
		name string
		client
		settings AutoCompact
		want     int64
	}{
		{"unknown client", client{small, "", ""}, AutoCompact{}, 167_000},
		{"invalid version", client{small, "", "dev"}, AutoCompact{}, 167_000},
		{"first with the smaller reserve", client{small, opus, "2.1.21"}, AutoCompact{}, 167_000},
		{"last with the larger reserve", client{small, opus, "2.1.20"}, AutoCompact{}, 155_000},
		{"beta of a later one", client{small, opus, "2.2.0-beta.1"}, AutoCompact{}, 167_000},
		{"large window", wide, AutoCompact{}, 967_000},
		{"no window", client{0, opus, "2.1.330"}, AutoCompact{}, 0},
		{"window below the reserve", client{30_000, opus, "2.1.330"}, AutoCompact{}, 0},
		{"off", current, AutoCompact{Off: true, Window: "100000"}, 0},

		{"smaller window", current, env("100000"), 67_000},
		{"with spaces", current, env(" 150000 "), 117_000},
		{"below the minimum", current, env("50000"), 67_000},
		{"larger than the model's", current, env("500000"), 167_000},
		{"smaller than a large one", wide, env("500000"), 467_000},
		{"beyond all", wide, env("5000000"), 967_000},
		{"zero", current, env("0"), 167_000},
		{"negative", current, env("-100000"), 167_000},
		{"words", current, env("auto"), 167_000},
		{"too large to count", current, env("99999999999999999999999"), 167_000},
		{"thousands", wide, env("200k"), 167_000},
		{"millions", wide, env("0.5M"), 467_000},
		{"a unit that old clients ignore", client{large, opus, "2.1.300"}, env("200k"), 67_000},
		{"bare hundreds", wide, env("200"), 67_000},
		{"text after a number", client{large, opus, "2.1.197"}, env("200000 tokens"), 167_000},
		{"a variable unknown to the version", client{small, opus, "2.1.52"}, env("100000"), 167_000},
		{"before the minimum", client{small, opus, "2.1.75"}, env("80000"), 47_000},

		{"setting", current, setting(120_000), 87_000},
		{"setting below the minimum", current, setting(99_999), 167_000},
		{"setting larger than the window", current, setting(1_000_000), 167_000},
		{"setting unknown to the version", client{small, opus, "2.1.75"}, setting(120_000), 167_000},
		{"environment before settings", current, AutoCompact{
			Window:  "150000",
			Setting: 120_000,
		}, 117_000},
		{"environment that is ignored", current, AutoCompact{
			Window:  "x",
			Setting: 120_000,
		}, 87_000},
		{"setting for the model", wide, AutoCompact{
			Setting: 120_000,
			Models:  hook.Models{haiku: 110_000, opus: 300_000},
		}, 267_000},
		{"model's own", wide, AutoCompact{
			Setting: 120_000,
			Models:  hook.Models{opus: 0},
		}, 967_000},
		{"setting for another model", wide, AutoCompact{
			Setting: 120_000,
			Models:  hook.Models{haiku: 300_000},
		}, 87_000},
		{
			"setting for the model and for a shorter name", wide,
			AutoCompact{
				Models: hook.Models{"claude-opus-4": 500_000, opus: 300_000},
			},
			267_000,
		},
		{"model with a date", client{small, sonnet, "2.1.330"}, AutoCompact{
			Models: hook.Models{"claude-sonnet-4-5": 130_000},
		}, 97_000},

		{"percent", current, percent("50"), 90_000},
		{"percent of a fraction, in floating point", current, percent("33.3"), 59_939},
		{"percent that is rounded down", current, percent("0.0017"), 3},
		{"percent above the buffer", current, percent("99"), 167_000},
		{"all", current, percent("100"), 167_000},
		{"more than all", current, percent("101"), 167_000},
		{"no percent", current, percent("0"), 167_000},
		{"percent with a sign", current, percent("50%"), 90_000},
		{"percent of a smaller window", current, AutoCompact{
			Window:  "100000",
			Percent: "60",
		}, 48_000},
		{"percent of an old client", client{small, opus, "2.1.20"}, percent("50"), 84_000},

		{"shorter answers", current, AutoCompact{Output: "8192"}, 178_808},
		{"longer answers", current, AutoCompact{Output: "64000"}, 167_000},
		{"longer answers of an old client", client{small, opus, "2.1.20"}, AutoCompact{
			Output: "64000",
		}, 123_000},
		{"answers of no length", current, AutoCompact{Output: "0"}, 167_000},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.settings.CompactsAt(
				test.window,
				test.model,
				test.version,
			); got != test.want {
				t.Errorf("compacts at %d, want %d", got, test.want)
			}
		})
	}
}

func TestBasis(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		model, version string
		setting        AutoCompact
		want           clients.Basis
		at             int64 // of a window of 200,000
	}{
		{"claude-sonnet-4-5", "2.1.100", AutoCompact{}, clients.Assumed, 167_000},
		{"claude-sonnet-4-5", "2.1.197", AutoCompact{}, clients.Refusal, 200_000},
		{"claude-sonnet-4-5", "2.1.330", AutoCompact{
			Window: "150000",
		}, clients.Assumed, 117_000},
		{"claude-sonnet-4-5", "2.1.330", AutoCompact{
			Setting: 120_000,
		}, clients.Assumed, 87_000},
		{"claude-sonnet-4-5", "2.1.330", AutoCompact{
			Setting: 60_000,
		}, clients.Refusal, 200_000},
		{"claude-sonnet-4-5", "2.1.330", AutoCompact{Off: true}, clients.Refusal, 0},
		{"claude-sonnet-4-5", "", AutoCompact{}, clients.Earliest, 167_000},
		{"claude-sonnet-4-6", "2.1.330", AutoCompact{}, clients.Assumed, 167_000},
		{"claude-opus-4-8", "2.1.330", AutoCompact{}, clients.Earliest, 167_000},
	} {
		if got := tt.setting.Basis(tt.model, tt.version); got != tt.want {
			t.Errorf(
				"%s, %s, %+v: got %s, want %s",
				tt.model,
				tt.version,
				tt.setting,
				got,
				tt.want,
			)
		}
		if got := tt.setting.CompactsAt(200_000, tt.model, tt.version); got != tt.at {
			t.Errorf(
				"%s, %s, %+v: at %d, want %d",
				tt.model,
				tt.version,
				tt.setting,
				got,
				tt.at,
			)
		}
	}
}
