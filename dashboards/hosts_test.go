package dashboards

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestGrafanaHosts: two machines whose observers, agents and figures have the same names, told apart by host alone, are
// not mixed up. A join that forgets the host fails in Prometheus.
func TestGrafanaHosts(t *testing.T) {
	promtool := needs(t, "promtool", "prometheus")
	asked := map[string]string{}
	for name, d := range Boards() {
		for _, q := range d.Queries() {
			expr := strings.NewReplacer(`"$host"`, `".*"`, `"$job"`, `".+"`, `"$instance"`, `".+"`, `"$session"`, `".+"`).Replace(q.Expr)
			asked[plain(expr)] = name + ": " + q.Where
		}
	}
	const forgets = "agent_session_active * on (session, job, instance) group_left (model) agent_session_info"
	asked[forgets] = "the control"
	wrong := evaluate(t, promtool, twoHosts(t), asked)
	if _, found := wrong[forgets]; !found {
		t.Error("a join that forgets the host is not found")
	}
	delete(wrong, forgets)
	for expr, err := range wrong {
		t.Errorf("%s: %s: %s", asked[expr], expr, err)
	}
}

// twoHosts are series of all families on two hosts.
func twoHosts(t *testing.T) (series []map[string]string) {
	values := map[string][]string{"level": {"ok", "warn"}, "trigger": {"auto", "manual"}, "source": {"transcript", "hook"}, "le": {"1000", "+Inf"}}
	for name, f := range exported(t) {
		sets := []string{`job="sm",instance="127.0.0.1:8420"`}
		for _, l := range append([]string{"host"}, f.labels...) {
			each := values[l]
			switch {
			case l == "host":
				each = []string{"a", "b"}
			case each == nil:
				each = []string{"x"}
			}
			var more []string
			for _, s := range sets {
				for _, v := range each {
					more = append(more, fmt.Sprintf("%s,%s=%q", s, l, v))
				}
			}
			sets = more
		}
		for _, s := range sets {
			series = append(series, map[string]string{"series": name + "{" + s + "}", "values": "1+1x30"})
		}
	}
	return series
}

// evaluate has promtool evaluate expressions, and gives the errors of those that cannot be.
func evaluate(t *testing.T, promtool string, series []map[string]string, asked map[string]string) map[string]string {
	t.Helper()
	var cases []map[string]any
	for expr := range asked {
		cases = append(cases, map[string]any{"expr": expr, "eval_time": "20m", "exp_samples": []any{}})
	}
	text, err := yaml.Marshal(map[string]any{"evaluation_interval": "1m", "tests": []any{
		map[string]any{"interval": "1m", "input_series": series, "promql_expr_test": cases},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hosts_test.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// It fails in any case: no results are given as expected ones, and only errors matter here.
	out, _ := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput()
	if !strings.Contains(string(out), "got:") {
		t.Fatalf("promtool did not evaluate: %s", out)
	}
	wrong := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^ *expr: ("(?:[^"\\]|\\.)*"), time: \S+ err: (.*)$`).FindAllStringSubmatch(string(out), -1) {
		var expr string
		if err := yaml.Unmarshal([]byte(m[1]), &expr); err != nil {
			t.Fatal(err)
		}
		wrong[expr] = m[2]
	}
	return wrong
}
