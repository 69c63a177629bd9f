package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

//go:embed page.html page.css *.js
var files embed.FS

// renderer writes HTML. It is safe for concurrent use.
type renderer struct {
	templates *template.Template
	style     template.CSS
	script    template.JS
	policy    string
	build     string
}

// newRenderer parses the page that is embedded in the program.
func newRenderer() (*renderer, error) {
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
	p := &renderer{style: template.CSS(text["page.css"]), script: template.JS(script)}
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

// firstRows is how many rows the page is served with: enough to fill a screen. The
// script asks for the rest.
const firstRows = 120

// write writes the page of a hub with the first rows of a snapshot, and with what
// detail has drawn.
func (p *renderer) write(w io.Writer, h *Hub, shot *snapshot, detail string) error {
	mark := shot.mark()
	drawn := shot.rows
	if len(drawn) > firstRows {
		mark = ""
		drawn = drawn[:firstRows] // the script asks for all
	}

	rows := make([]template.HTML, len(drawn))
	data := make([]Data, len(drawn))
	var drifts, hosts string
	for i, d := range drawn {
		html, err := d.html()
		if err != nil {
			return err
		}
		rows[i] = template.HTML(html)
		data[i] = d.data
		if d.data.Drift > 1 {
			drifts = " drifts"
		}
		if d.data.Host != "" {
			hosts = " hosts"
		}
	}
	list, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}

	err = p.templates.ExecuteTemplate(w, "page", map[string]any{
		"Style":    p.style,
		"Script":   p.script,
		"Page":     p.build,
		"Build":    tame(h.o.Version),
		"Mark":     mark,
		"Head":     template.HTML(shot.html),
		"Rows":     rows,
		"Data":     string(list),
		"Classes":  strings.TrimSpace(drifts + hosts),
		"View":     h.view,
		"Views":    h.links,
		"More":     len(shot.rows) - len(rows),
		"Detail":   template.HTML(detail),
		"Selected": detail != "",
	})
	if err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	return nil
}

func (p *renderer) draw(name string, data any) (string, error) {
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

// head is what is above the rows.
type head struct {
	Agents, Hidden    int
	States, Pressures []chip
	Clients           []chip // none where all are of one

	CatchingUp  bool
	Done, Files int64
	Progress    string

	Watched   []string // folders
	Demo      bool
	NotWarned bool
	Today     string
	Limits    []limit

	// The rest is about a central server: its name, the number of hosts, those whose
	// observers do not answer, and why it has not answered itself since Since.
	Server     string
	Hosts      int
	Down       []string
	Problem    string
	Since      int64
	Away       string
	Unanswered bool // true until the first query is over
}

// limit is the rate limit of an account.
type limit struct {
	Name, Used   string
	Stamp, Clock string
	At           int64
	Near         bool
}

// chip is a state, a pressure or a client, with the number of its agents.
type chip struct {
	Value, Name string
	Count       int
}

func headOf(l *wire.List) head {
	h := &l.Head
	d := head{
		Agents:     len(l.Agents),
		Hidden:     h.Others,
		CatchingUp: h.CatchingUp,
		Done:       l.Done,
		Files:      l.Files,
		Demo:       h.Demo,
		NotWarned:  h.NotWarned,
		Hosts:      h.Hosts,
	}
	d.count(l.Agents)
	for _, dir := range l.Projects {
		d.Watched = append(d.Watched, tame(dir))
	}
	if h.CatchingUp {
		d.Progress = "Catching up: reading what existed before"
		if l.Files > 0 {
			d.Progress = fmt.Sprintf(
				"Catching up: %s of %s transcripts read",
				Thousands(min(l.Done, l.Files)),
				Thousands(l.Files),
			)
		}
	}

	d.addLimit("5 h", h.RateLimits.FiveHour)
	d.addLimit("7 d", h.RateLimits.SevenDay)
	if codex := h.RateLimits.Codex; codex != nil {
		d.addLimit("Codex 5 h", codex.FiveHour)
		d.addLimit("Codex 7 d", codex.SevenDay)
	}
	for _, host := range h.Down {
		d.Down = append(d.Down, tame(host))
	}

	if h.Today.Tokens > 0 {
		d.Today = Short(int64(h.Today.Tokens)) + " tokens"
	}
	if cost := h.Today.CostUSD; cost != nil && *cost > 0 {
		d.Today += fmt.Sprintf(" · $%.2f", *cost)
		if since := h.Today.CostSince; since != nil {
			d.Today += " since " + since.Local().Format("15:04")
		}
	}
	return d
}

// count fills in the chips.
func (d *head) count(agents []wire.Agent) {
	counts := map[string]int{}
	pressures := map[string]int{}
	clients := map[string]int{}
	for i := range agents {
		s := &agents[i].Session
		counts[stateOf(s)]++
		pressures[pressureOf(s)]++
		if s.Client != "" {
			clients[s.Client]++
		}
	}

	names := map[string]string{"waiting": "waiting for you", "work": "at work"}
	for _, state := range states() {
		d.States = append(d.States, chip{state, cmp.Or(names[state], state), counts[state]})
	}
	for _, pressure := range [...]string{"imminent", "high", "rising", "calm", "unknown"} {
		d.Pressures = append(d.Pressures, chip{pressure, pressure, pressures[pressure]})
	}
	if len(clients) < 2 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(clients)) {
		d.Clients = append(d.Clients, chip{name, tame(name), clients[name]})
	}
}

func (d *head) addLimit(name string, l *api.RateLimit) {
	if l == nil {
		return
	}
	at := int64(curve.Seconds(l.ResetsAt))
	d.Limits = append(d.Limits, limit{
		Name:  name,
		Used:  fmt.Sprintf("%.0f%%", 100*l.UsedRatio),
		Stamp: stamp(at),
		Clock: clock(at, time.UTC),
		At:    at,
		Near:  l.UsedRatio >= 0.8,
	})
}
