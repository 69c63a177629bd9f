package codex

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestWindowOf(t *testing.T) {
	rules := []transcript.WindowRule{{Model: "gpt-6", Tokens: 300_000}}
	for name, c := range map[string]struct {
		session transcript.Session
		want    transcript.Window
	}{
		"records": {transcript.Session{
			Model:       "gpt-5.5",
			Particulars: &transcript.Particulars{Window: 95_000},
		}, transcript.Window{
			Tokens:   95_000,
			Source:   transcript.WindowTranscript,
			Reserved: reserved,
		}},
		"a rule": {transcript.Session{
			Model:       "gpt-6-sol",
			Particulars: &transcript.Particulars{Window: 95_000},
		}, transcript.Window{
			Tokens:   300_000,
			Source:   transcript.WindowConfig,
			Reserved: reserved,
		}},
		"nothing yet": {transcript.Session{}, transcript.Window{
			Tokens:   258_400,
			Source:   transcript.WindowDefault,
			Reserved: reserved,
		}},
	} {
		if d := cmp.Diff(c.want, WindowOf(&c.session, rules)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestPercentUsed tests that it is 100 minus the percentage that the client shows as left.
func TestPercentUsed(t *testing.T) {
	for _, c := range []struct {
		window, tokens int64
		want           int
	}{
		{
			258_400,
			0,
			0,
		},
		{
			258_400,
			12_000,
			0,
		},
		{
			258_400,
			12_564,
			0,
		},
		{
			258_400,
			20_000,
			3,
		},
		{
			258_400,
			24_000,
			5,
		},
		{
			258_400,
			87_000,
			30,
		},
		{
			258_400,
			208_400,
			80,
		},
		{
			258_400,
			244_800,
			94,
		},
		{
			258_400,
			258_400,
			100,
		},
		{
			258_400,
			900_000,
			100,
		},
		{
			95_000,
			26_000,
			17,
		},
		{
			12_000,
			5,
			100,
		},
		{
			0,
			5,
			100,
		},
	} {
		w := WindowOf(&transcript.Session{}, nil)
		w.Tokens = c.window
		if got := w.Percent(c.tokens); got != c.want {
			t.Errorf("%d of %d: %d %% used, want %d", c.tokens, c.window, got, c.want)
		}
	}
}

// TestPercentUsedTruncated tests that Codex 0.45.0 shows 81 % left, and 0.80.0 82 %.
func TestPercentUsedTruncated(t *testing.T) {
	t.Parallel()
	left := func(version string, tokens int64) int {
		return 100 - WindowOf(&transcript.Session{Version: version}, nil).Percent(tokens)
	}
	const tokens = 12_000 + 246_400*185/1000 // 81.5 % are left
	if old, current := left(
		"0.45.0",
		tokens,
	), left(
		"0.80.0",
		tokens,
	); old != 81 ||
		current != 82 {
		t.Errorf("%d %% left in 0.45.0, %d %% in 0.80.0; want 81 and 82", old, current)
	}
}

// TestCompactsAt tests that the client compacts at 244,800 tokens of a raw window of 272,000,
// and not one token below.
func TestCompactsAt(t *testing.T) {
	if got := CompactsAt(258_400); got != 244_800 {
		t.Errorf("got %d", got)
	}
	if got := CompactsAt(95_000); got != 90_000 {
		t.Errorf("got %d", got)
	}
}
