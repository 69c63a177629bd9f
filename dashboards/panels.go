package dashboards

// Units of Grafana.
const (
	unitRatio   = "percentunit" // 0 to 1, shown as percent
	unitCount   = "short"
	unitSeconds = "s"
	unitDollars = "currencyUSD"
	unitBytes   = "bytes"
	unitSwitch  = "bool_yes_no"
	unitNone    = "none"
)

// Colours of the levels, the same on all panels.
const (
	colorUnknown  = "text"
	colorOK       = "green"
	colorEarly    = "yellow"
	colorWarn     = "orange"
	colorCritical = "red"
)

// The pressures from which the alerts speak, and below how many replies that are likely to be left, or are left at least;
// dashboards draw them as lines. Before pressureHigh it is rising.
const (
	pressureRising   = 0.6
	pressureHigh     = 0.78
	pressureImminent = 0.95
	repliesFew       = 15.0
	repliesLeast     = 4.0
)

// prometheus is the data source that the user chooses on the dashboard.
func prometheus() source { return source{Type: "prometheus", UID: "${datasource}"} }

// over asks for a range of time, with one curve for each series.
func over(expr, legend string) Target {
	return Target{Datasource: prometheus(), Expr: expr, LegendFormat: legend, Format: "time_series", EditorMode: "code", Range: true}
}

// buckets asks for a range of a histogram's buckets.
func buckets(expr string) Target {
	t := over(expr, "{{le}}")
	t.Format = "heatmap"
	return t
}

// now asks for one value of each series.
func now(expr string) Target {
	return Target{Datasource: prometheus(), Expr: expr, Format: "time_series", EditorMode: "code", Instant: true}
}

// rows asks for one row of each series, with its labels as columns.
func rows(expr string) Target {
	t := now(expr)
	t.Format = "table"
	return t
}

// panel begins one; width and height are in the grid's units. Place gives it its place.
func panel(kind string, width, height int, title, description, unit string, targets ...Target) Panel {
	datasource := prometheus()
	for i := range targets {
		targets[i].RefID = string(rune('A' + i))
	}
	return Panel{
		Type: kind, Title: title, Description: description, Datasource: &datasource, Targets: targets,
		FieldConfig: &fieldConfig{Defaults: field{Unit: unit, Thresholds: steps(colorOK)}, Overrides: []override{}},
		width:       width, height: height,
	}
}

// row heads the panels that follow it.
func row(title string) Panel {
	return Panel{Type: "row", Title: title, Collapsed: new(false), Panels: []Panel{}, width: columns, height: 1}
}

// stat shows the newest value, large.
func stat(title, description, unit string, t Target) Panel {
	p := panel("stat", 4, 4, title, description, unit, t)
	p.FieldConfig.Defaults.Color = &color{Mode: "thresholds"}
	p.FieldConfig.Defaults.NoValue = "unknown"
	p.Options = map[string]any{
		"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		"colorMode":     "value", "graphMode": "none", "textMode": "auto", "justifyMode": "auto", "orientation": "auto",
		"wideLayout": true, "showPercentChange": false, "percentChangeColorMode": "standard",
	}
	return p
}

// curves shows one line for each series, from 0 on.
func curves(width int, title, description, unit string, targets ...Target) Panel {
	p := panel("timeseries", width, 8, title, description, unit, targets...)
	p.FieldConfig.Defaults.Color = &color{Mode: "palette-classic"}
	p.FieldConfig.Defaults.Min = new(0.)
	p.FieldConfig.Defaults.Custom = map[string]any{
		"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "auto", "pointSize": 4, "spanNulls": false,
		"lineInterpolation": "linear", "axisPlacement": "auto", "axisLabel": "",
		"stacking": map[string]any{"mode": "none", "group": "A"}, "thresholdsStyle": map[string]any{"mode": "off"},
	}
	p.Options = map[string]any{
		"legend":  map[string]any{"displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": []string{"lastNotNull", "max"}, "sortBy": "Last *", "sortDesc": true},
		"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
	}
	return p
}

// table shows the rows of all targets, merged where their labels agree.
func table(height int, title, description, sortBy string, targets ...Target) Panel {
	p := panel("table", columns, height, title, description, unitCount, targets...)
	p.FieldConfig.Defaults.Custom = map[string]any{"align": "auto", "filterable": true, "inspect": false, "cellOptions": map[string]any{"type": "auto"}}
	p.Options = map[string]any{"showHeader": true, "cellHeight": "sm", "frameIndex": 0, "sortBy": []map[string]any{{"displayName": sortBy, "desc": true}}}
	return p
}

// timeline shows for each series which state it was in, and when.
func timeline(width int, title, description string, states map[string]mapped, t Target) Panel {
	p := panel("state-timeline", width, 8, title, description, unitNone, t)
	p.FieldConfig.Defaults.Color = &color{Mode: "thresholds"}
	p.FieldConfig.Defaults.Mappings = []mapping{{"value", states}}
	p.FieldConfig.Defaults.Custom = map[string]any{"fillOpacity": 80, "lineWidth": 0, "spanNulls": false}
	p.Options = map[string]any{
		"mergeValues": true, "showValue": "auto", "alignValue": "left", "rowHeight": 0.9,
		"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
		"tooltip": map[string]any{"mode": "single", "sort": "none"},
	}
	return p
}

// heatmap shows how values spread over time. With size > 0 it makes buckets of that size
// out of the series, else the series are buckets.
func heatmap(width int, title, description, unit, size string, t Target) Panel {
	p := panel("heatmap", width, 8, title, description, unit, t)
	p.FieldConfig.Defaults.Custom = map[string]any{"scaleDistribution": map[string]any{"type": "linear"}, "hideFrom": map[string]any{"legend": false, "tooltip": false, "viz": false}}
	options := map[string]any{
		"calculate": size != "", "cellGap": 1, "showValue": "never", "exemplars": map[string]any{"color": "rgba(255,0,255,0.7)"},
		"color":        map[string]any{"mode": "scheme", "scheme": "Oranges", "fill": "dark-orange", "scale": "exponential", "exponent": 0.5, "steps": 64, "reverse": false},
		"filterValues": map[string]any{"le": 1e-9}, "legend": map[string]any{"show": true},
		"tooltip":    map[string]any{"mode": "single", "yHistogram": true, "showColorScale": true},
		"yAxis":      map[string]any{"axisPlacement": "left", "unit": unit, "reverse": false},
		"cellValues": map[string]any{"unit": unitCount}, "rowsFrame": map[string]any{"layout": "auto"},
	}
	if size != "" {
		options["calculation"] = map[string]any{
			"yBuckets": map[string]any{"mode": "size", "value": size, "scale": map[string]any{"type": "linear"}},
			"xBuckets": map[string]any{"mode": "size", "value": ""},
		}
	}
	p.Options = options
	return p
}

// steps begin with one colour and change at the values that follow: colour, value, colour …
func steps(first string, then ...any) *thresholds {
	t := &thresholds{Mode: "absolute", Steps: []step{{Color: first}}}
	for i := 0; i+1 < len(then); i += 2 {
		t.Steps = append(t.Steps, step{then[i].(string), new(then[i+1].(float64))})
	}
	return t
}

// colored gives a panel colours by value.
func (p Panel) colored(t *thresholds) Panel {
	p.FieldConfig.Defaults.Thresholds = t
	return p
}

// lined draws the thresholds as dashed lines.
func (p Panel) lined() Panel {
	p.FieldConfig.Defaults.Custom["thresholdsStyle"] = map[string]any{"mode": "dashed"}
	return p
}

// stacked adds the curves up, as areas.
func (p Panel) stacked() Panel {
	p.FieldConfig.Defaults.Custom["stacking"] = map[string]any{"mode": "normal", "group": "A"}
	p.FieldConfig.Defaults.Custom["fillOpacity"] = 40
	return p
}

// stepped joins values by steps: what lies between two of them never was.
func (p Panel) stepped() Panel {
	p.FieldConfig.Defaults.Custom["lineInterpolation"] = "stepAfter"
	return p
}

// signed lets the axis go below 0.
func (p Panel) signed() Panel {
	p.FieldConfig.Defaults.Min = nil
	return p
}

// tall sets another height.
func (p Panel) tall(height int) Panel {
	p.height = height
	return p
}

// states show values as text.
func (p Panel) states(states map[string]mapped) Panel {
	p.FieldConfig.Defaults.Mappings = []mapping{{"value", states}}
	return p
}

// overrideQuery sets properties of what one target gives.
func (p Panel) overrideQuery(refID string, properties ...property) Panel {
	p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, override{matcher{"byFrameRefID", refID}, properties})
	return p
}

// column names a table's column, and sets properties of it.
func (p Panel) column(field, name, unit string, more ...property) Panel {
	properties := append([]property{{"displayName", name}, {"unit", unit}}, more...)
	p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, override{matcher{"byName", field}, properties})
	return p
}

// merged makes one table of all targets, in an order of columns, without the others.
func (p Panel) merged(order []string, without ...string) Panel {
	index, exclude := map[string]int{}, map[string]bool{"Time": true}
	for i, name := range order {
		index[name] = i
	}
	for _, name := range without {
		exclude[name] = true
	}
	p.Transforms = []transform{
		{"merge", map[string]any{}},
		{"organize", map[string]any{"indexByName": index, "excludeByName": exclude, "renameByName": map[string]string{}}},
	}
	return p
}

// levelStates are the numbers of [levelNumber].
func levelStates() map[string]mapped {
	return map[string]mapped{
		"0": {"unknown", colorUnknown, 0}, "1": {"ok", colorOK, 1}, "2": {"early_warn", colorEarly, 2},
		"3": {"warn", colorWarn, 3}, "4": {"critical", colorCritical, 4},
	}
}

// yesNo are the states of a switch.
func yesNo(no, yes string) map[string]mapped {
	return map[string]mapped{"0": {"no", no, 0}, "1": {"yes", yes, 1}}
}

// pressureSteps colour a pressure as the alerts see it.
func pressureSteps() *thresholds {
	return steps(colorOK, colorEarly, pressureRising, colorWarn, pressureHigh, colorCritical, pressureImminent)
}

// repliesSteps colour the replies left as the alerts see them.
func repliesSteps() *thresholds {
	return steps(colorCritical, colorWarn, repliesFew, colorOK, 2*repliesFew)
}

// alerts lists the alerts of our rules that fire.
func alerts(height int) Panel {
	return table(height, "Alerts", "Alerts that fire, of the chosen sessions and of the observers. Empty where no Prometheus has the rules.", "Fires for",
		rows(firing())).
		merged([]string{"alertname", "severity", "session", "host", "instance", "Value"}, "job").
		column("alertname", "Alert", "string").column("severity", "Severity", "string").column("session", "Session", "string").
		column("host", "Host", "string").column("instance", "Observer", "string").column("Value", "Fires for", unitSeconds)
}
