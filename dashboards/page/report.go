package page

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"time"
)

//go:embed report.html report.css
var reportFiles embed.FS

// Report is what past transcripts add up to, as it is drawn to be passed on. Its texts hold nothing but
// what may be.
type Report struct {
	Build string
	Lead  string // the sentence that says most
	Span  string // sessions and days
	Kinds []Cost // of boundaries: compactions, handoffs, clears
	// Projects are the same of compactions, by project.
	Projects []Cost
	// Sizes are those of contexts that were compacted, After those of the first reply after, in tokens.
	Sizes, After []Bin
	// Forecasts say how good those were, by how many replies were left.
	Forecasts []Forecast
	// Each is what was read again after each boundary.
	Each  []Reread
	Files []File
	Saved string // what would have been saved, "" where that is not known
	Zone  *time.Location
}

// Cost sums up the bills of some boundaries.
type Cost struct {
	Name                            string
	Count, Followed, Reads, Rereads int
	RereadTokens, DroppedTokens     int64
	Took                            string // "" while unknown
}

// Bin counts figures of From and more, but less than To.
type Bin struct {
	From, To int64
	Count    int
}

// Forecast says of so many forecasts, made when so many replies were left, by how much the middle one was off, and how many
// ranges held the truth, both as shares.
type Forecast struct {
	Left, Count   int
	Error, Within float64
}

// Reread is how many tokens were read again after a boundary; At is in seconds since 1970.
type Reread struct {
	At, Tokens int64
	Kind       string // compaction, handoff, clear
}

// File is one that was read again after compactions.
type File struct {
	Name   string // "" to leave it out
	Reads  int
	Tokens int64
}

// sticks is a chart of single figures over time, drawn as the page draws contexts.
type sticks struct {
	Grid, Times []ruler
	List        []stick
	Description string
}

type stick struct{ X, Y, Kind, Title string }

// columns are a histogram, or shares with what they should be.
type columns struct {
	List        []column
	Aim         string // where a line stands, "" for none
	Description string
}

type column struct{ X, Y, Width, Height, Text, Figure string }

// cost is a Cost in words, with its share as a bar.
type cost struct {
	Cost
	Share, Tokens, Dropped string
	Known                  bool
}

// WriteReport writes a report as one page that needs nothing else.
func WriteReport(w io.Writer, r *Report) error {
	style, _ := files.ReadFile("page.css") // both are embedded
	more, _ := reportFiles.ReadFile("report.css")
	t, err := template.ParseFS(reportFiles, "report.html")
	if err != nil {
		return fmt.Errorf("parse report.html: %w", err)
	}
	err = t.Execute(w, map[string]any{
		"Style": template.CSS(string(style) + string(more)), "Build": tame(r.Build), "Lead": r.Lead, "Span": r.Span, "Saved": r.Saved,
		"Kinds": costsOf(r.Kinds), "Projects": costsOf(r.Projects), "Sizes": columnsOf(r.Sizes), "After": columnsOf(r.After), "Errors": errorsOf(r.Forecasts), "Ranges": rangesOf(r.Forecasts),
		"Each": sticksOf(r.Each, r.Zone), "Files": filesOf(r.Files), "Named": len(r.Files) > 0 && r.Files[0].Name != "",
	})
	if err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	return nil
}

func costsOf(all []Cost) (list []cost) {
	for _, c := range all {
		d := cost{
			Cost:    c,
			Tokens:  short(c.RereadTokens),
			Dropped: short(c.DroppedTokens),
			Known:   c.Reads > 0,
		}
		if d.Name = tame(c.Name); d.Known {
			d.Share = percent(float64((100*c.Rereads+c.Reads/2)/c.Reads) / 100)
		}
		list = append(list, d)
	}
	return list
}

func filesOf(all []File) (list []map[string]any) {
	for _, f := range all {
		list = append(list, map[string]any{"Name": tame(f.Name), "Reads": f.Reads, "Tokens": short(f.Tokens)})
	}
	return list
}

// columnsOf draws a histogram, nil for none.
func columnsOf(bins []Bin) *columns {
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
func errorsOf(all []Forecast) *columns {
	return bars("Median error of forecasts by replies left", len(all), func(i int) (share float64, text, figure string) {
		return all[i].Error, leftText(&all[i]), whole(all[i].Error)
	})
}

// rangesHold is the share of ranges that should hold the truth.
const rangesHold = 0.8

// rangesOf draws how often ranges held the truth.
func rangesOf(all []Forecast) *columns {
	c := bars("Share of ranges that held the truth, by replies left", len(all), func(i int) (share float64, text, figure string) {
		return all[i].Within, leftText(&all[i]), whole(all[i].Within)
	})
	if c != nil {
		c.Aim = percent(1 - rangesHold)
	}
	return c
}

// whole is a share in whole percents.
func whole(share float64) string { return percent(math.Round(100*share) / 100) }

func leftText(f *Forecast) string { return fmt.Sprintf("%d left (%d)", f.Left, f.Count) }

// bars draws n columns of shares, those above 1 as high as 1; nil for none.
func bars(description string, n int, of func(i int) (share float64, text, figure string)) *columns {
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

// sticksOf draws figures over time, nil where there are none.
func sticksOf(all []Reread, zone *time.Location) *sticks {
	if len(all) == 0 {
		return nil
	}
	zone = cmp.Or(zone, time.UTC)
	from := all[0].At
	to := all[0].At
	peak := int64(0)
	for _, b := range all {
		from = min(from, b.At)
		to = max(to, b.At)
		peak = max(peak, b.Tokens)
	}
	edge := max(30, (to-from)/50) // no figure stands on the rim
	from = from - edge
	to = to + edge
	top := ceiling(peak, 0)
	s := &sticks{
		Times:       times(from, to, zone),
		Description: fmt.Sprintf("Tokens read again after each of %d boundaries; at most %s.", len(all), short(peak)),
	}
	for i := range int64(5) {
		s.Grid = append(s.Grid, ruler{At: percent(1 - float64(i)/4), Text: short(top * i / 4)})
	}
	for _, b := range all {
		s.List = append(s.List, stick{
			X:     percent(float64(b.At-from) / float64(to-from)),
			Y:     percent(1 - min(1, float64(b.Tokens)/float64(top))),
			Kind:  b.Kind,
			Title: b.Kind + ", " + clock(b.At, zone) + ": " + short(b.Tokens) + " tokens read again",
		})
	}
	return s
}
