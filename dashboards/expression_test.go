package dashboards

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// family is what a metric's name stands for.
type family struct {
	kind   string // counter, gauge, histogram; "" for a recording rule
	labels []string
}

// targetLabels are those that Prometheus adds: of the target, and the external one of deploy/prometheus/agent.yml.
func targetLabels() []string { return []string{"job", "instance", "host"} }

// exported are the families that the observer exports: those in the golden file that its tests hold against a real
// exposition, and what every target has. So a metric that is renamed there is missed here.
func exported(t *testing.T) map[string]family {
	t.Helper()
	golden, err := os.ReadFile("../observer/testdata/metrics.golden")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]family{
		"up":                            {"gauge", nil},
		"process_cpu_seconds_total":     {"counter", nil},
		"process_resident_memory_bytes": {"gauge", nil},
		"process_start_time_seconds":    {"gauge", nil},
	}
	for line := range strings.Lines(string(golden)) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), "{")
		labels, kind, ok := strings.Cut(rest, "} ")
		if !ok {
			t.Fatalf("the golden file has %q", line)
		}
		f := family{kind, nil}
		if labels != "" {
			f.labels = strings.Split(labels, ",")
		}
		all[name] = f
		if kind == "histogram" {
			all[name+"_bucket"] = family{"counter", append(slices.Clone(f.labels), "le")}
			all[name+"_sum"], all[name+"_count"] = family{"counter", f.labels}, family{"counter", f.labels}
		}
	}
	return all
}

// ofAlerts are the series that Prometheus makes of alerts.
func ofAlerts() map[string]family {
	return map[string]family{
		"ALERTS":           {"gauge", []string{"alertname", "alertstate", "session", "severity"}},
		"ALERTS_FOR_STATE": {"gauge", []string{"alertname", "session", "severity"}},
	}
}

// misnamed complains of names and labels in an expression that do not exist, and of functions that do not fit the kind of a
// metric. What an expression means only Prometheus knows, see [evaluate]; but a name that is missed stays unnoticed there
// where another one stands in for it.
func misnamed(known map[string]family, expr string) (wrong []string) {
	complain := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	labels := map[string]bool{"le": strings.Contains(expr, "_bucket")}
	for _, l := range targetLabels() {
		labels[l] = true
	}
	for name, f := range ofAlerts() {
		for _, l := range f.labels {
			labels[l] = labels[l] || strings.Contains(expr, name+"{")
		}
	}
	for _, m := range regexp.MustCompile(`([a-z_:][a-z0-9_:]*[_:][a-z0-9_:]+)(\{[^}]*\})?`).FindAllStringSubmatch(unquoted(expr), -1) {
		f, ok := known[m[1]]
		if !ok && !slices.Contains(functions(), m[1]) && !labelled(known, m[1]) {
			complain("nobody exports %s", m[1])
		}
		for _, l := range f.labels {
			labels[l] = true
		}
		for _, l := range regexp.MustCompile(`(\w+) *[=!]`).FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(append(targetLabels(), f.labels...), l[1]) {
				complain("no label %s in %s", l[1], m[1])
			}
		}
	}
	for _, m := range regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right) *\(([^)]*)\)`).FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			if l = strings.TrimSpace(l); l != "" && !labels[l] {
				complain("no label %s in %s", l, expr)
			}
		}
	}
	for _, m := range regexp.MustCompile(`\b(\w+) *\(([a-z0-9_:]+)(?:\{[^}]*\})?\[`).FindAllStringSubmatch(expr, -1) {
		counts := known[m[2]].kind == "counter"
		switch {
		case slices.Contains([]string{"rate", "increase", "irate", "resets"}, m[1]) && !counts:
			complain("%s of %s, which is no counter", m[1], m[2])
		case slices.Contains([]string{"deriv", "delta", "idelta", "predict_linear", "changes"}, m[1]) && counts:
			complain("%s of the counter %s", m[1], m[2])
		}
	}
	return wrong
}

// unquoted empties what stands in quotes.
func unquoted(expr string) string {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).ReplaceAllString(expr, `""`)
}

// functions are those of Prometheus that look like a metric's name, as far as we use them.
func functions() []string {
	return []string{"histogram_quantile", "min_over_time", "max_over_time", "last_over_time", "clamp_min", "group_left", "group_right"}
}

func labelled(known map[string]family, name string) bool {
	for _, f := range known {
		if slices.Contains(f.labels, name) {
			return true
		}
	}
	return false
}

// answer is what Prometheus makes of an expression: the labels of the series, and how many there are, or an error.
type answer struct {
	labels map[string]bool
	series int
	err    string
}

// evaluate has promtool evaluate expressions over series of all families on two hosts, with the recording rules.
func evaluate(t *testing.T, exprs ...string) map[string]answer {
	t.Helper()
	promtool := needs(t, "promtool", "prometheus")
	var cases []map[string]any
	for _, expr := range exprs {
		cases = append(cases, map[string]any{"expr": expr, "eval_time": "20m", "exp_samples": []any{}})
	}
	var rules []string
	for _, path := range files(t, "prometheus/*.rules.yml") {
		full, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, full)
	}
	text, err := yaml.Marshal(map[string]any{"evaluation_interval": "1m", "rule_files": rules, "tests": []any{
		map[string]any{"interval": "1m", "input_series": twoHosts(t), "promql_expr_test": cases},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "expressions_test.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// It fails where there are answers at all: no results are given as expected ones.
	out, _ := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput()
	if !strings.Contains(string(out), "got:") {
		t.Fatalf("promtool did not evaluate: %s", out)
	}
	return answersOf(t, string(out))
}

// answersOf reads what promtool found instead of the results that it was to expect; an expression without a result is not
// among them.
func answersOf(t *testing.T, out string) map[string]answer {
	t.Helper()
	all := map[string]answer{}
	label := regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
	series := regexp.MustCompile(`\{((?:\w+="(?:[^"\\]|\\.)*"(?:, )?)*)\} [^,]+`)
	for _, m := range regexp.MustCompile(`(?m)^ *expr: ("(?:[^"\\]|\\.)*"), time: [^\n,]+,(?: err: (.*)|\n *exp:.*\n *got:(.*))$`).FindAllStringSubmatch(out, -1) {
		var expr string
		if err := yaml.Unmarshal([]byte(m[1]), &expr); err != nil {
			t.Fatal(err)
		}
		a := answer{labels: map[string]bool{}, err: m[2]}
		for _, s := range series.FindAllStringSubmatch(m[3], -1) {
			a.series++
			for _, l := range label.FindAllStringSubmatch(s[1], -1) {
				a.labels[l[1]] = true
			}
		}
		all[expr] = a
	}
	return all
}

// twoHosts are series of all families on two hosts, whose observers, agents and figures have the same names. Gauges are 1,
// counters rise, the first value of a label faster than the next.
func twoHosts(t *testing.T) (series []map[string]string) {
	t.Helper()
	values := map[string][]string{
		"host": {"a", "b"}, "job": {"sm"}, "instance": {"127.0.0.1:8420"}, "le": {"1000", "+Inf"}, "trigger": {"auto", "manual"},
		"level": {"ok", "early_warn", "warn", "critical"}, "source": {"transcript", "hook"}, "state": {"failed", "live"}, "alertstate": {"firing"}, "outcome": {"failed", "confirmed", "expired"},
	}
	all := exported(t)
	maps.Copy(all, ofAlerts())
	for name, f := range all {
		sets := []string{""}
		slope := []int{1}
		for _, l := range append(targetLabels(), f.labels...) {
			each := values[l]
			if each == nil {
				each = []string{"x"}
			}
			var more []string
			var slopes []int
			for i, s := range sets {
				for k, v := range each {
					more, slopes = append(more, fmt.Sprintf("%s%s=%q,", s, l, v)), append(slopes, slope[i]*2+len(each)-k)
				}
			}
			sets, slope = more, slopes
		}
		for i, s := range sets {
			v := "1x30"
			if f.kind == "counter" {
				v = fmt.Sprintf("1+%dx30", slope[i])
			}
			series = append(series, map[string]string{"series": name + "{" + strings.TrimSuffix(s, ",") + "}", "values": v})
		}
	}
	return series
}

// plain puts values in the place of Grafana's variables; each choice is All.
func plain(expr string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "6h", "$top", "10",
		`"$host"`, `".*"`, `"$job"`, `".+"`, `"$instance"`, `".+"`, `"$session"`, `".+"`, `"$session|"`, `".+|"`, `"$project"`, `".*"`, `"$model"`, `".*"`).Replace(expr)
}

// TestExpressionsBite shows that a wrong expression is found: by its names, or by what Prometheus answers.
func TestExpressionsBite(t *testing.T) {
	known := exported(t)
	want := map[string]string{
		`sum(agent_session_context_tokens)`:                                                                "",
		`sum(agent_session_context_token)`:                                                                 "nobody exports agent_session_context_token",
		`agent_session_context_tokens or agent_session_context_token`:                                      "nobody exports agent_session_context_token",
		`agent_session_level{state="warn"}`:                                                                "no label state in agent_session_level",
		`sum by (kind) (agent_session_level)`:                                                              "no label kind in",
		`max without (source) (agent_session_level)`:                                                       "no label source in",
		`rate(agent_session_context_tokens[5m])`:                                                           "rate of agent_session_context_tokens, which is no counter",
		`deriv(agent_tokens_total{kind="input"}[5m])`:                                                      "deriv of the counter agent_tokens_total",
		`rate(agent_compaction_pre_tokens_bucket{le="1000"}[5m])`:                                          "",
		`histogram_quantile(0.9, sum by (instance) (rate(agent_compaction_pre_tokens_bucket[5m])))`:        "no series",
		`agent_session_context_tokens / agent_session_info`:                                                "no series",
		`agent_session_active * on (session, job, instance, host) group_left (project) agent_session_info`: "",
		`agent_session_active * on (session, job, instance) group_left (project) agent_session_info`:       "found duplicate series",
		`agent_session_active * on (session, host) group_left (cwd) agent_session_info`:                    "no label cwd in",
		`sum by (session) (agent_session_active * on (session) group_left (model) agent_session_info`:      "unclosed left parenthesis",
		`agent_session_level == 1 and agent_session_active == 1`:                                           "no series",
		`agent_session_level == 1 and ignoring (level) agent_session_active == 1`:                          "",
	}
	found := evaluate(t, slices.Collect(maps.Keys(want))...)
	for expr, want := range want {
		if got := strings.Join(append(misnamed(known, expr), found[expr].wrong()...), "; "); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
	labels := found[`agent_session_active * on (session, job, instance, host) group_left (project) agent_session_info`]
	if got := fmt.Sprint(labels.series, slices.Sorted(maps.Keys(labels.labels))); got != "2 [host instance job project session]" {
		t.Errorf("the answer has the labels %s", got)
	}
}

// wrong says what is wrong with an answer: Prometheus has none where something is asked of all that there is.
func (a answer) wrong() []string {
	switch {
	case a.err != "":
		return []string{a.err}
	case a.series == 0:
		return []string{"no series"}
	}
	return nil
}
