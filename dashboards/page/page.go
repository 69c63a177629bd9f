package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"
)

//go:embed page.html page.css page.js
var files embed.FS

// Page draws. It may be used by several at once.
type Page struct {
	templates *template.Template
	style     template.CSS
	script    template.JS
	policy    string
	build     string
}

// New prepares the page that is embedded in the program.
func New() (*Page, error) {
	var text [3]string
	for i, name := range [...]string{"page.html", "page.css", "page.js"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		text[i] = string(b)
	}
	p := &Page{style: template.CSS(text[1]), script: template.JS(text[2])}
	var err error
	if p.templates, err = template.New("page").Parse(text[0]); err != nil {
		return nil, fmt.Errorf("parse page.html: %w", err)
	}
	sum := sha256.Sum256([]byte(strings.Join(text[:], "\x00")))
	p.build = fmt.Sprintf("%x", sum[:6])
	p.policy = "default-src 'none'; style-src " + source(text[1]) + "; script-src " + source(text[2]) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return p, nil
}

// source is how a Content-Security-Policy names an inline text.
func source(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Policy is the Content-Security-Policy that the page is served with.
func (p *Page) Policy() string { return p.policy }

// Build names this page: a script that was loaded from another one loads it anew.
func (p *Page) Build() string { return p.build }

// Write writes the whole page.
func (p *Page) Write(w io.Writer, v *View) error {
	rows := make([]template.HTML, len(v.Rows))
	for i, row := range v.Rows {
		rows[i] = template.HTML(row) // drawn by Row
	}
	err := p.templates.ExecuteTemplate(w, "page", map[string]any{
		"Style": p.style, "Script": p.script, "Page": p.build, "Build": tame(v.Build), "Mark": v.Mark,
		"Head": headOf(&v.Head), "Rows": rows, "Detail": template.HTML(v.Detail), "Selected": v.Detail != "",
	})
	if err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	return nil
}

// Head draws what stands above the rows, for the script to put in place.
func (p *Page) Head(h *Head) (string, error) { return p.draw("head", headOf(h)) }

// Row draws one agent.
func (p *Page) Row(r *Row, h *History) (string, error) { return p.draw("row", rowOf(r, h)) }

// Detail draws all about one agent.
func (p *Page) Detail(d *Detail) (string, error) { return p.draw("detail", detailOf(d)) }

func (p *Page) draw(name string, data any) (string, error) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, data); err != nil {
		return "", fmt.Errorf("draw %s: %w", name, err)
	}
	return b.String(), nil
}

// Key names the row of an agent in the page, whatever the agent is called.
func Key(id string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id) // never fails
	return fmt.Sprintf("a%016x", h.Sum64())
}

// head is a Head in words.
type head struct {
	Head
	Chips    []chip
	Progress string
	Watched  []string
}

// chip is a level with the number of agents that are there.
type chip struct {
	Level, Name string
	Count       int
}

func headOf(h *Head) head {
	d := head{Head: *h}
	names := levels()
	for _, i := range [...]int{3, 2, 1, 0, 4} {
		d.Chips = append(d.Chips, chip{names[i], words(names[i]), h.Levels[i]})
	}
	if h.CatchingUp {
		d.Progress = "Catching up: reading what existed before"
		if h.Files > 0 {
			d.Progress = fmt.Sprintf("Catching up: %s of %s transcripts read", Thousands(min(h.Done, h.Files)), Thousands(h.Files))
		}
	}
	for _, dir := range h.Projects {
		d.Watched = append(d.Watched, tame(dir))
	}
	return d
}

// row is a Row in words and lengths.
type row struct {
	Row
	Key, Label, Find   string
	Level, LevelName   string
	Rank, Permille     int
	Used               string // "" while unknown
	Size, Of           string
	Fill, Limit, Rest  string // of the bar
	Bar                string
	Spark              spark
	Turns, Between     string
	Work               string
	TurnsKey           string
	Sum                int
	Triggers           string
	Doing, Why         string
	Stamp, Clock       string
	Drift, DriftNote   string
	DriftKey           int64
	LevelKey, StateKey string
}

func rowOf(r *Row, h *History) row {
	d := row{
		Row: *r, Key: Key(r.ID), Label: tame(r.Name), Level: r.Level, Rank: rank(r.Level), Permille: -1,
		Turns: turns(r.Turns), Between: between(r.Turns), TurnsKey: "99999",
		Sum: r.Compactions[0] + r.Compactions[1] + r.Compactions[2], Triggers: triggers(r.Compactions),
		Spark: sparkOf(h),
	}
	d.Project, d.Model, d.Parent, d.Waiting = tame(r.Project), tame(strings.TrimPrefix(r.Model, "claude-")), tame(r.Parent), tame(r.Waiting)
	d.Find = strings.ToLower(strings.Join([]string{d.Label, d.Project, d.Model, d.Parent, tame(r.ID), r.State}, " "))
	if d.Level == "" {
		d.Level = "unknown"
	}
	d.LevelName = words(d.Level)
	d.context(r)
	if r.Turns.Known {
		d.TurnsKey = number(r.Turns.Likely)
	}
	if r.Work.Known && r.Work.Likely > 0 {
		d.Work = "about " + work(r.Work.Likely) + " of work"
	}
	d.state(r)
	if r.Seen > 0 {
		d.Stamp, d.Clock = stamp(r.Seen), clock(r.Seen, time.UTC)
	}
	switch r.Check {
	case "agrees":
		d.Drift, d.DriftNote = "0", "status line agrees"
	case "lagging":
		d.Drift, d.DriftNote, d.DriftKey = "…", "status line lags", 1
	case "drift":
		d.Drift, d.DriftNote, d.DriftKey = signed(r.Drift), "status line differs", max(2, r.Drift, -r.Drift)
	default:
		d.Drift, d.DriftNote, d.DriftKey = "–", "no status line", -1
	}
	return d
}

func signed(n int64) string {
	if n > 0 {
		return "+" + Thousands(n)
	}
	return Thousands(n)
}

// context fills in how full the window is.
func (d *row) context(r *Row) {
	d.Fill, d.Of = "0", short(r.Window)
	if r.Threshold > 0 && r.Threshold < r.Window {
		at := float64(r.Threshold) / float64(r.Window)
		d.Limit, d.Rest = percent(at), percent(1-at)
	}
	share := r.share()
	if share < 0 {
		return
	}
	d.Permille, d.Fill = int(share*1000), percent(share)
	d.Used, d.Size = fmt.Sprint(r.Percent, "%"), short(r.Tokens)
	if r.Estimate {
		d.Size = "about " + d.Size
	}
	if r.Threshold > 0 {
		d.Bar = fmt.Sprintf("%.0f%% of the way to compaction at %s tokens", 100*float64(r.Tokens)/float64(r.Threshold), Thousands(r.Threshold))
	} else {
		d.Bar = "where the client compacts is not known yet"
	}
}

// state fills in what the agent does.
func (d *row) state(r *Row) {
	d.Doing, d.StateKey = tame(words(r.State)), r.State
	switch {
	case r.Compacting:
		d.Doing, d.StateKey = "compacting", "compacting"
	case r.State == "waiting" && r.Waiting != "":
		d.Why = d.Waiting
	}
	switch d.StateKey {
	case "ended": // nobody is there, and that is all there is to see
		d.StateKey = "quiet"
	case "busy", "idle", "waiting", "quiet", "compacting":
	default:
		d.StateKey = "other"
	}
	var notes []string
	if d.Why != "" {
		notes = append(notes, d.Why)
	}
	if r.Storming {
		notes = append(notes, "compaction storm")
	}
	if r.Silenced {
		notes = append(notes, "muted")
	}
	d.Why = strings.Join(notes, " · ")
}

// detail is a Detail in words.
type detail struct {
	Problem, Asked string
	Row            row
	Chart          chart
	Facts          []fact
	Events         []event
	More           int
}

type fact struct{ Name, Value, Stamp string }

type event struct{ Stamp, Clock, Class, Text string }

// eventsMost bounds the list below the curve.
const eventsMost = 12

func detailOf(d *Detail) detail {
	zone := d.Location
	if zone == nil {
		zone = time.UTC
	}
	v := detail{Problem: d.Problem, Asked: tame(d.Asked)}
	if d.Problem != "" {
		return v
	}
	v.Row, v.Chart = rowOf(&d.Row, &d.History), chartOf(&d.Row, &d.History, zone)
	for _, f := range d.Facts {
		x := fact{Name: f.Name, Value: tame(f.Value)}
		if f.At != 0 {
			x.Value, x.Stamp = clock(f.At, zone), stamp(f.At)
		}
		if x.Value != "" {
			v.Facts = append(v.Facts, x)
		}
	}
	for _, m := range slices.Backward(d.History.Marks) {
		if len(v.Events) == eventsMost {
			v.More++
			continue
		}
		v.Events = append(v.Events, event{stamp(m.At), clock(m.At, zone), m.class(), m.title()})
	}
	return v
}
