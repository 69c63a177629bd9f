package dashboards

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The selections made by a dashboard's variables, as its queries repeat them.
const (
	selectedObservers = `job=~"$job",instance=~"$instance",host=~"$host"`
	selectedSessions  = selectedObservers + `,session=~"$session"`
)

// board holds the fields of a dashboard that the tests use.
type board struct {
	UID           string
	Title         string
	SchemaVersion int
	Links         []struct{ URL string }
	Templating    struct{ List []variable }
	Annotations   struct{ List []target }
	Panels        []panel

	text string
}

type variable struct {
	Name       string
	Type       string
	Definition string
	AllValue   string
	Multi      bool
	IncludeAll bool
	Datasource source
}

type panel struct {
	ID              int
	Type            string
	Title           string
	Description     string
	GridPos         struct{ X, Y, W, H int }
	Datasource      source
	Targets         []target
	Transformations []struct {
		Options struct {
			IndexByName   map[string]any
			ExcludeByName map[string]any
		}
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			NoValue    string
			Thresholds struct {
				Steps []struct{ Value float64 }
			}
		}
		Overrides []struct {
			Matcher struct{ Options any }
		}
	}
	Panels []panel // of a collapsed row
}

// target is a query of a panel or of an annotation.
type target struct {
	RefID        string
	Expr         string
	LegendFormat string
	Instant      bool
	Datasource   source
}

type source struct{ Type, UID string }

// chosen is the data source that the user selects on the dashboard.
func chosen() source { return source{"prometheus", "${datasource}"} }

// boards reads the dashboards, by file name.
func boards(t *testing.T) map[string]board {
	t.Helper()
	all := map[string]board{}
	for _, path := range files(t, "grafana/*") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b := board{text: string(text)}
		if err := json.Unmarshal(text, &b); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = b
	}
	return all
}

// all returns the panels, those in collapsed rows included.
func (b board) all() []panel {
	var list []panel
	for _, p := range b.Panels {
		list = append(list, p)
		list = append(list, p.Panels...)
	}
	return list
}

// queries returns the expressions by the title of the panel or annotation.
func (b board) queries() map[string][]string {
	all := map[string][]string{}
	for _, p := range b.all() {
		for _, q := range p.Targets {
			all[p.Title] = append(all[p.Title], q.Expr)
		}
	}
	for _, a := range b.Annotations.List {
		if a.Expr != "" { // the one that Grafana adds has none
			all["annotation"] = append(all["annotation"], a.Expr)
		}
	}
	return all
}

// TestGrafanaDashboards checks that bookmarks and links keep working: the uids
// are stable, and each dashboard links to the other.
func TestGrafanaDashboards(t *testing.T) {
	t.Parallel()
	type identity struct{ UID, Title, Link string }
	want := map[string]identity{
		"fleet-pressure.json": {
			"sm-fleet-pressure",
			"Agents: fleet pressure",
			"/d/sm-one-session",
		},
		"one-session.json": {
			"sm-one-session",
			"Agents: one session",
			"/d/sm-fleet-pressure",
		},
	}
	got := map[string]identity{}
	uids := map[string]bool{}
	for name, b := range boards(t) {
		if len(b.Links) == 0 {
			t.Fatalf("%s has no link", name)
		}
		got[name] = identity{b.UID, b.Title, b.Links[0].URL}
		uids[b.UID] = true
		if b.SchemaVersion > 41 {
			t.Errorf(
				"%s: schemaVersion %d, which Grafana 11 cannot read",
				name,
				b.SchemaVersion,
			)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dashboards (-want +got):\n%s", diff)
	}

	for name, b := range boards(t) {
		for _, m := range regexp.MustCompile(`/d/([a-z0-9-]+)`).FindAllStringSubmatch(
			b.text,
			-1,
		) {
			if !uids[m[1]] {
				t.Errorf("%s links to %s, which is missing", name, m[1])
			}
		}
	}
}

// TestGrafanaPanels checks that each panel has a description and a unit, asks
// the chosen data source, that no two panels overlap, and that a panel without data
// shows what it needs.
func TestGrafanaPanels(t *testing.T) {
	t.Parallel()
	reported := regexp.MustCompile(`cost_usd|drift|rate_limit|hook_events|queued_messages`)
	for name, b := range boards(t) {
		ids := map[int]bool{}
		checkGrid(t, name, b.Panels)
		for _, p := range b.all() {
			if ids[p.ID] || p.ID == 0 {
				t.Errorf("%s: %s: the id %d is missing or repeated", name, p.Title, p.ID)
			}
			ids[p.ID] = true
			if p.Type == "row" {
				checkGrid(t, name+": "+p.Title, p.Panels)
				continue
			}
			if p.Title == "" || !strings.HasSuffix(p.Description, ".") ||
				p.FieldConfig.Defaults.Unit == "" {
				t.Errorf("%s: %s: no title, description or unit", name, p.Title)
			}
			if len(p.Targets) == 0 || p.Datasource != chosen() {
				t.Errorf("%s: %s: no query, or not of the chosen data source", name, p.Title)
			}
			for _, q := range p.Targets {
				if reported.MatchString(q.Expr) &&
					!strings.Contains(p.FieldConfig.Defaults.NoValue, "sm install") {
					t.Errorf("%s: %s does not mention sm install", name, p.Title)
				}
				if q.Datasource != chosen() {
					t.Errorf("%s: %s: query %s asks %v", name, p.Title, q.RefID, q.Datasource)
				}
				if q.Instant != (p.Type == "stat" || p.Type == "table") {
					t.Errorf(
						"%s: %s: query %s: instant is %v in a %s",
						name,
						p.Title,
						q.RefID,
						q.Instant,
						p.Type,
					)
				}
			}
		}
	}
}

func checkGrid(t *testing.T, name string, panels []panel) {
	t.Helper()
	taken := map[[2]int]string{}
	for _, p := range panels {
		g := p.GridPos
		if g.W <= 0 || g.H <= 0 || g.X+g.W > 24 {
			t.Errorf("%s: %s leaves the grid", name, p.Title)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				at := [2]int{x, y}
				if taken[at] != "" {
					t.Fatalf("%s: %s lies on %s", name, p.Title, taken[at])
				}
				taken[at] = p.Title
			}
		}
	}
}

// TestGrafanaVariables checks that every variable in use is defined, and that
// All includes series without a host, project or model.
func TestGrafanaVariables(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"host":     ".*",
		"job":      ".+",
		"instance": ".+",
		"project":  ".*",
		"model":    ".*",
		"session":  "",
	}
	for name, b := range boards(t) {
		defined := map[string]bool{}
		all := map[string]string{}
		for _, v := range b.Templating.List {
			defined[v.Name] = true
			if v.Type != "query" {
				continue
			}
			all[v.Name] = v.AllValue
			several := v.Name != "session" || b.UID != "sm-one-session"
			if v.Datasource != chosen() || v.Multi != several || v.IncludeAll != several {
				t.Errorf("%s: variable %+v", name, v)
			}
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("%s: values of All (-want +got):\n%s", name, diff)
		}
		for _, m := range regexp.MustCompile(`\$(?:\{(\w+)[:}]|(\w+))`).FindAllStringSubmatch(
			b.text,
			-1,
		) {
			if used := m[1] + m[2]; !defined[used] && !strings.HasPrefix(used, "__") {
				t.Errorf("%s uses the variable %s, which is not defined", name, used)
			}
		}
	}
}

// TestGrafanaQueries checks that every expression names metrics and labels that
// exist and keeps to the selection, and that every metric is on a dashboard.
func TestGrafanaQueries(t *testing.T) {
	t.Parallel()
	known := exported(t)
	asked := map[string]bool{
		"sm_build_info":              true, // lists the values of variables
		"process_start_time_seconds": true,
	}
	for name, b := range boards(t) {
		for title, exprs := range b.queries() {
			for _, expr := range exprs {
				for _, w := range misnamed(known, withoutVariables(expr)) {
					t.Errorf("%s: %s: %s: %s", name, title, expr, w)
				}
				for _, m := range regexp.MustCompile(`(\w{2,})\{([^}]*)\}`).FindAllStringSubmatch(
					expr,
					-1,
				) {
					asked[m[1]] = true
					asked[strings.TrimSuffix(m[1], "_bucket")] = true
					selection := selectedObservers
					if strings.HasPrefix(m[1], "agent_session_") {
						selection = selectedSessions
					}
					if !strings.HasPrefix(m[2], selection) {
						t.Errorf("%s: %s: %s ignores the selection", name, title, m[0])
					}
				}
			}
		}
	}
	for metric := range known {
		base := strings.TrimSuffix(
			strings.TrimSuffix(strings.TrimSuffix(metric, "_sum"), "_count"),
			"_bucket",
		)
		if !asked[metric] && !asked[base] {
			t.Errorf("no dashboard shows %s", metric)
		}
	}
}

// labelValues returns the series and the label that a variable lists.
func (v variable) labelValues() (expr, label string) {
	m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition)
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// TestGrafanaAnswers checks that Prometheus answers every query over two hosts
// whose series have the same names, where a join that omits the host fails, and
// that the answers have the labels of legends, columns and variables.
func TestGrafanaAnswers(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, b := range boards(t) {
		for _, exprs := range b.queries() {
			for _, expr := range exprs {
				asked[withoutVariables(expr)] = true
			}
		}
		for _, v := range b.Templating.List {
			if expr, _ := v.labelValues(); expr != "" {
				asked[withoutVariables(expr)] = true
			}
		}
	}
	answers := evaluate(t, slices.Collect(maps.Keys(asked))...)
	found := func(expr string) answer { return answers[withoutVariables(expr)] }

	for name, b := range boards(t) {
		for title, exprs := range b.queries() {
			for _, expr := range exprs {
				for _, w := range found(expr).wrong() {
					t.Errorf("%s: %s: %s: %s", name, title, expr, w)
				}
			}
		}
		for _, v := range b.Templating.List {
			expr, label := v.labelValues()
			if v.Type == "query" && !found(expr).labels[label] {
				t.Errorf("%s: %s: no label %s", name, v.Definition, label)
			}
		}
		for _, p := range b.all() {
			columns := map[string]bool{"Time": true}
			for _, q := range p.Targets {
				labels := found(q.Expr).labels
				maps.Copy(columns, labels)
				if len(p.Targets) == 1 {
					columns["Value"] = true
				} else {
					columns["Value #"+q.RefID] = true
				}
				for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(
					q.LegendFormat,
					-1,
				) {
					if !labels[m[1]] {
						t.Errorf(
							"%s: %s: no label %s for %q",
							name,
							p.Title,
							m[1],
							q.LegendFormat,
						)
					}
				}
			}
			if p.Type == "table" {
				checkColumns(t, name, p, columns)
			}
		}
	}
}

// checkColumns checks that a table formats and orders only columns it has.
func checkColumns(t *testing.T, name string, p panel, columns map[string]bool) {
	t.Helper()
	var named []string
	for _, o := range p.FieldConfig.Overrides {
		named = append(named, o.Matcher.Options.(string))
	}
	for _, tr := range p.Transformations {
		named = slices.AppendSeq(named, maps.Keys(tr.Options.IndexByName))
		named = slices.AppendSeq(named, maps.Keys(tr.Options.ExcludeByName))
	}
	for _, n := range named {
		if !columns[n] {
			t.Errorf("%s: %s has no column %s", name, p.Title, n)
		}
	}
}
