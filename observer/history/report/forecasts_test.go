package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/history/historytest"
	"sm/transcript/transcripttest"
)

func generated(t *testing.T, seed uint64, start time.Time) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := transcripttest.Generate(dir, transcripttest.Options{
		Seed:      seed,
		Bytes:     8 << 20,
		LineBytes: 500,
		Start:     start,
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// judged returns the forecasts of a history.
func judged(t *testing.T, dirs ...string) *forecasts {
	t.Helper()
	engine, err := alerts.New(alerts.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	f := newForecasts(engine)
	if err := historytest.Settled(t, dirs...).InOrder(t.Context(), f.take); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestForecastsOfThePast tests that later events change no error of earlier forecasts.
func TestForecastsOfThePast(t *testing.T) {
	t.Parallel()
	early := generated(t, 1, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	late := generated(t, 2, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	first := judged(t, early)
	second := judged(t, late)
	both := judged(t, early, late)
	for q, left := range forecastsLeft() {
		n := len(first.by[q].widths)
		if len(both.by[q].widths) != n+len(second.by[q].widths) {
			t.Fatalf(
				"%d left: %d and %d forecasts, together %d",
				left,
				n,
				len(second.by[q].widths),
				len(both.by[q].widths),
			)
		}
		if d := cmp.Diff(first.by[q].errors, both.by[q].errors[:n]); d != "" {
			t.Errorf("%d left: earlier errors (-alone +with later ones):\n%s", left, d)
		}
		if d := cmp.Diff(first.by[q].widths, both.by[q].widths[:n]); d != "" {
			t.Errorf("%d left: earlier widths (-alone +with later ones):\n%s", left, d)
		}
	}
}
