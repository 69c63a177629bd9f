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

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// rule is an alert or a recording rule.
type rule struct {
	Record      string
	Alert       string
	Expr        string
	Labels      map[string]string
	Annotations map[string]string
}

// rules reads the rules of all files.
func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, path := range files(t, "prometheus/*.rules.yml") {
		var f struct {
			Groups []struct{ Rules []rule }
		}
		decode(t, path, &f)
		for _, g := range f.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

// alerts reads the alerts of all files.
func alerts(t *testing.T) []rule {
	t.Helper()
	return slices.DeleteFunc(rules(t), func(r rule) bool { return r.Alert == "" })
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

// withoutLimits turns an alert's expression into one that always has a result: it drops the
// limits, and requires what must be absent.
func withoutLimits(expr string) string {
	limits := regexp.MustCompile(` (?:[<>]=?|==) \d[\de.]*`)
	return strings.ReplaceAll(limits.ReplaceAllString(expr, ""), "unless", "and")
}

// TestRules checks that every expression names metrics and labels that exist
// and has an answer, and that alerts and runbooks correspond.
func TestRules(t *testing.T) {
	t.Parallel()
	var exprs []string
	for _, r := range rules(t) {
		exprs = append(exprs, withoutLimits(r.Expr))
		if r.Record != "" {
			exprs = append(exprs, r.Record)
		}
	}
	answers := evaluate(t, exprs...)
	known := exported(t)
	for _, r := range rules(t) {
		if r.Record != "" {
			known[r.Record] = family{
				labels: slices.Collect(maps.Keys(answers[r.Record].labels)),
			}
		}
	}

	for _, r := range rules(t) {
		wrong := misnamed(known, r.Expr)
		if !strings.HasPrefix(r.Expr, "absent(") {
			wrong = append(wrong, answers[withoutLimits(r.Expr)].wrong()...)
		}
		for _, w := range wrong {
			t.Errorf("%s%s: %s", r.Record, r.Alert, w)
		}
		if r.Record != "" &&
			!regexp.MustCompile(`^[a-z_]+:[a-z0-9_]+:[a-z0-9]+$`).MatchString(r.Record) {
			t.Errorf("%s is not level:metric:operations", r.Record)
		}
	}

	var want []string
	for _, r := range alerts(t) {
		want = append(want, "Runbook: "+r.Alert)
		checkAlert(t, r, answers[withoutLimits(r.Expr)].labels)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var runbooks []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (Runbook: .*)$`).FindAllStringSubmatch(
		string(readme),
		-1,
	) {
		runbooks = append(runbooks, m[1])
	}
	slices.Sort(want)
	slices.Sort(runbooks)
	if diff := cmp.Diff(want, runbooks); diff != "" {
		t.Errorf("runbooks in README.md (-want +got):\n%s", diff)
	}
}

// checkAlert checks that an alert has a severity and texts, links to its
// runbook, and keeps the labels that identify its session or observer.
func checkAlert(t *testing.T, r rule, labels map[string]bool) {
	t.Helper()
	keeps := targetLabels()
	if strings.HasPrefix(r.Alert, "Agent") {
		keeps = append(keeps, "session")
	}
	if strings.HasPrefix(r.Expr, "absent(") { // only the job is known then
		keeps = nil
		labels = map[string]bool{"job": true}
	}
	for _, l := range keeps {
		if !labels[l] {
			t.Errorf("%s loses the label %s", r.Alert, l)
		}
	}

	if !slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]) {
		t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
	}
	if kind := r.Labels["kind"]; !slices.Contains(
		[]string{"", "warning", "critical", "storm", "no_data", "forecast"},
		kind,
	) {
		t.Errorf("%s is of the kind %q, which is no notice", r.Alert, kind)
	}
	for _, name := range []string{"summary", "description"} {
		text := r.Annotations[name]
		if !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %s: %q", r.Alert, name, text)
		}
		for _, m := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(
			text,
			-1,
		) {
			if !labels[m[1]] {
				t.Errorf("%s: %s names the label %s", r.Alert, name, m[1])
			}
		}
	}
	link := `{{ or $externalLabels.runbooks "file:///usr/share/doc/sm/dashboards/README.md" }}#runbook-` +
		strings.ToLower(r.Alert)
	if got := r.Annotations["runbook_url"]; got != link {
		t.Errorf("%s: runbook at %q, want %q", r.Alert, got, link)
	}
}

// TestRulesTested checks that every alert has a case in which it fires and one
// in which it does not.
func TestRulesTested(t *testing.T) {
	t.Parallel()
	fires := map[string]bool{}
	silent := map[string]bool{}
	for _, path := range files(t, "prometheus/tests/*.yml") {
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
				if len(a.Expected) > 0 {
					fires[a.Name] = true
				} else {
					silent[a.Name] = true
				}
			}
		}
	}
	for _, r := range alerts(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf(
				"%s: tested that it fires: %v, that it does not: %v",
				r.Alert,
				fires[r.Alert],
				silent[r.Alert],
			)
		}
	}
}

// TestRulesLikeDashboards checks that the alerts fire where the dashboards draw
// their lines and begin to count.
func TestRulesLikeDashboards(t *testing.T) {
	t.Parallel()
	conditions := map[string]string{} // of alerts, by the title of the panel that counts them
	for _, r := range rules(t) {
		switch r.Alert {
		case "AgentContextPressureHigh":
			conditions["High"], _, _ = strings.Cut(r.Expr, " and ")
		case "AgentCompactionImminent":
			conditions["Imminent"] = regexp.MustCompile(`\(.*\)`).FindString(r.Expr)
		case "AgentWaiting":
			conditions["Waiting for you"] = strings.Replace(r.Expr, `{state="waiting"}`, "", 1)
		}
	}
	for name, b := range boards(t) {
		for title, exprs := range b.queries() {
			expr := regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(
				strings.Join(exprs, "\n"),
				"",
			)
			if !strings.Contains(expr, conditions[title]) {
				t.Errorf("%s: %s does not count %s", name, title, conditions[title])
			}
		}
		for _, p := range b.all() {
			steps := p.FieldConfig.Defaults.Thresholds.Steps
			if len(steps) != 4 || p.FieldConfig.Defaults.Unit != "percentunit" {
				continue
			}
			for i, title := range map[int]string{2: "High", 3: "Imminent"} {
				if want := fmt.Sprintf(
					"agent_session_pressure_ratio >= %v",
					steps[i].Value,
				); !strings.Contains(
					conditions[title],
					want,
				) {
					t.Errorf(
						"%s: %s draws a line at %v, the alert has %s",
						name,
						p.Title,
						steps[i].Value,
						conditions[title],
					)
				}
			}
		}
	}
}

// needs skips a test for a missing program, or fails it in CI.
func needs(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("needs the program %s (Debian's package %s)", name, pkg)
	}
	t.Skipf("needs the program %s (Debian's package %s)", name, pkg)
	return ""
}

// run returns the standard output of a program that must succeed.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return string(out)
}

// TestPromtoolRules checks that promtool accepts the rules and that they pass
// their own tests.
func TestPromtoolRules(t *testing.T) {
	t.Parallel()
	promtool := needs(t, "promtool", "prometheus")
	run(
		t,
		".",
		promtool,
		append(
			[]string{"check", "rules", "--lint=all", "--lint-fatal"},
			files(t, "prometheus/*.rules.yml")...,
		)...,
	)
	for _, path := range files(t, "prometheus/tests/*.yml") {
		run(t, ".", promtool, "test", "rules", path)
	}
}
