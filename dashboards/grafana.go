package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// schemaVersion is that of Grafana 12.0. Grafana 11 reads it too, and newer ones migrate it.
const schemaVersion = 41

// Dashboard is a dashboard in Grafana's classic JSON model, as far as we use it.
type Dashboard struct {
	UID           string      `json:"uid"`
	Title         string      `json:"title"`
	Description   string      `json:"description"`
	Tags          []string    `json:"tags"`
	SchemaVersion int         `json:"schemaVersion"`
	Version       int         `json:"version"`
	Editable      bool        `json:"editable"`
	GraphTooltip  int         `json:"graphTooltip"` // 1: all panels share a crosshair
	Time          timeRange   `json:"time"`
	Refresh       string      `json:"refresh"`
	Timezone      string      `json:"timezone"`
	WeekStart     string      `json:"weekStart"`
	Links         []link      `json:"links"`
	Templating    templating  `json:"templating"`
	Annotations   annotations `json:"annotations"`
	Panels        []Panel     `json:"panels"`
}

// Panel is one panel, or a row, which has no targets.
type Panel struct {
	ID            int          `json:"id"`
	Type          string       `json:"type"`
	Title         string       `json:"title"`
	Description   string       `json:"description,omitempty"`
	GridPos       GridPos      `json:"gridPos"`
	Collapsed     *bool        `json:"collapsed,omitempty"` // rows only
	Datasource    *source      `json:"datasource,omitempty"`
	Interval      string       `json:"interval,omitempty"` // the smallest step
	Targets       []Target     `json:"targets,omitempty"`
	Transforms    []transform  `json:"transformations,omitempty"`
	FieldConfig   *fieldConfig `json:"fieldConfig,omitempty"`
	Options       any          `json:"options,omitempty"`
	Panels        []Panel      `json:"panels,omitzero"` // of a collapsed row
	width, height int
}

// GridPos is where a panel stands, in a grid of 24 columns.
type GridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Target is a query of a panel.
type Target struct {
	RefID        string `json:"refId"`
	Datasource   source `json:"datasource"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat,omitempty"`
	Format       string `json:"format"` // time_series, table, heatmap
	EditorMode   string `json:"editorMode"`
	Instant      bool   `json:"instant"`
	Range        bool   `json:"range"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// link leads from a dashboard, or from a value, to another dashboard.
type link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type,omitempty"` // empty at a value
	URL         string   `json:"url"`
	Icon        string   `json:"icon,omitempty"`
	Tooltip     string   `json:"tooltip,omitempty"`
	Tags        []string `json:"tags,omitzero"`
	AsDropdown  *bool    `json:"asDropdown,omitempty"`
	IncludeVars *bool    `json:"includeVars,omitempty"`
	KeepTime    *bool    `json:"keepTime,omitempty"`
	TargetBlank bool     `json:"targetBlank"`
}

type templating struct {
	List []variable `json:"list"`
}

// variable is a template variable: of a data source, of a query, or a list of our own.
type variable struct {
	Name        string   `json:"name"`
	Label       string   `json:"label"`
	Description string   `json:"description"`
	Type        string   `json:"type"`
	Datasource  *source  `json:"datasource,omitempty"`
	Query       any      `json:"query"`
	Definition  string   `json:"definition,omitempty"`
	Refresh     int      `json:"refresh,omitempty"` // 1: on load, 2: when the time range changes
	Regex       string   `json:"regex"`
	Sort        int      `json:"sort,omitempty"` // 1: by name
	Multi       bool     `json:"multi"`
	IncludeAll  bool     `json:"includeAll"`
	AllValue    string   `json:"allValue,omitempty"`
	Hide        int      `json:"hide"`
	SkipURLSync bool     `json:"skipUrlSync"`
	Options     []choice `json:"options"`
	Current     *choice  `json:"current,omitempty"`
}

type variableQuery struct {
	QryType int    `json:"qryType"` // 1: label_values
	Query   string `json:"query"`
	RefID   string `json:"refId"`
}

type choice struct {
	Selected bool `json:"selected"`
	Text     any  `json:"text"`
	Value    any  `json:"value"`
}

type annotations struct {
	List []annotation `json:"list"`
}

// annotation marks times at which an expression has a value.
type annotation struct {
	Name        string `json:"name"`
	Enable      bool   `json:"enable"`
	Hide        bool   `json:"hide"`
	IconColor   string `json:"iconColor"`
	Datasource  source `json:"datasource"`
	Expr        string `json:"expr"`
	Step        string `json:"step"`
	TitleFormat string `json:"titleFormat"`
	TextFormat  string `json:"textFormat"`
	TagKeys     string `json:"tagKeys"`
}

type transform struct {
	ID      string         `json:"id"`
	Options map[string]any `json:"options"`
}

type fieldConfig struct {
	Defaults  field      `json:"defaults"`
	Overrides []override `json:"overrides"`
}

// field says how values are shown.
type field struct {
	Unit       string         `json:"unit"`
	Decimals   *int           `json:"decimals,omitempty"`
	Min        *float64       `json:"min,omitempty"`
	Max        *float64       `json:"max,omitempty"`
	NoValue    string         `json:"noValue,omitempty"`
	Color      *color         `json:"color,omitempty"`
	Mappings   []mapping      `json:"mappings,omitempty"`
	Thresholds *thresholds    `json:"thresholds,omitempty"`
	Links      []link         `json:"links,omitempty"`
	Custom     map[string]any `json:"custom,omitempty"`
}

type color struct {
	Mode       string `json:"mode"`
	FixedColor string `json:"fixedColor,omitempty"`
}

// mapping shows values as text.
type mapping struct {
	Type    string            `json:"type"`
	Options map[string]mapped `json:"options"`
}

type mapped struct {
	Text  string `json:"text"`
	Color string `json:"color"`
	Index int    `json:"index"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

// step is where a colour begins; the first has no value.
type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

type override struct {
	Matcher    matcher    `json:"matcher"`
	Properties []property `json:"properties"`
}

type matcher struct {
	ID      string `json:"id"`
	Options any    `json:"options"`
}

type property struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
}

// Boards are our dashboards, by the name of the file that each has in grafana/.
func Boards() map[string]Dashboard {
	return map[string]Dashboard{"fleet-pressure.json": fleetPressure(), "one-session.json": oneSession()}
}

// JSON is the dashboard as Grafana imports it: indented, ending with a newline, the same
// for the same dashboard.
func (d Dashboard) JSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // expressions are full of < and >
	e.SetIndent("", "  ")
	if err := e.Encode(d); err != nil {
		return nil, fmt.Errorf("encode dashboard %s: %w", d.UID, err)
	}
	return b.Bytes(), nil
}

// Query is something that a dashboard asks of Prometheus.
type Query struct {
	Kind  string // the panel's type, or annotation
	Where string // of the dashboard: a panel's title, or the annotation's name
	Expr  string // with Grafana's variables
}

// Queries are the expressions of all panels and annotations.
func (d Dashboard) Queries() []Query {
	var all []Query
	for _, p := range d.all() {
		for _, t := range p.Targets {
			all = append(all, Query{p.Type, p.Title, t.Expr})
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, Query{"annotation", a.Name, a.Expr})
	}
	return all
}

// all are the panels, those in collapsed rows included.
func (d Dashboard) all() (list []Panel) {
	for _, p := range d.Panels {
		list = append(append(list, p), p.Panels...)
	}
	return list
}
