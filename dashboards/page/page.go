package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

//go:embed page.html page.css *.js
var files embed.FS

// First is how many rows the page is served with: enough to fill a screen. The script asks for the rest.
const First = 120

// maxAskedAgent bounds the id of the agent that an address asks for, in bytes.
const maxAskedAgent = 512

// Address is the address of an agent's detail relative to the page, "" unless
// there is an id of a usable length.
func Address(agent string) string {
	if agent == "" || len(agent) > maxAskedAgent {
		return ""
	}

	return "?session=" + url.QueryEscape(agent)
}

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
	text := map[string]string{}
	for _, name := range [...]string{"page.html", "page.css", "base.js", "list.js", "detail.js", "page.js"} {
		b, err := files.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		text[name] = string(b)
	}
	// One function, so that nothing of it can be reached from elsewhere.
	script := "'use strict';\n(() => {\n" + text["base.js"] + text["list.js"] + text["detail.js"] + text["page.js"] + "})();\n"
	p := &Page{style: template.CSS(text["page.css"]), script: template.JS(script)}
	var err error
	if p.templates, err = template.New("page").Parse(text["page.html"]); err != nil {
		return nil, fmt.Errorf("parse page.html: %w", err)
	}
	sum := sha256.Sum256([]byte(text["page.html"] + "\x00" + text["page.css"] + "\x00" + script))
	p.build = fmt.Sprintf("%x", sum[:6])
	p.policy = "default-src 'none'; style-src " + hashOf(text["page.css"]) + "; script-src " + hashOf(script) +
		"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return p, nil
}

// hashOf is how a Content-Security-Policy names an inline text.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Policy is the Content-Security-Policy that the page is served with.
func (p *Page) Policy() string { return p.policy }

// Build names this page: a script that was loaded from another one loads it anew.
func (p *Page) Build() string { return p.build }

// Write writes the whole page.
func (p *Page) Write(w io.Writer, v *View) error {
	rows, data, classes := make([]template.HTML, len(v.Rows)), make([]Data, len(v.Rows)), ""
	for i, row := range v.Rows {
		rows[i], data[i] = template.HTML(row.HTML), row.Data // drawn by Row
		for name, is := range map[string]bool{"drifts": row.Data.Drift > 1, "hosts": row.Data.Host != ""} {
			if is && !strings.Contains(classes, name) {
				classes += " " + name
			}
		}
	}
	list, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	err = p.templates.ExecuteTemplate(w, "page", map[string]any{
		"Style": p.style, "Script": p.script, "Page": p.build, "Build": tame(v.Build), "Mark": v.Mark,
		"Head": headOf(&v.Head), "Rows": rows, "Data": string(list), "Classes": strings.TrimSpace(classes), "View": v.Name, "Views": v.Views, "More": max(0, v.Head.Agents-len(rows)), "Detail": template.HTML(v.Detail), "Selected": v.Detail != "",
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
	States, Pressures []chip
	Clients           []chip // none where all are of one
	Progress          string
	Watched           []string
	Today             string
	Away              string // since when there is no answer
	Limits            []limit
}

// limit is a Limit in words.
type limit struct {
	Name, Used   string
	Stamp, Clock string
	At           int64
	Near         bool
}

// chip is a state or a pressure with the number of agents that are there.
type chip struct {
	Value, Name string
	Count       int
}

func headOf(h *Head) head {
	d := head{Head: *h}
	for i, name := range [...]string{"waiting for you", "at work", "idle", "quiet"} {
		d.States = append(d.States, chip{states()[i], name, h.States[i]})
	}
	names := pressures()
	for _, i := range [...]int{3, 2, 1, 0, 4} {
		d.Pressures = append(d.Pressures, chip{names[i], names[i], h.Pressures[i]})
	}
	if len(h.Clients) > 1 {
		for _, name := range slices.Sorted(maps.Keys(h.Clients)) {
			d.Clients = append(d.Clients, chip{name, tame(name), h.Clients[name]})
		}
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
	for _, l := range h.Limits {
		d.Limits = append(d.Limits, limit{Name: tame(l.Name), Used: fmt.Sprintf("%.0f%%", 100*l.Used), Stamp: stamp(l.At), Clock: clock(l.At, time.UTC), At: l.At, Near: l.Used >= 0.8})
	}
	d.Server, d.Problem = tame(h.Server), tame(h.Problem)
	d.Down = nil
	for _, host := range h.Down {
		d.Down = append(d.Down, tame(host))
	}
	if h.Since != 0 {
		d.Away = stamp(h.Since)
	}
	if h.TodayTokens > 0 {
		d.Today = Short(h.TodayTokens) + " tokens"
	}
	if h.TodayDollars > 0 {
		d.Today += fmt.Sprintf(" · $%.2f", h.TodayDollars)
		if h.DollarsSince != "" {
			d.Today += " since " + h.DollarsSince
		}
	}
	return d
}
