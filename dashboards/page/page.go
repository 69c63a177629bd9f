package page

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"io"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/dashboards/screen/plain"
	"sm/dashboards/urgency"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/wire"
	"sm/transcript/wording"
)

//go:embed page.html page.css *.js
var files embed.FS

// renderer writes HTML. It is safe for concurrent use.
type renderer struct {
	templates *template.Template
	style     template.CSS
	script    template.JS
	zone      *time.Location
	policy    string
	build     string
}

// newRenderer parses the embedded page. It shows times in zone.
func newRenderer(zone *time.Location) *renderer {
	text := func(name string) string {
		b, _ := files.ReadFile(name) // it is embedded
		var short strings.Builder
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimLeft(line, " "); !strings.HasPrefix(line, "// ") {
				short.WriteString(line)
			}
		}
		return short.String()
	}
	// One function encloses all code, so that no other code can access it.
	script := "'use strict';\n(() => {\n" + text("base.js") + text("list.js") + text("detail.js") + text("bell.js") + text("page.js") + "})();\n"
	style := text("page.css")
	html := text("page.html")
	sum := sha256.Sum256([]byte(html + "\x00" + style + "\x00" + script))
	return &renderer{
		templates: template.Must(template.New("page").Funcs(functions(zone)).Parse(html)),
		style:     template.CSS(style),
		script:    template.JS(script),
		zone:      zone,
		build:     fmt.Sprintf("%x", sum[:6]),
		policy: "default-src 'none'; style-src " + access.HashOf(style) + "; script-src " + access.HashOf(script) +
			"; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	}
}

// firstRows is the number of rows in the page as it is loaded, enough to fill a
// screen. The script requests the rest.
const firstRows = 120

// whole draws the page of a view with the first rows of a snapshot. detail is
// the HTML of an agent, "" for none.
func (p *renderer) whole(v *view, shot *snapshot, detail string) string {
	since := shot.seq
	drawn := shot.rows
	if len(drawn) > firstRows {
		since = 0
		drawn = drawn[:firstRows] // the script requests all rows
	}

	rows := make([]template.HTML, len(drawn))
	data := make([]Data, len(drawn))
	var drifts, hosts string
	for i, d := range drawn {
		rows[i] = template.HTML(d.html())
		data[i] = d.data
		if d.data.Drift > 1 {
			drifts = " drifts"
		}
		if d.data.Host != "" {
			hosts = " hosts"
		}
	}
	list, _ := json.Marshal(data) // figures and texts: it cannot fail
	return p.draw("page", map[string]any{
		"Style":    p.style,
		"Script":   p.script,
		"Page":     p.build,
		"Build":    tame(v.o.Version),
		"Mark":     since,
		"Head":     template.HTML(shot.html),
		"Rows":     rows,
		"Data":     string(list),
		"Classes":  strings.TrimSpace(drifts + hosts),
		"View":     v.Name,
		"Views":    v.views,
		"More":     len(shot.rows) - len(rows),
		"Detail":   template.HTML(detail),
		"Selected": detail != "",
	})
}

func (p *renderer) draw(name string, data any) string {
	return screen.Execute(p.templates, name, data)
}

// Key returns an id for the row of an agent that is valid in HTML.
func Key(id string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id) // never fails
	return fmt.Sprintf("a%016x", h.Sum64())
}

// functions returns the functions of the templates. Times are seconds since
// 1970.
func functions(zone *time.Location) template.FuncMap {
	return template.FuncMap{
		"assumed":    assumed,
		"clock":      func(at int64) string { return clock(at, zone) },
		"compactsAt": CompactsAt,
		"count":      value[int64],
		"figure":     value[float64],
		"forecast":   urgency.Forecast,
		"heading":    (*api.Session).DisplayName,
		"hundredths": Hundredths,
		"int":        func(n uint64) int64 { return int64(n) },
		"key":        Key,
		"limit":      limit,
		"many":       many,
		"markTitle":  markTitle,
		"model":      ModelOf,
		"notes":      notes,
		"noticed":    noticed,
		"pair":       newPair,
		"percent":    percent,
		"quote":      plain.ShellQuote,
		"reached":    reached,
		"replies":    urgency.ReplyCount,
		"rest":       rest,
		"resting":    urgency.Resting,
		"seen":       seen,
		"share":      Share,
		"short":      short,
		"stamp":      stamp,
		"states":     states,
		"tame":       tame,
		"thousands":  wording.Thousands,
		"tokens":     tokens,
		"doing":      Doing,
		"unreached":  urgency.Unreached,
		"words":      words,
		"work":       Work,
	}
}

// pair is the argument of one template that another one executes: a name and
// one or more values.
type pair struct {
	Name   string
	First  any
	Second []any
}

func newPair(name string, first any, second ...any) pair {
	return pair{name, first, second}
}

// head is the part of the page above the rows.
type head struct {
	*wire.List
	Counts  map[string]int // of agents by state, and of active ones by pressure
	Clients map[string]int // of agents by client; nil if all have the same

	// The other fields describe a central server: its name, and why and since when
	// it has not answered.
	Server     string
	Problem    string
	Since      int64
	Unanswered bool // true until the first query is over
}

func headOf(l *wire.List) head {
	d := head{List: l, Counts: map[string]int{}, Clients: map[string]int{}}
	for i := range l.Agents {
		s := &l.Agents[i].Session
		d.Counts[stateOf(s)]++
		if urgency.Of(s) == urgency.Works {
			d.Counts[cmp.Or(s.PressureLevel, "unknown")]++
		}
		if urgency.Unreached(s) {
			d.Counts["unreached"]++
		}
		if s.Client != "" {
			d.Clients[s.Client]++
		}
	}
	if len(d.Clients) == 1 {
		d.Clients = nil
	}
	return d
}
