package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"sm/observer/history/report"
)

//go:embed report.html report.css
var reportFiles embed.FS

// Report is what past transcripts add up to, as it is drawn to be passed on.
type Report struct {
	*report.Report
	Build string
	Lead  string // the most important sentence
	Span  string // sessions and days
	Saved string // what would have been saved, "" where that is not known
	Took  func(seconds int64) string
	Zone  *time.Location
}

// maxProjects limits the rows of projects.
const maxProjects = 12

// sticks is a chart of single figures over time.
type sticks struct {
	plane
	List []report.Boundary
	Peak int64
}

// columns are a histogram, or shares with what they should be.
type columns struct {
	Description string
	Aim         float64 // the share that they should have, 0 for none
	List        []column
}

// column has a share of the height, at most 1.
type column struct {
	Share        float64
	Text, Figure string
}

// WriteReport writes a report as one page that needs nothing else.
func WriteReport(w io.Writer, r *Report) error {
	style, _ := files.ReadFile("page.css") // both are embedded
	more, _ := reportFiles.ReadFile("report.css")
	t, err := template.New("report.html").Funcs(template.FuncMap{
		"pair":  newPair,
		"short": short,
		"tame":  tame,
		"took":  r.Took,
		"across": func(i, n int, more float64) string {
			return percent((float64(i) + more) / float64(n))
		},
		"percent": percent,
		"rest":    func(share float64) string { return percent(1 - share) },
		"share":   func(part, of int) string { return percent(float64((100*part+of/2)/of) / 100) },
	}).ParseFS(reportFiles, "report.html")
	if err != nil {
		return fmt.Errorf("parse report.html: %w", err)
	}

	projects := slices.Clone(r.ProjectCosts[:min(len(r.ProjectCosts), maxProjects)])
	forecasts := slices.DeleteFunc(
		slices.Clone(r.Forecast),
		func(f report.Forecast) bool { return f.Forecasts == 0 },
	)
	err = t.Execute(w, map[string]any{
		"Report": r,
		"Style":  template.CSS(string(style) + string(more)),
		"Projects": slices.DeleteFunc(
			projects,
			func(p report.ProjectCosts) bool { return p.Compactions.Count == 0 },
		),
		"Sizes": columnsOf(r.Pre.Histogram),
		"After": columnsOf(r.Post.Histogram),
		"Errors": forecastColumns("Median error of forecasts by replies left", 0, forecasts,
			func(f *report.Forecast) float64 { return *f.Error }),
		"Ranges": forecastColumns("Share of ranges that held the truth, by replies left", rangesHold, forecasts,
			func(f *report.Forecast) float64 { return *f.Within }),
		"Each": sticksOf(r.Boundaries, r.Zone),
		"Files": slices.DeleteFunc(
			slices.Clone(r.RereadFiles),
			func(f report.RereadFile) bool { return f.Name == "" },
		),
	})
	if err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	return nil
}

// rangesHold is the share of ranges that should hold the truth.
const rangesHold = 0.8

// columnsOf draws a histogram.
func columnsOf(bins []report.Bin) columns {
	most := 1
	for _, b := range bins {
		most = max(most, b.Count)
	}
	c := columns{Description: "Histogram"}
	for _, b := range bins {
		c.List = append(c.List, column{
			float64(b.Count) / float64(most),
			short(b.From) + "–" + short(b.To),
			strconv.Itoa(b.Count),
		})
	}
	return c
}

// forecastColumns draws a share of each class of forecasts.
func forecastColumns(
	description string,
	aim float64,
	all []report.Forecast,
	shareOf func(*report.Forecast) float64,
) columns {
	c := columns{Description: description, Aim: aim}
	for i := range all {
		f := &all[i]
		share := shareOf(f)
		c.List = append(c.List, column{
			min(1, share),
			fmt.Sprintf("%d left (%d)", f.Left, f.Forecasts),
			percent(math.Round(100*share) / 100),
		})
	}
	return c
}

// sticksOf draws what was read again after each boundary, nil where there is none.
func sticksOf(all []report.Boundary, zone *time.Location) *sticks {
	if len(all) == 0 {
		return nil
	}
	from := all[0].At.Unix()
	to := from
	peak := int64(0)
	for _, b := range all {
		from = min(from, b.At.Unix())
		to = max(to, b.At.Unix())
		peak = max(peak, b.Tokens)
	}
	edge := max(30, (to-from)/50) // so that no figure is at the edge
	return &sticks{
		plane: plane{from - edge, to + edge, ceiling(peak, 0), zone},
		List:  all,
		Peak:  peak,
	}
}
