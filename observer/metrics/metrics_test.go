package metrics

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"sm/observer/api"
	"sm/observer/tally"
	"sm/transcript/claude/hook"
	"sm/transcript/follow"
)

func testExporter() *Exporter {
	return New(Options{
		Version:     "1",
		Commit:      "c",
		Transcripts: new(follow.Stats),
		Reasons:     []string{"host", "peer"},
	})
}

// testSnapshot has this number of sessions with every figure, and one without any.
func testSnapshot(sessions int) *Snapshot {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &Snapshot{Hooks: map[hook.Event]uint64{"Stop": 3, "other": 0}}
	s.Fleet.PreTokens.Counts = make([]uint64, len(tally.PreTokensBounds())+1)
	s.Fleet.Duration.Counts = make([]uint64, len(tally.DurationBounds())+1)
	for i := range sessions {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		s.Sessions = append(s.Sessions, api.Session{
			Label:           id[:8],
			SessionID:       id,
			Client:          "claude",
			Project:         "web",
			CWD:             "/home/dev/web",
			Model:           "claude-haiku-4-5",
			Version:         "2.1.197",
			TokensUsed:      new(50_000 + int64(i)),
			ClearedTokens:   1000,
			WindowTokens:    200_000,
			IsActive:        true,
			HookAt:          &now,
			StatuslineAt:    &now,
			TranscriptAt:    now,
			SeenAt:          now,
			DriftTokens:     new(int64),
			StatuslineRatio: 0.25,
			State:           "busy",
			Level:           "ok",
			ThresholdTokens: new(int64(167_000)),
			ThresholdSource: "assumed",
			Pressure:        new(0.3),
			Forecast: &api.Forecast{
				Replies: &api.Range{Low: 4, Likely: 9, High: 20},
				Turns:   &api.Range{Likely: 7},
				Seconds: &api.Range{Likely: 400},
			},
		})
	}
	s.Sessions = append(s.Sessions, api.Session{Label: "nothing", Client: "claude"})
	s.Limit(0)
	return s
}

// TestGatherConsistent tests that the library's own check, which it makes only for several
// gatherers, finds nothing, and that all families and labels are in order.
func TestGatherConsistent(t *testing.T) {
	t.Parallel()
	e := testExporter()
	s := testSnapshot(3)
	for _, open := range []bool{false, true} {
		gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
			return e.gather(
				s,
				open,
			)
		})
		families, err := prometheus.Gatherers{gather}.Gather()
		if err != nil {
			t.Error(err)
		}
		unchecked, err := gather()
		if err != nil || len(unchecked) != len(families) {
			t.Errorf("%d families, checked %d, %v", len(unchecked), len(families), err)
		}
		for _, f := range unchecked {
			for _, m := range f.Metric {
				if !slices.IsSortedFunc(m.Label, func(x, y *dto.LabelPair) int {
					return strings.Compare(x.GetName(), y.GetName())
				}) {
					t.Errorf("%s has the labels %v", f.GetName(), m.Label)
				}
			}
		}
		if problems, err := promlint.NewWithMetricFamilies(unchecked).Lint(); len(problems) > 0 &&
			!open ||
			err != nil {
			t.Errorf("lint: %v, %v", problems, err)
		}
	}
}

// TestGatherUnknown tests that unknown figures of a session have no series, and that the
// label state has few values for any registry of a client.
func TestGatherUnknown(t *testing.T) {
	t.Parallel()
	s := testSnapshot(0)
	s.Sessions[0].State = "reticulating\nsplines"
	families, err := testExporter().gather(s, false)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "agent_session_") {
			got = append(got, f.GetName())
		}
		if f.GetName() == "agent_session_state" &&
			f.Metric[0].Label[1].GetValue() != "other" {
			t.Error(f)
		}
	}
	want := []string{
		"agent_session_active", "agent_session_compacting", "agent_session_compactions_total", "agent_session_context_window_tokens",
		"agent_session_dear_compactions", "agent_session_info", "agent_session_level", "agent_session_reachable", "agent_session_state",
		"agent_session_transcript_compactions",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHistogram tests that buckets are cumulative, and that the count includes values beyond
// the last bound.
func TestHistogram(t *testing.T) {
	t.Parallel()
	b := newBuilder()
	const name = "agent_compaction_duration_seconds"
	counts := tally.Histogram{Counts: []uint64{3, 0, 4}, Sum: 21.5}
	b.addHistogram(name, []float64{1, 2.5}, &counts, "client", "x")
	h := b[name].Metric[0].Histogram
	got := []float64{float64(h.GetSampleCount()), h.GetSampleSum()}
	for _, bucket := range h.Bucket {
		got = append(got, bucket.GetUpperBound(), float64(bucket.GetCumulativeCount()))
	}
	if diff := cmp.Diff([]float64{7, 21.5, 1, 3, 2.5, 3}, got); diff != "" {
		t.Errorf("count, sum, buckets (-want +got):\n%s", diff)
	}
}

// TestLimit tests that the choice among sessions seen at the same time is always the same, in
// the order of their labels.
func TestLimit(t *testing.T) {
	t.Parallel()
	now := time.Now()
	all := []api.Session{
		{Label: "y", SeenAt: now},
		{Label: "b", SeenAt: now},
		{Label: "c", SeenAt: now},
		{Label: "z", SeenAt: now.Add(-1), IsActive: true},
	}
	for range 24 {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		s := Snapshot{Sessions: slices.Clone(all)}
		s.Limit(2)
		if s.Unexported != 2 || len(s.Sessions) != 2 || s.Sessions[0].Label != "b" ||
			s.Sessions[1].Label != "z" {
			t.Fatalf("%d left out of %+v", s.Unexported, s.Sessions)
		}
	}
}

// TestTame tests random bytes.
func TestTame(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, rng.IntN(300))
		for i := range b {
			b[i] = byte(rng.Uint32())
			if rng.IntN(3) > 0 {
				b[i] = "aé…\U0001F600"[rng.IntN(10)]
			}
		}
		s := tame(string(b))
		if !utf8.ValidString(s) || len(s) > longestValue ||
			strings.ContainsFunc(
				s,
				func(r rune) bool { return !unicode.IsPrint(r) && r != utf8.RuneError },
			) {
			t.Fatalf("%q becomes %q", b, s)
		}
		if again := tame(s); again != s {
			t.Fatalf("%q becomes %q, and that %q", b, s, again)
		}
	}
}

// BenchmarkServe measures a scrape without the wait for the loop.
func BenchmarkServe(b *testing.B) {
	e := testExporter()
	for _, sessions := range []int{500, 10_000} {
		s := testSnapshot(sessions)
		for _, format := range []string{"text", "openmetrics", "gzip"} {
			b.Run(fmt.Sprintf("%d/%s", sessions, format), func(b *testing.B) {
				r := &http.Request{Header: http.Header{}}
				switch format {
				case "openmetrics":
					r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
				case "gzip":
					r.Header.Set("Accept-Encoding", "gzip")
				}
				b.ReportAllocs()
				for b.Loop() {
					e.Serve(discard{}, r, s)
				}
			})
		}
	}
}

// discard is a peer that accepts everything at once.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) WriteHeader(int)             {}
func (discard) Write(b []byte) (int, error) { return len(b), nil }
