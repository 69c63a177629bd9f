package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
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

// column is a bin of a histogram.
type column struct {
	X, Y, Width, Height, Text string
	Count                     int
}

// cost is a Cost in words, with its share as a bar.
type cost struct {
	Cost
	Share, Tokens, Dropped string
	Known                  bool
}

// WriteReport writes a report as one page that needs nothing else.
func WriteReport(w io.Writer, r *Report) error {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return fmt.Errorf("read page.css: %w", err)
	}
	more, err := reportFiles.ReadFile("report.css")
	if err != nil {
		return fmt.Errorf("read report.css: %w", err)
	}
	t, err := template.ParseFS(reportFiles, "report.html")
	if err != nil {
		return fmt.Errorf("parse report.html: %w", err)
	}
	err = t.Execute(w, map[string]any{
		"Style": template.CSS(string(style) + string(more)), "Build": tame(r.Build), "Lead": r.Lead, "Span": r.Span, "Saved": r.Saved,
		"Kinds": costsOf(r.Kinds), "Projects": costsOf(r.Projects), "Sizes": columnsOf(r.Sizes), "After": columnsOf(r.After),
		"Each": sticksOf(r.Each, r.Zone), "Files": filesOf(r.Files), "Named": len(r.Files) > 0 && r.Files[0].Name != "",
	})
	if err != nil {
		return fmt.Errorf("draw the report: %w", err)
	}
	return nil
}

func costsOf(all []Cost) (list []cost) {
	for _, c := range all {
		d := cost{Cost: c, Tokens: short(c.RereadTokens), Dropped: short(c.DroppedTokens), Known: c.Reads > 0}
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

// columnsOf draws a histogram.
func columnsOf(bins []Bin) (list []column) {
	most := 1
	for _, b := range bins {
		most = max(most, b.Count)
	}
	wide := 1 / float64(max(1, len(bins)))
	for i, b := range bins {
		high := float64(b.Count) / float64(most)
		list = append(list, column{
			X: percent((float64(i) + 0.08) * wide), Width: percent(0.84 * wide), Y: percent(1 - high), Height: percent(high),
			Text: short(b.From) + "–" + short(b.To), Count: b.Count,
		})
	}
	return list
}

// sticksOf draws figures over time, nil where there are none.
func sticksOf(all []Reread, zone *time.Location) *sticks {
	if len(all) == 0 {
		return nil
	}
	if zone == nil {
		zone = time.UTC
	}
	from, to, peak := all[0].At, all[0].At, int64(0)
	for _, b := range all {
		from, to, peak = min(from, b.At), max(to, b.At), max(peak, b.Tokens)
	}
	edge := max(30, (to-from)/50) // no figure stands on the rim
	from, to = from-edge, to+edge
	top := ceiling(peak, 0)
	s := &sticks{Times: times(from, to, zone), Description: fmt.Sprintf("Tokens read again after each of %d boundaries; at most %s.", len(all), short(peak))}
	for i := range int64(5) {
		s.Grid = append(s.Grid, ruler{At: percent(1 - float64(i)/4), Text: short(top * i / 4)})
	}
	for _, b := range all {
		s.List = append(s.List, stick{
			X: percent(float64(b.At-from) / float64(to-from)), Y: percent(1 - min(1, float64(b.Tokens)/float64(top))), Kind: b.Kind,
			Title: b.Kind + ", " + clock(b.At, zone) + ": " + short(b.Tokens) + " tokens read again",
		})
	}
	return s
}
