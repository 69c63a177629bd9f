package tally

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/clients"
)

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestHistograms(t *testing.T) {
	c := Counters{}.Clone()
	for _, v := range [][2]int64{
		{},
		{1, 500},
		{25_000, 1_000},
		{25_001, 1_500},
		{1_000_000, 300_000},
		{1_000_001, 300_500},
	} {
		c.Compacted(&transcript.Compaction{PreTokens: v[0], Millis: v[1]}, clients.Claude)
	}
	tokens := []uint64{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}
	diff(t, "tokens", Histogram{Counts: tokens, Sum: 2_050_003}, c.PreTokens)
	seconds := []uint64{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}
	diff(t, "seconds", Histogram{Counts: seconds, Sum: 603.5}, c.Duration)
	if !slices.IsSorted(PreTokensBounds()) || !slices.IsSorted(DurationBounds()) {
		t.Error("bounds in disorder")
	}
}

// TestParts tests that the counters of other clients are part of the sums, and the rest is
// Claude Code's.
func TestParts(t *testing.T) {
	c := Counters{}.Clone()
	c.Compacted(&transcript.Compaction{
		Trigger:   transcript.Manual,
		PreTokens: 30_000,
	}, clients.Claude)
	c.Spend(&transcript.Message{Usage: transcript.Usage{Input: 1, Output: 2}}, clients.Claude)
	before := c.Rest()
	before.Client = ""
	copied := c.Clone()
	sum := Part{Sums: copied.Sums}
	diff(t, "alone", sum, before)
	c.Compacted(&transcript.Compaction{Trigger: transcript.Auto, PreTokens: 240_000}, "codex")
	c.Compacted(&transcript.Compaction{
		Trigger:   transcript.Auto,
		PreTokens: 240_000,
		Millis:    7000,
	}, "codex")
	c.Spend(&transcript.Message{Usage: transcript.Usage{Input: 10, CacheRead: 5}}, "codex")
	again := c.Clone()
	c.Spend(&transcript.Message{Usage: transcript.Usage{Input: 100}}, "codex")
	rest := again.Rest()
	rest.Client = ""
	diff(t, "the rest", sum, rest)
	if p := again.Others; len(p) != 1 || p[0].Client != "codex" ||
		p[0].Compactions != [4]uint64{2, 0, 0} ||
		p[0].Tokens.Input != 10 ||
		p[0].PreTokens.Sum != 480_000 ||
		p[0].Duration.Sum != 7 {
		t.Errorf("the part: %+v", p)
	}
	if again.Compactions != [4]uint64{2, 1, 0} || again.Tokens.Input != 11 {
		t.Errorf("the sums: %+v", again)
	}
}
