package view

import (
	"fmt"
	"io"
	"time"

	"sm/dashboards/page"
	"sm/dashboards/screen"
	"sm/observer/history/report"
)

// WriteHTML writes what a report says of costs as one page to pass on: no path above a project's folder is in it, and no
// file's name that the report itself does not have.
func WriteHTML(w io.Writer, r *report.Report, build string) error {
	p := page.Report{
		Report: r,
		Build:  build,
		Lead:   leadOf(&r.Costs),
		Span:   counted(r.Sessions, "session"),
		Took:   lasted,
		Zone:   time.Local,
	}
	if r.From != nil {
		p.Span += fmt.Sprintf(
			", %s to %s",
			r.From.Local().Format(time.DateOnly),
			r.To.Local().Format(time.DateOnly),
		)
	}
	if s := r.Saved.ByHandoffs; s != nil {
		p.Saved = fmt.Sprintf(
			"Handoffs instead would have saved %s of the %s tokens that were read again.",
			screen.Tokens(*s),
			screen.Tokens(r.Costs.Compactions.Tokens),
		)
	}
	return page.WriteReport(w, &p)
}
