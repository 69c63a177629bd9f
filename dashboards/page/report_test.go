package page

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
	"sm/observer/history/report"
)

func reported(t *testing.T, r *Report) string {
	t.Helper()
	var b bytes.Buffer
	r.Took = func(seconds int64) string { return fmt.Sprint(seconds/60, " min") }
	if err := WriteReport(&b, r); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(
		b.String(),
		"</style>",
	) // the style has a golden file: the page's
	return body
}

// TestReport tests that all figures are drawn, and names are escaped.
func TestReport(t *testing.T) {
	sizes := &report.Report{
		Compactions: api.Compactions{Auto: 1},
		Costs:       report.Costs{Compactions: report.Cost{Count: 1}},
	}
	sizes.Pre.Histogram = []report.Bin{{
		From:  150_000,
		To:    160_000,
		Count: 1,
	}, {
		From: 160_000,
		To:   170_000,
	}, {
		From:  170_000,
		To:    180_000,
		Count: 3,
	}}
	got := reported(t, &Report{
		Report: &report.Report{
			Costs: report.Costs{
				Compactions: report.Cost{
					Count:   2,
					Reads:   3,
					Rereads: 2,
					All:     1500,
					Dropped: 10_000,
					Seconds: 120,
				},
				Clears: report.Cost{Count: 1},
			},
			ProjectCosts: []report.ProjectCosts{{
				Name:  "<b>web</b>",
				Costs: report.Costs{Compactions: report.Cost{Count: 2, Reads: 4, Rereads: 1}},
			}},
			Clients: []report.Client{{Name: "claude", Report: sizes}, {Name: "codex", Report: sizes}},
			Boundaries: []report.Boundary{
				{At: time.Unix(1_700_000_600, 0), Kind: "handoff"},
				{At: time.Unix(1_700_000_000, 0), Kind: "compaction", Tokens: 1500},
			},
			RereadFiles: []report.RereadFile{{
				Project: "web",
				Name:    "a\u202e.go",
				Rereads: 2,
				Tokens:  1500,
			}},
		},
		Build:  "sm 1",
		Lead:   "2 compactions cost 1.5k tokens read again.",
		Span:   "3 sessions",
		Advice: "Hand over <before>.",
		Client: strings.ToTitle,
		Zone:   time.UTC,
	})
	golden(t, "report.golden.html", got)
	if strings.Contains(got, "<b>web") || strings.Contains(got, "\u202e") {
		t.Error("a name is not escaped")
	}
}

// TestReportOfNothing tests that without a compaction there is one sentence.
func TestReportOfNothing(t *testing.T) {
	got := reported(t, &Report{Report: &report.Report{}, Build: "sm 1"})
	if !strings.Contains(got, "No compaction in these transcripts.") ||
		strings.Contains(got, "<section") {
		t.Error(got)
	}
}
