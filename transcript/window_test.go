package transcript_test

import (
	"testing"

	"sm/transcript"
)

func TestReaches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		window  transcript.Window
		percent int
		want    int64
	}{
		{transcript.Window{Tokens: 200_000}, 50, 99_000},
		{transcript.Window{Tokens: 200_000}, 65, 129_000},
		{transcript.Window{Tokens: 3}, 50, 2},
		{transcript.Window{Tokens: 272_000, Reserved: 12_000}, 65, 179_701},
		{transcript.Window{Tokens: 200_000}, 0, 0},
		{transcript.Window{}, 50, 0},
		{transcript.Window{Tokens: 12_000, Reserved: 12_000}, 50, 0},
	} {
		if got := tt.window.Reaches(tt.percent); got != tt.want {
			t.Errorf("%+v reaches %d %% at %d, want %d", tt.window, tt.percent, got, tt.want)
		}
	}

	for size := int64(1); size < 400; size++ {
		for percent := 1; percent <= 100; percent++ {
			w := transcript.Window{Tokens: size, Reserved: size / 7}
			if n := w.Reaches(percent); w.Percent(n) < percent ||
				n > 0 && w.Percent(n-1) >= percent {
				t.Fatalf("%+v: %d is not the smallest size of %d %%", w, n, percent)
			}
		}
	}
}
