package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"time"

	"sm/observer/history/report"
)

//go:embed report.html report.css
var reportFiles embed.FS

// Report is a report on past transcripts, with the texts for its page.
type Report struct {
	*report.Report
	Build  string
	Lead   string // the most important sentence
	Span   string // sessions and days
	Advice string // "" for none
	Took   func(seconds int64) string
	Client func(name string) string // what people call a client
	Zone   *time.Location
}

// maxProjects limits the rows of projects.
const maxProjects = 12

// sticks is a chart of single values over time.
type sticks struct {
	plane
	List []report.Boundary
	Peak int64
}

// column is a bar of a histogram. Share is its height, from 0 to 1.
type column struct {
	Share        float64
	Text, Figure string
}

// WriteReport writes a report as one page that loads nothing.
func WriteReport(w io.Writer, r *Report) error {
	style, _ := files.ReadFile("page.css") // both are embedded
	more, _ := reportFiles.ReadFile("report.css")
	t := template.Must(template.New("report.html").Funcs(template.FuncMap{
		"pair":    newPair,
		"short":   short,
		"tame":    tame,
		"took":    r.Took,
		"client":  r.Client,
		"columns": columnsOf,
		"across": func(i, n int, more float64) string {
			return percent((float64(i) + more) / float64(n))
		},
		"percent": percent,
		"rest":    rest,
		"share":   func(part, of int) string { return percent(float64((100*part+of/2)/of) / 100) },
	}).ParseFS(reportFiles, "report.html"))

	err := t.Execute(w, map[string]any{
		"Report":   r,
		"Style":    template.CSS(string(style) + string(more)),
		"Projects": r.ProjectCosts[:min(len(r.ProjectCosts), maxProjects)],
		"Each":     sticksOf(r.Boundaries, r.Zone),
	})
	if err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	return nil
}

// columnsOf draws a histogram.
func columnsOf(bins []report.Bin) (list []column) {
	most := 1
	for _, b := range bins {
		most = max(most, b.Count)
	}
	for _, b := range bins {
		list = append(list, column{
			float64(b.Count) / float64(most),
			short(b.From) + "–" + short(b.To),
			strconv.Itoa(b.Count),
		})
	}
	return list
}

// sticksOf draws the tokens that were read again after each boundary, nil if
// there are none.
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
	if peak == 0 {
		return nil
	}
	edge := max(30, (to-from)/50) // keeps the values away from the edges
	return &sticks{
		plane: plane{from - edge, to + edge, ceiling(peak, 0), zone},
		List:  all,
		Peak:  peak,
	}
}
