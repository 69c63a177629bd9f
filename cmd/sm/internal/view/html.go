package view

import (
	"io"
	"time"

	"sm/dashboards/page"
	"sm/observer/history/report"
)

// WriteHTML writes the costs of a report as one page to pass on: no path
// above a project's folder is in it, and no file's name that the report itself
// does not have.
func (to *Printer) WriteHTML(w io.Writer, r *report.Report, build string) error {
	p := page.Report{
		Report: r,
		Build:  build,
		Took:   lasted,
		Zone:   time.Local,
	}
	var err error
	for name, text := range map[string]*string{
		"lead":  &p.Lead,
		"days":  &p.Span,
		"saved": &p.Saved,
	} {
		if *text, err = to.text(name, r); err != nil {
			return err
		}
	}
	if p.Saved != "" {
		p.Saved += "."
	}
	p.Span = counted(r.Sessions, "session") + p.Span
	return page.WriteReport(w, &p)
}
