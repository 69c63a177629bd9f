package page

import (
	"bytes"
	"strings"
	"testing"
)

func reported(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteReport(&b, r); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "</style>") // the style has a golden file of its own: the page's
	return body
}

// TestReport: all figures are drawn, and names are escaped.
func TestReport(t *testing.T) {
	got := reported(t, &Report{
		Build: "sm 1",
		Lead:  "2 compactions cost 10k tokens.",
		Span:  "3 sessions",
		Kinds: []Cost{{
			Name:          "compactions",
			Count:         2,
			Reads:         3,
			Rereads:       2,
			RereadTokens:  1500,
			DroppedTokens: 10_000,
			Took:          "2 min",
		}, {
			Name:  "clears",
			Count: 1,
		}},
		Projects: []Cost{{
			Name:    "<b>web</b>",
			Count:   2,
			Reads:   4,
			Rereads: 1,
		}},
		Sizes:     []Bin{{150_000, 160_000, 1}, {160_000, 170_000, 0}, {170_000, 180_000, 3}},
		Each:      []Reread{{1_700_000_600, 0, "handoff"}, {1_700_000_000, 1500, "compaction"}},
		Forecasts: []Forecast{{10, 18, 0.53, 0.89}, {20, 3, 1.2, 0.5}},
		Files:     []File{{"web: a\u202e.go", 2, 1500}},
		Saved:     "Much.",
	})
	golden(t, "report.golden.html", got)
	if strings.Contains(got, "<b>web") || strings.Contains(got, "\u202e") {
		t.Error("a name is more than text")
	}
}

// TestReportOfNothing: without a compaction there is one sentence.
func TestReportOfNothing(t *testing.T) {
	got := reported(t, &Report{Build: "sm 1"})
	if !strings.Contains(got, "No compaction in these transcripts.") || strings.Contains(got, "<section") {
		t.Error(got)
	}
}
