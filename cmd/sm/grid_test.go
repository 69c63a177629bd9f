package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/transcripttest"
)

// TestGridAgreesWithReplay tests that at given thresholds a grid agrees with a replay of
// transcripts without copies and without larger windows: in compactions that were not manual,
// and in those after a notice.
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
		s := transcripttest.NewHandWritten(n)
		s.Filled(24, 100+n, 5, 2)
		s.Filled(30, 130-n, 4, 3)
		s.GoBack(n % 8)
		s.Filled(20, 90+n, 7, 2)
		transcripttest.Written(t, dir, s)
	}
	args := []string{
		"--warning",
		"50",
		"--critical",
		"65",
		dir,
	} // by the window alone, as the grid
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
	got := counts{g.Current.Compactions, g.Current.Warned, g.Compactions.Manual}
	if d := cmp.Diff(
		want,
		got,
	); d != "" || want.Warned == 0 || want.Warned == want.Compactions ||
		want.Manual == 0 {
		t.Errorf("%+v (-replay +grid):\n%s", want, d)
	}
}
