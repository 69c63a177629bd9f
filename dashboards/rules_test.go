package dashboards

import (
	"bytes"
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

// rule is an alert or a recording rule.
type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

// ruleFiles are the rules by file.
func ruleFiles(t *testing.T) map[string][]rule {
	t.Helper()
	all := map[string][]rule{}
	for _, path := range files(t, "prometheus/*.rules.yml") {
		var f struct {
			Groups []struct {
				Name  string
				Rules []rule
			}
		}
		decode(t, path, &f)
		for _, g := range f.Groups {
			all[path] = append(all[path], g.Rules...)
		}
	}
	return all
}

func files(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: no files, %v", pattern, err)
	}
	return paths
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// recorded adds what the recording rules give to what the observer exports.
func recorded(t *testing.T) map[string]family {
	t.Helper()
	known, rules := exported(t), map[string]string{}
	for _, list := range ruleFiles(t) {
		for _, r := range list {
			if r.Record != "" {
				rules[r.Record] = r.Expr
			}
		}
	}
	answers := evaluate(t, slices.Collect(maps.Keys(rules))...)
	for name := range rules {
		known[name] = family{"", slices.Collect(maps.Keys(answers[name].labels))}
	}
	for name, expr := range rules {
		for _, w := range append(misnamed(known, expr), answers[name].wrong()...) {
			t.Errorf("%s: %s", name, w)
		}
		if !regexp.MustCompile(`^[a-z_]+:[a-z0-9_]+:[a-z0-9]+$`).MatchString(name) {
			t.Errorf("%s is not level:metric:operations", name)
		}
	}
	return known
}

// whenever makes an alert's expression one that is always true of what it speaks of: without its limits, and with what must
// not be as what must.
func whenever(expr string) string {
	return strings.ReplaceAll(regexp.MustCompile(` (?:[<>]=?|==) \d[\de.]*`).ReplaceAllString(expr, ""), "unless", "and")
}

// TestRules: every expression asks for what there is; every alert has a name of its own, and every runbook its alert.
func TestRules(t *testing.T) {
	known := recorded(t)
	var exprs []string
	for _, rules := range ruleFiles(t) {
		for _, r := range rules {
			exprs = append(exprs, whenever(r.Expr))
		}
	}
	answers := evaluate(t, exprs...)
	runbooks := anchors(t, "README.md")
	names := map[string]bool{}
	for path, rules := range ruleFiles(t) {
		for _, r := range rules {
			if r.Alert == "" {
				continue
			}
			if names[r.Alert] || !regexp.MustCompile(`^(Agent|Sm)[A-Z][A-Za-z]+$`).MatchString(r.Alert) {
				t.Errorf("%s: the name %s", path, r.Alert)
			}
			names[r.Alert] = true
			checkAlert(t, r, misnamed(known, r.Expr), answers[whenever(r.Expr)])
			runbook := "runbook-" + strings.ToLower(r.Alert)
			if r.Annotations["runbook"] != "Runbook: "+r.Alert || !runbooks[runbook] {
				t.Errorf("%s: runbook %q, in the README: %v", r.Alert, r.Annotations["runbook"], runbooks[runbook])
			}
			if want := "{{ with $externalLabels.runbooks }}{{ . }}#" + runbook + "{{ end }}"; r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			delete(runbooks, runbook)
		}
	}
	for anchor := range runbooks {
		if strings.HasPrefix(anchor, "runbook-") {
			t.Errorf("the README has %s for no alert", anchor)
		}
	}
}

// checkAlert: an alert says how bad it is and what it is, and keeps the labels that tell whose it is.
func checkAlert(t *testing.T, r rule, wrong []string, a answer) {
	t.Helper()
	absent := strings.HasPrefix(r.Expr, "absent(") // of what is absent nothing is known but the job that was asked for
	if absent {
		a = answer{labels: map[string]bool{"job": true}, series: 1}
	}
	for _, w := range append(wrong, a.wrong()...) {
		t.Errorf("%s: %s", r.Alert, w)
	}
	if s := r.Labels["severity"]; s != "warning" && s != "critical" {
		t.Errorf("%s has the severity %q", r.Alert, s)
	}
	if kind, ok := r.Labels["kind"]; ok && !slices.Contains([]string{"warning", "critical", "storm", "no_data", "forecast"}, kind) {
		t.Errorf("%s is of the kind %q, which is no notice", r.Alert, kind)
	}
	whose := targetLabels()
	if absent {
		whose = whose[:1]
	}
	if strings.HasPrefix(r.Alert, "Agent") {
		whose = append(whose, "session")
	}
	for _, l := range whose {
		if !a.labels[l] {
			t.Errorf("%s loses the label %s", r.Alert, l)
		}
	}
	for _, name := range []string{"summary", "description"} {
		text := r.Annotations[name]
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %s: %q", r.Alert, name, text)
		}
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(text, -1) {
			if !a.labels[m[1]] {
				t.Errorf("%s: %s names the label %s", r.Alert, name, m[1])
			}
		}
	}
}

// anchors are those that a page of Markdown has at its headings.
func anchors(t *testing.T, path string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		kept := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(kept, " ", "-")] = true
	}
	return found
}

// TestRulesTested: every alert has a case in which it fires and one in which it does not.
func TestRulesTested(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, path := range files(t, "prometheus/*_test.yml") {
		var f struct {
			Tests []struct {
				Alerts []struct {
					Name     string           `yaml:"alertname"`
					Expected []map[string]any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		decode(t, path, &f)
		for _, test := range f.Tests {
			for _, a := range test.Alerts {
				fires[a.Name] = fires[a.Name] || len(a.Expected) > 0
				silent[a.Name] = silent[a.Name] || len(a.Expected) == 0
			}
		}
	}
	for _, rules := range ruleFiles(t) {
		for _, r := range rules {
			if r.Alert != "" && (!fires[r.Alert] || !silent[r.Alert]) {
				t.Errorf("%s: tested that it fires: %v, that it does not: %v", r.Alert, fires[r.Alert], silent[r.Alert])
			}
		}
	}
}

// TestRulesLikeDashboards: the alerts begin where the dashboards draw their lines.
func TestRulesLikeDashboards(t *testing.T) {
	rules := map[string]rule{}
	for _, list := range ruleFiles(t) {
		for _, r := range list {
			rules[r.Alert] = r
		}
	}
	for alert, least := range map[string]float64{"AgentContextPressureHigh": pressureHigh, "AgentCompactionImminent": pressureImminent} {
		if want := fmt.Sprintf("agent_session_pressure_ratio >= %v ", least); !strings.Contains(rules[alert].Expr, want) {
			t.Errorf("%s does not begin at %v: %s", alert, least, rules[alert].Expr)
		}
	}
	if want := fmt.Sprintf("agent_session_forecast_replies_low < %v or agent_session_forecast_replies < %v)", repliesLeast, repliesFew); !strings.Contains(rules["AgentCompactionImminent"].Expr, want) {
		t.Errorf("no %q in %s", want, rules["AgentCompactionImminent"].Expr)
	}
}

// needs skips a test for a program that is not installed, or fails it where none may be skipped.
func needs(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs the program %s (Debian's package %s)", name, pkg)
	default:
		t.Skipf("needs the program %s (Debian's package %s)", name, pkg)
	}
	return path
}

// run runs a program that must succeed, and gives what it writes to stdout.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Errorf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, &out, &complaints)
	}
	return out.String()
}

// TestPromtoolRules: the tool that comes with Prometheus accepts the rules, and finds that they do what their tests say.
func TestPromtoolRules(t *testing.T) {
	promtool := needs(t, "promtool", "prometheus")
	dir, err := filepath.Abs("prometheus")
	if err != nil {
		t.Fatal(err)
	}
	of := func(pattern string) (names []string) {
		for _, path := range files(t, pattern) {
			names = append(names, filepath.Base(path))
		}
		return names
	}
	run(t, dir, promtool, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, of("prometheus/*.rules.yml")...)...)
	for _, name := range of("prometheus/*_test.yml") {
		t.Run(name, func(t *testing.T) { run(t, dir, promtool, "test", "rules", name) })
	}
}
