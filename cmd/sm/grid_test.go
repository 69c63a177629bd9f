package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/observer/history"
	"sm/observer/history/historytest"
	"sm/observer/history/tune"
	"sm/transcript/transcripttest"
)

// timelines are the sessions of a folder, without their events.
func timelines(t *testing.T, dir string) (all []history.Timeline) {
	t.Helper()
	if err := historytest.Settled(t, dir).Each(t.Context(), nil, func(s history.Timeline) {
		s.Events = nil
		s.First = nil
		s.Sizes = nil
		all = append(all, s)
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGridAgreesWithReplay: at given thresholds a grid agrees with a replay, where nothing was copied and no window turned
// out to be larger: in compactions that were not manual, and in those after a notice.
func TestGridAgreesWithReplay(t *testing.T) {
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{
		Seed:      9,
		Sessions:  12,
		Bytes:     12 << 20,
		LineBytes: 500,
	}); err != nil {
		t.Fatal(err)
	}
	for n := range 60 {
		if err := transcripttest.Rewound(n).Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	plainEnvironment(t)
	args := []string{"--warning", "50", "--critical", "65", dir} // by the window alone, as the grid
	type counts struct{ Compactions, Warned, Manual int }
	var want counts
	for _, x := range replayed(t, args...) {
		switch {
		case x.Event == "notice":
		case x.Trigger == "manual":
			want.Manual++
		default:
			want.Compactions++
			if *x.Warned {
				want.Warned++
			}
		}
	}
	g := gridOf(t, args...)
	got := counts{g.Overall.Compactions, g.Overall.Warned, g.Compactions.Manual}
	if d := cmp.Diff(want, got); d != "" || want.Warned == 0 || want.Warned == want.Compactions || want.Manual == 0 {
		t.Errorf("%+v (-replay +grid):\n%s", want, d)
	}
}

// TestChosenBeatTheDefaults: where they were not chosen, the chosen thresholds have a higher measure than 50 and 65
// percent.
func TestChosenBeatTheDefaults(t *testing.T) {
	fleets := map[string]string{}
	for seed := range uint64(2) {
		dir := t.TempDir()
		if _, err := transcripttest.Generate(dir, transcripttest.Options{
			Seed:      70 + seed,
			Sessions:  40,
			Bytes:     32 << 20,
			LineBytes: 500,
		}); err != nil {
			t.Fatal(err)
		}
		fleets[fmt.Sprint("generated ", seed)] = dir
	}
	for name, dir := range fleets {
		t.Run(name, func(t *testing.T) {
			var g tune.Grid
			if err := json.Unmarshal(output(t, "replay", "--grid", "--json", dir), &g); err != nil {
				t.Fatal(err)
			}
			if g.Chosen == nil {
				t.Fatal("nothing was chosen")
			}
			t.Logf("%d and %d (%s): %.3f, 50 and 65: %.3f, over %d compactions", g.Chosen.Warning, g.Chosen.Critical, g.Chosen.Unit,
				g.Chosen.Checking.Measure, g.Default.Checking.Measure, g.Default.Checking.Compactions)
			if g.Chosen.Checking.Measure <= g.Default.Checking.Measure || g.Advice != "change" {
				t.Errorf(
					"the chosen have a measure of %.3f, 50 and 65 have %.3f; advice %q",
					g.Chosen.Checking.Measure,
					g.Default.Checking.Measure,
					g.Advice,
				)
			}
			for i := range g.Pairs { // each pair is the engine's own at the pair that was played as a whole
				p := &g.Pairs[i]
				if p.Unit == g.Chosen.Unit && p.Warning == g.Chosen.Warning && p.Critical == g.Chosen.Critical {
					if d := cmp.Diff(*g.Chosen, *p, cmpopts.IgnoreUnexported(tune.Candidate{})); d != "" {
						t.Errorf("the chosen pair (-as a whole +put together):\n%s", d)
					}
				}
			}
		})
	}
}
