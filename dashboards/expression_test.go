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

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// family is a metric or a recorded series.
type family struct {
	kind   string // counter, gauge, histogram; "" for a recording rule
	labels []string
}

// targetLabels returns the labels that Prometheus adds to each series: those of
// the target, and the external one of deploy/prometheus/agent.yml.
func targetLabels() []string { return []string{"job", "instance", "host"} }

// exported returns the metrics that the observer exports, by its golden file,
// and the series that Prometheus makes of targets and alerts.
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
		"ALERTS": {
			"gauge",
			[]string{"alertname", "alertstate", "session", "severity"},
		},
		"ALERTS_FOR_STATE": {
			"gauge",
			[]string{"alertname", "session", "severity"},
		},
	}
	for line := range strings.Lines(string(golden)) {
		m := regexp.MustCompile(`^(\w+)\{([\w,]*)\} (\w+)\n$`).FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("the golden file has %q", line)
		}
		name := m[1]
		f := family{
			kind:   m[3],
			labels: strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' }),
		}
		all[name] = f
		if f.kind == "histogram" {
			all[name+"_bucket"] = family{"counter", append(slices.Clone(f.labels), "le")}
			all[name+"_sum"] = family{"counter", f.labels}
			all[name+"_count"] = family{"counter", f.labels}
		}
	}
	return all
}

// misnamed returns the mistakes in an expression that Prometheus answers all
// the same: in "a or b" a missing b, a label that no series has, and rate of a
// gauge.
func misnamed(known map[string]family, expr string) []string {
	var wrong []string
	report := func(format string, args ...any) {
		wrong = append(wrong, fmt.Sprintf(format, args...))
	}
	expr = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).ReplaceAllString(expr, `""`)

	grouping := regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right) *\(([^)]*)\)`)
	named := regexp.MustCompile(`([A-Za-z_:][\w:]*)(?: *(\()|\{([^}]*)\})?`)
	labels := targetLabels()
	for _, m := range named.FindAllStringSubmatch(grouping.ReplaceAllString(expr, ""), -1) {
		name := m[1]
		call := m[2]
		matchers := m[3]
		f, ok := known[name]
		if !ok && call == "" && strings.ContainsAny(name, "_:") {
			report("no metric %s", name)
		}
		labels = append(labels, f.labels...)
		for _, l := range regexp.MustCompile(`(\w+) *[=!]`).FindAllStringSubmatch(
			matchers,
			-1,
		) {
			if !slices.Contains(append(targetLabels(), f.labels...), l[1]) {
				report("no label %s in %s", l[1], name)
			}
		}
	}

	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			if l = strings.TrimSpace(l); l != "" && !slices.Contains(labels, l) {
				report("no label %s in %s", l, expr)
			}
		}
	}

	ranged := regexp.MustCompile(`\b(\w+) *\(([\w:]+)(?:\{[^}]*\})?\[`)
	ofCounters := []string{"rate", "increase", "irate", "resets"}
	ofGauges := []string{"deriv", "delta", "idelta", "predict_linear", "changes"}
	for _, m := range ranged.FindAllStringSubmatch(expr, -1) {
		counter := known[m[2]].kind == "counter"
		if slices.Contains(ofCounters, m[1]) && !counter ||
			slices.Contains(ofGauges, m[1]) && counter {
			report("%s of the %s %s", m[1], known[m[2]].kind, m[2])
		}
	}
	return wrong
}

// answer is the result of an expression.
type answer struct {
	labels map[string]bool
	series int
	err    string
}

// wrong returns the mistake that an answer shows: over series of everything, no
// expression is without a result.
func (a answer) wrong() []string {
	switch {
	case a.err != "":
		return []string{a.err}
	case a.series == 0:
		return []string{"no series"}
	}
	return nil
}

// evaluate has promtool evaluate expressions over series of all families on two
// hosts, and over the recording rules.
func evaluate(t *testing.T, exprs ...string) map[string]answer {
	t.Helper()
	promtool := needs(t, "promtool", "prometheus")

	var cases []map[string]any
	for _, expr := range exprs {
		cases = append(
			cases,
			map[string]any{"expr": expr, "eval_time": "20m", "exp_samples": []any{}},
		)
	}
	var rules []string
	for _, path := range files(t, "prometheus/*.rules.yml") {
		full, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, full)
	}
	text, err := yaml.Marshal(map[string]any{
		"evaluation_interval": "1m",
		"rule_files":          rules,
		"tests": []any{map[string]any{
			"interval":         "1m",
			"input_series":     twoHosts(t),
			"promql_expr_test": cases,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "expressions_test.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	// No samples are expected, so promtool reports every result as a failure.
	out, _ := exec.CommandContext(
		t.Context(),
		promtool,
		"test",
		"rules",
		path,
	).CombinedOutput()
	if !strings.Contains(string(out), "got:") {
		t.Fatalf("promtool did not evaluate: %s", out)
	}
	return readAnswers(t, string(out))
}

// readAnswers reads promtool's report, which has no entry for an expression
// without a result.
func readAnswers(t *testing.T, out string) map[string]answer {
	t.Helper()
	entry := regexp.MustCompile(`(?m)^ *expr: ("(?:[^"\\]|\\.)*"), time: [^\n,]+,(?: err: (.*)|\n *exp:.*\n *got:(.*))$`)
	series := regexp.MustCompile(`\{((?:\w+="(?:[^"\\]|\\.)*"(?:, )?)*)\} [^,]+`)
	label := regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)

	all := map[string]answer{}
	for _, m := range entry.FindAllStringSubmatch(out, -1) {
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

// twoHosts returns series of all families on two hosts whose other labels are
// the same. Gauges are 1. Counters rise, and faster for an earlier value of a
// label, so that comparisons of two outcomes have a result.
func twoHosts(t *testing.T) []map[string]string {
	t.Helper()
	values := map[string][]string{
		"host":       {"a", "b"},
		"job":        {"sm"},
		"instance":   {"127.0.0.1:8420"},
		"le":         {"1000", "+Inf"},
		"trigger":    {"auto", "manual"},
		"level":      {"ok", "early_warn", "warn", "critical"},
		"source":     {"transcript", "hook"},
		"state":      {"failed", "live", "waiting"},
		"alertstate": {"firing"},
		"outcome":    {"failed", "confirmed", "expired"},
	}
	var series []map[string]string
	for name, f := range exported(t) {
		sets := []string{""}
		for _, l := range append(targetLabels(), f.labels...) {
			each := values[l]
			if each == nil {
				each = []string{"x"}
			}
			var longer []string
			for _, s := range sets {
				for _, v := range each {
					longer = append(longer, fmt.Sprintf("%s%s=%q,", s, l, v))
				}
			}
			sets = longer
		}
		for i, s := range sets {
			v := "1x30"
			if f.kind == "counter" {
				v = fmt.Sprintf("1+%dx30", len(sets)-i)
			}
			series = append(series, map[string]string{
				"series": name + "{" + strings.TrimSuffix(s, ",") + "}",
				"values": v,
			})
		}
	}
	return series
}

// withoutVariables replaces Grafana's variables, each as for the choice All.
func withoutVariables(expr string) string {
	return strings.NewReplacer(
		"$__rate_interval", "5m", "$__interval", "1m", "$__range", "6h", "$top", "10",
		`"$host"`, `".*"`, `"$job"`, `".+"`, `"$instance"`, `".+"`, `"$session"`, `".+"`, `"$session|"`, `".+|"`,
		`"$project"`, `".*"`, `"$model"`, `".*"`,
	).Replace(expr)
}

// TestExpressionsBite checks that each kind of mistake is found, by its names
// or by the answer of Prometheus.
func TestExpressionsBite(t *testing.T) {
	t.Parallel()
	const joined = `agent_session_active * on (session, job, instance, host) group_left (project) agent_session_info`
	known := exported(t)
	want := map[string]string{
		`sum(agent_session_context_tokens)`:                           "",
		`sum(agent_session_context_token)`:                            "no metric agent_session_context_token",
		`agent_session_context_tokens or agent_session_context_token`: "no metric agent_session_context_token",
		`agent_session_level{state="warn"}`:                           "no label state in agent_session_level",
		`sum by (kind) (agent_session_level)`:                         "no label kind in",
		`max without (source) (agent_session_level)`:                  "no label source in",
		`rate(agent_session_context_tokens[5m])`:                      "rate of the gauge agent_session_context_tokens",
		`deriv(agent_tokens_total{kind="input"}[5m])`:                 "deriv of the counter agent_tokens_total",
		`rate(agent_compaction_pre_tokens_bucket{le="1000"}[5m])`:     "",
		`agent_session_context_tokens / agent_session_info`:           "no series",
		`sum by (session) (agent_session_active`:                      "unclosed left parenthesis",
		joined:                                                        "",
		strings.Replace(
			joined,
			", host)",
			")",
			1,
		): "found duplicate series",
		strings.Replace(
			joined,
			"(project)",
			"(cwd)",
			1,
		): "no label cwd in",
		`agent_session_level == 1 and agent_session_active == 1`:                  "no series",
		`agent_session_level == 1 and ignoring (level) agent_session_active == 1`: "",
	}
	answers := evaluate(t, slices.Collect(maps.Keys(want))...)
	for expr, want := range want {
		got := strings.Join(append(misnamed(known, expr), answers[expr].wrong()...), "; ")
		if got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
	labels := slices.Sorted(maps.Keys(answers[joined].labels))
	if diff := cmp.Diff(
		[]string{"host", "instance", "job", "project", "session"},
		labels,
	); diff != "" {
		t.Errorf("labels of the answer (-want +got):\n%s", diff)
	}
}
