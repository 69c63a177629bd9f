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
	Lead  string // the sentence that says most
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
	List        []report.Boundary
	Description string
}

// columns are a histogram, or shares with what they should be.
type columns struct {
	List        []column
	Aim         string // where a line stands, "" for none
	Description string
}

type column struct{ X, Y, Width, Height, Text, Figure string }

// WriteReport writes a report as one page that needs nothing else.
func WriteReport(w io.Writer, r *Report) error {
	style, _ := files.ReadFile("page.css") // both are embedded
	more, _ := reportFiles.ReadFile("report.css")
	t, err := template.New("report.html").Funcs(template.FuncMap{
		"pair":  newPair,
		"short": short,
		"tame":  tame,
		"took":  r.Took,
		"share": func(part, of int) string { return percent(float64((100*part+of/2)/of) / 100) },
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
		"Sizes":  columnsOf(r.Pre.Histogram),
		"After":  columnsOf(r.Post.Histogram),
		"Errors": errorsOf(forecasts),
		"Ranges": rangesOf(forecasts),
		"Each":   sticksOf(r.Boundaries, r.Zone),
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

// columnsOf draws a histogram, nil for none.
func columnsOf(bins []report.Bin) *columns {
	most := 1
	for _, b := range bins {
		most = max(most, b.Count)
	}
	return bars("Histogram", len(bins), func(i int) (share float64, text, figure string) {
		b := &bins[i]
		return float64(b.Count) / float64(most), short(b.From) + "–" + short(b.To), strconv.Itoa(b.Count)
	})
}

// errorsOf draws by how much forecasts were off.
func errorsOf(all []report.Forecast) *columns {
	return bars("Median error of forecasts by replies left", len(all), func(i int) (share float64, text, figure string) {
		return *all[i].Error, leftText(&all[i]), whole(*all[i].Error)
	})
}

// rangesHold is the share of ranges that should hold the truth.
const rangesHold = 0.8

// rangesOf draws how often ranges held the truth.
func rangesOf(all []report.Forecast) *columns {
	c := bars("Share of ranges that held the truth, by replies left", len(all), func(i int) (share float64, text, figure string) {
		return *all[i].Within, leftText(&all[i]), whole(*all[i].Within)
	})
	if c != nil {
		c.Aim = percent(1 - rangesHold)
	}
	return c
}

// whole is a share in whole percents.
func whole(share float64) string { return percent(math.Round(100*share) / 100) }

func leftText(f *report.Forecast) string {
	return fmt.Sprintf(
		"%d left (%d)",
		f.Left,
		f.Forecasts,
	)
}

// bars draws n columns of shares, those above 1 as high as 1; nil for none.
func bars(
	description string,
	n int,
	of func(i int) (share float64, text, figure string),
) *columns {
	if n == 0 {
		return nil
	}
	c := &columns{Description: description}
	wide := 1 / float64(n)
	for i := range n {
		share, text, figure := of(i)
		high := min(1, share)
		c.List = append(c.List, column{
			X:      percent((float64(i) + 0.08) * wide),
			Width:  percent(0.84 * wide),
			Y:      percent(1 - high),
			Height: percent(high),
			Text:   text,
			Figure: figure,
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
		Description: fmt.Sprintf(
			"Tokens read again after each of %d boundaries; at most %s.",
			len(all),
			short(peak),
		),
	}
}
