package dashboards

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the files in grafana anew")

// TestGrafanaGenerated: what is committed is what the code says, and nothing else.
func TestGrafanaGenerated(t *testing.T) {
	for name, d := range Boards() {
		got, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("grafana", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s; go generate ./dashboards writes it anew (-want +got):\n%s", path, diff)
		}
	}
	files, err := filepath.Glob("grafana/*")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for name := range Boards() {
		want = append(want, filepath.Join("grafana", name))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// units are those of Grafana that we use, looked up in version 12.0 of its package @grafana/data.
func units() []string {
	return []string{"percentunit", "short", "s", "currencyUSD", "bytes", "Bps", "ops", "bool_yes_no", "none", "string"}
}

// TestGrafanaPanels: each panel says what it is, in which unit, and asks the data source that was chosen.
func TestGrafanaPanels(t *testing.T) {
	kinds := []string{"row", "stat", "timeseries", "table", "state-timeline", "heatmap"}
	for name, d := range Boards() {
		seen := map[int]bool{}
		for _, p := range d.all() {
			if seen[p.ID] || p.ID <= 0 {
				t.Errorf("%s: %s has the id %d again", name, p.Title, p.ID)
			}
			seen[p.ID] = true
			if p.Title == "" || !slices.Contains(kinds, p.Type) {
				t.Errorf("%s: panel %d is a %q with the title %q", name, p.ID, p.Type, p.Title)
			}
			if p.Type == "row" {
				if len(p.Targets) > 0 || p.Collapsed == nil || p.Panels == nil {
					t.Errorf("%s: the row %s is none", name, p.Title)
				}
				continue
			}
			if !strings.HasSuffix(p.Description, ".") {
				t.Errorf("%s: %s is described as %q", name, p.Title, p.Description)
			}
			if p.FieldConfig == nil || !slices.Contains(units(), p.FieldConfig.Defaults.Unit) || p.Options == nil {
				t.Errorf("%s: %s has no unit or no options", name, p.Title)
			}
			checkTargets(t, name, p)
			for _, o := range p.FieldConfig.Overrides {
				for _, property := range o.Properties {
					if property.ID == "unit" && !slices.Contains(units(), property.Value.(string)) {
						t.Errorf("%s: %s has the unit %v", name, p.Title, property.Value)
					}
				}
			}
			for _, s := range p.FieldConfig.Defaults.Thresholds.Steps[1:] {
				if s.Value == nil {
					t.Errorf("%s: %s has a threshold without a value", name, p.Title)
				}
			}
		}
	}
}

// checkTargets: a panel asks the chosen data source, for a range if it shows curves and for the present if it shows figures.
func checkTargets(t *testing.T, name string, p Panel) {
	t.Helper()
	if len(p.Targets) == 0 || p.Datasource == nil || *p.Datasource != prometheus() {
		t.Errorf("%s: %s asks nothing, or not the chosen source", name, p.Title)
	}
	for i, q := range p.Targets {
		if q.RefID != string(rune('A'+i)) || q.Datasource != prometheus() || q.Instant == q.Range {
			t.Errorf("%s: %s: target %d: %+v", name, p.Title, i, q)
		}
		if q.Range == (p.Type == "stat" || p.Type == "table") {
			t.Errorf("%s: %s, a %s, asks for a range: %v", name, p.Title, p.Type, q.Range)
		}
	}
}

// TestGrafanaDashboards: what the dashboards have in common, and that they find each other.
func TestGrafanaDashboards(t *testing.T) {
	uids := map[string]bool{}
	for name, d := range Boards() {
		if uids[d.UID] || !regexp.MustCompile(`^[a-z0-9-]{1,40}$`).MatchString(d.UID) {
			t.Errorf("%s: uid %q", name, d.UID)
		}
		uids[d.UID] = true
		if d.SchemaVersion != 41 || d.Title == "" || d.Description == "" || !slices.Contains(d.Tags, "sm") || d.Editable {
			t.Errorf("%s: %d %q %q %q %v", name, d.SchemaVersion, d.Title, d.Description, d.Tags, d.Editable)
		}
		if len(d.Links) == 0 || len(d.Annotations.List) == 0 {
			t.Errorf("%s: no links, or no annotations", name)
		}
	}
	target := regexp.MustCompile(`/d/([a-z0-9-]+)`)
	for name, d := range Boards() {
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		others := 0
		for _, m := range target.FindAllStringSubmatch(string(text), -1) {
			others++
			if !uids[m[1]] || m[1] == d.UID {
				t.Errorf("%s leads to %q", name, m[1])
			}
		}
		if others == 0 {
			t.Errorf("%s leads nowhere", name)
		}
		if !json.Valid(text) {
			t.Errorf("%s is no JSON", name)
		}
	}
}

// TestGrafanaVariables: all are there, and all that is used is defined; All stands for everything, an absent host too.
func TestGrafanaVariables(t *testing.T) {
	used := regexp.MustCompile(`\$(?:\{(\w+)[:}]|(\w+))`)
	for name, d := range Boards() {
		defined := map[string]variable{}
		for _, v := range d.Templating.List {
			defined[v.Name] = v
			if v.Label == "" || v.Description == "" {
				t.Errorf("%s: %s has no label or no description", name, v.Name)
			}
			if v.Type == "query" && (v.Datasource == nil || *v.Datasource != prometheus() || v.Refresh != 2 || v.AllValue == "" != (v.Name == "session")) {
				t.Errorf("%s: %s: %+v", name, v.Name, v)
			}
		}
		for _, n := range []string{"host", "job", "instance", "project", "model", "session"} {
			several := n != "session" || d.UID != sessionUID
			if v := defined[n]; v.Type != "query" || v.Multi != several || v.IncludeAll != several {
				t.Errorf("%s: the variable %s: %+v", name, n, v)
			}
		}
		if v := defined["datasource"]; v.Type != "datasource" || v.Query != "prometheus" {
			t.Errorf("%s: the data source: %+v", name, v)
		}
		for _, n := range []string{"host", "project", "model"} {
			if defined[n].AllValue != ".*" {
				t.Errorf("%s: %s: all leave those out that have none", name, n)
			}
		}
		text, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(text), -1) {
			n := m[1] + m[2]
			if _, ok := defined[n]; !ok && !strings.HasPrefix(n, "__") {
				t.Errorf("%s uses %s", name, n)
			}
		}
	}
}

// answered are the answers to all that the dashboards ask, by the expression as it stands there.
func answered(t *testing.T) map[string]answer {
	t.Helper()
	asked := map[string]string{}
	for _, d := range Boards() {
		for _, q := range d.Queries() {
			asked[q.Expr] = plain(q.Expr)
		}
		for _, v := range d.Templating.List {
			if source, _ := v.labelValues(); source != "" {
				asked[source] = plain(source)
			}
		}
	}
	found := evaluate(t, slices.Collect(maps.Values(asked))...)
	all := map[string]answer{}
	for expr, plain := range asked {
		all[expr] = found[plain]
	}
	return all
}

// labelValues returns, for a variable that lists the values of a label, that label and its series.
func (v variable) labelValues() (expr, label string) {
	m := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`).FindStringSubmatch(v.Definition)
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// TestGrafanaQueries: every expression asks for what there is, and keeps to the choices made on the dashboard.
func TestGrafanaQueries(t *testing.T) {
	known := exported(t)
	asked := map[string]bool{}
	for name, d := range Boards() {
		for _, q := range d.Queries() {
			for _, w := range misnamed(known, plain(q.Expr)) {
				t.Errorf("%s: %s: %s: %s", name, q.Where, q.Expr, w)
			}
			for _, selected := range regexp.MustCompile(`([a-z_]{2,})\{([^}]*)\}`).FindAllStringSubmatch(q.Expr, -1) {
				asked[selected[1]] = true
				if !strings.HasPrefix(selected[2], ofObservers) || strings.HasPrefix(selected[1], "agent_session_") && !strings.HasPrefix(selected[2], ofSessions) {
					t.Errorf("%s: %s: %s is not limited to the choices", name, q.Where, selected[0])
				}
			}
		}
	}
	// What the observer exports is shown, but for what only tells it apart.
	for name := range exported(t) {
		base := strings.TrimSuffix(strings.TrimSuffix(name, "_sum"), "_count")
		if !asked[name] && !asked[base+"_bucket"] && name != "sm_build_info" && name != "process_start_time_seconds" {
			t.Errorf("no dashboard shows %s", name)
		}
	}
}

// TestGrafanaAnswers: Prometheus answers every query of two hosts with the same names; a join that forgets the host fails
// there. What legends, columns and variables name is in the answers.
func TestGrafanaAnswers(t *testing.T) {
	answers := answered(t)
	for name, d := range Boards() {
		for _, q := range d.Queries() {
			for _, w := range answers[q.Expr].wrong() {
				t.Errorf("%s: %s: %s: %s", name, q.Where, q.Expr, w)
			}
		}
		for _, p := range d.all() {
			for _, q := range p.Targets {
				for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(q.LegendFormat, -1) {
					if !answers[q.Expr].labels[m[1]] {
						t.Errorf("%s: %s: no label %s for %q", name, p.Title, m[1], q.LegendFormat)
					}
				}
			}
			if p.Type == "table" {
				checkColumns(t, name, p, answers)
			}
		}
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			if expr, label := v.labelValues(); !answers[expr].labels[label] {
				t.Errorf("%s: %s: no label %s: %v", name, v.Definition, label, answers[expr].wrong())
			}
		}
	}
}

// checkColumns: what columns are named after is in the answers.
func checkColumns(t *testing.T, name string, p Panel, answers map[string]answer) {
	t.Helper()
	columns := map[string]bool{"Time": true, "Value": len(p.Targets) == 1}
	for _, q := range p.Targets {
		maps.Copy(columns, answers[q.Expr].labels)
		columns["Value #"+q.RefID] = len(p.Targets) > 1
	}
	for _, o := range p.FieldConfig.Overrides {
		if !columns[o.Matcher.Options.(string)] {
			t.Errorf("%s: %s has no column %v", name, p.Title, o.Matcher.Options)
		}
	}
	for _, tr := range p.Transforms {
		for _, by := range []string{"indexByName", "excludeByName"} {
			listed, ok := tr.Options[by]
			if !ok {
				continue
			}
			text, _ := json.Marshal(listed)
			var names map[string]any
			if err := json.Unmarshal(text, &names); err != nil {
				t.Fatal(err)
			}
			for n := range names {
				if !columns[n] {
					t.Errorf("%s: %s has no column %s", name, p.Title, n)
				}
			}
		}
	}
}
