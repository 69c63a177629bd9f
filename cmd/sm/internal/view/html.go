package view

import (
	"cmp"
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
		Build: build,
		Lead:  leadOf(&r.Costs),
		Span:  counted(r.Sessions, "session"),
		Sizes: binsOf(r.Pre),
		After: binsOf(r.Post),
		Zone:  time.Local,
	}
	if r.From != nil {
		p.Span += fmt.Sprintf(", %s to %s", r.From.Local().Format(time.DateOnly), r.To.Local().Format(time.DateOnly))
	}
	for _, kind := range []struct {
		name string
		cost *report.Cost
	}{{"compactions", &r.Costs.Compactions}, {"handoffs", &r.Costs.Handoffs}, {"clears", &r.Costs.Clears}} {
		if kind.cost.Count > 0 {
			p.Kinds = append(p.Kinds, costOf(kind.name, kind.cost))
		}
	}
	for i := range r.ProjectCosts[:min(len(r.ProjectCosts), reportRows)] {
		if c := &r.ProjectCosts[i]; c.Compactions.Count > 0 {
			p.Projects = append(p.Projects, costOf(cmp.Or(c.Name, "(unknown)"), &c.Compactions))
		}
	}
	for _, b := range r.Boundaries {
		p.Each = append(p.Each, page.Reread{At: b.At.Unix(), Tokens: b.Tokens, Kind: b.Kind})
	}
	for _, f := range r.Forecast {
		if f.Forecasts > 0 {
			p.Forecasts = append(p.Forecasts, page.Forecast{
				Left:   f.Left,
				Count:  f.Forecasts,
				Error:  *f.Error,
				Within: *f.Within,
			})
		}
	}
	for _, f := range r.RereadFiles {
		if f.Name != "" {
			p.Files = append(p.Files, page.File{Name: f.Project + ": " + f.Name, Reads: f.Rereads, Tokens: f.Tokens})
		}
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

func costOf(name string, c *report.Cost) page.Cost {
	p := page.Cost{
		Name:          name,
		Count:         c.Count,
		Followed:      c.Followed,
		Reads:         c.Reads,
		Rereads:       c.Rereads,
		RereadTokens:  c.Tokens,
		DroppedTokens: c.Dropped,
	}
	if c.Seconds > 0 {
		p.Took = lasted(c.Seconds)
	}
	return p
}

func binsOf(d report.Distribution) (bins []page.Bin) {
	for _, b := range d.Histogram {
		bins = append(bins, page.Bin{From: b.From, To: b.To, Count: b.Count})
	}
	return bins
}
