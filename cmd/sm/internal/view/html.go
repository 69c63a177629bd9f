package view

import (
	"io"
	"time"

	"sm/dashboards/page"
	"sm/observer/history/report"
)

// WriteHTML writes the costs of a report as one page that can be passed on: it
// has no path above a project's folder, and only those names of files that the
// report has.
func (to *Printer) WriteHTML(w io.Writer, r *report.Report, build string) error {
	p := page.Report{
		Report: r,
		Build:  build,
		Lead:   to.text("lead", r),
		Span:   Counted(r.Sessions, "session") + to.text("days", r),
		Advice: to.text("advice of a report", r),
		Took:   lasted,
		Client: func(name string) string { return to.text("client", name) },
		Zone:   time.Local,
	}
	return page.WriteReport(w, &p)
}
