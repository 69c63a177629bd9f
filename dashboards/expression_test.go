package dashboards

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
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

// checker judges expressions by the families that there are.
type checker struct {
	known map[string]family
	wrong []string
}

func (c *checker) complain(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// labels are those that the series of an expression may have. On the way down it complains about names and labels that
// do not exist, and of functions that do not fit the kind of a metric.
func (c *checker) labels(e parser.Expr) map[string]bool {
	switch e := e.(type) {
	case *parser.VectorSelector:
		return c.selector(e)
	case *parser.MatrixSelector:
		return c.labels(e.VectorSelector)
	case *parser.SubqueryExpr:
		return c.labels(e.Expr)
	case *parser.ParenExpr:
		return c.labels(e.Expr)
	case *parser.UnaryExpr:
		return c.labels(e.Expr)
	case *parser.StepInvariantExpr:
		return c.labels(e.Expr)
	case *parser.AggregateExpr:
		return c.aggregate(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	case *parser.Call:
		return c.call(e)
	}
	return map[string]bool{} // a literal
}

func (c *checker) selector(s *parser.VectorSelector) map[string]bool {
	f, ok := c.known[s.Name]
	if !ok {
		c.complain("nobody exports %s", s.Name)
	}
	has := map[string]bool{}
	for _, l := range append(targetLabels(), f.labels...) {
		has[l] = true
	}
	for _, m := range s.LabelMatchers {
		if m.Name != "__name__" {
			c.needs(has, m.Name, s.Name)
		}
	}
	return has
}

func (c *checker) needs(has map[string]bool, label string, where any) {
	if !has[label] {
		c.complain("no label %s in %v", label, where)
	}
}

func (c *checker) aggregate(a *parser.AggregateExpr) map[string]bool {
	has := c.labels(a.Expr)
	for _, l := range a.Grouping {
		c.needs(has, l, a.Expr)
	}
	switch {
	case a.Op == parser.TOPK || a.Op == parser.BOTTOMK:
	case a.Without:
		has = maps.Clone(has)
		for _, l := range a.Grouping {
			delete(has, l)
		}
	default:
		has = map[string]bool{}
		for _, l := range a.Grouping {
			has[l] = true
		}
	}
	return has
}

// binary expects that both sides of a match have the same labels, but for those that on, ignoring and group_left name.
func (c *checker) binary(b *parser.BinaryExpr) map[string]bool {
	left, right := c.labels(b.LHS), c.labels(b.RHS)
	m := b.VectorMatching
	if m == nil || b.LHS.Type() != parser.ValueTypeVector || b.RHS.Type() != parser.ValueTypeVector {
		maps.Copy(left, right)
		return left
	}
	for _, l := range m.MatchingLabels {
		if m.On {
			c.needs(left, l, b.LHS)
			c.needs(right, l, b.RHS)
		} else if !left[l] && !right[l] {
			c.complain("no label %s on either side of %v", l, b)
		}
	}
	for _, l := range m.Include {
		c.needs(right, l, b.RHS)
		left[l] = true
	}
	if b.Op == parser.LOR {
		maps.Copy(left, right)
		return left
	}
	if m.On {
		if b.Op != parser.LAND && b.Op != parser.LUNLESS && m.Card == parser.CardOneToOne {
			maps.DeleteFunc(left, func(l string, _ bool) bool { return !slices.Contains(m.MatchingLabels, l) })
		}
		return left
	}
	for _, l := range m.MatchingLabels {
		delete(left, l)
		delete(right, l)
	}
	if !maps.Equal(left, right) {
		c.complain("%v never matches: labels %v and %v", b, slices.Sorted(maps.Keys(left)), slices.Sorted(maps.Keys(right)))
	}
	return left
}

func (c *checker) call(call *parser.Call) map[string]bool {
	has := map[string]bool{}
	for _, a := range call.Args {
		maps.Copy(has, c.labels(a))
		if m, ok := a.(*parser.MatrixSelector); ok {
			name := m.VectorSelector.(*parser.VectorSelector).Name
			counts := c.known[name].kind == "counter"
			switch call.Func.Name {
			case "rate", "increase", "irate", "resets":
				if !counts {
					c.complain("%s of %s, which is no counter", call.Func.Name, name)
				}
			case "deriv", "delta", "idelta", "predict_linear", "changes":
				if counts {
					c.complain("%s of the counter %s", call.Func.Name, name)
				}
			}
		}
	}
	if call.Func.Name == "histogram_quantile" {
		c.needs(has, "le", call)
		delete(has, "le")
	}
	return has
}

// check judges an expression and gives the labels of its series.
func check(known map[string]family, expr string) (labels map[string]bool, wrong []string) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, []string{err.Error()}
	}
	c := checker{known: known}
	labels = c.labels(e)
	return labels, c.wrong
}

// plain puts values in the place of Grafana's variables. Selections match what they please in any case.
func plain(expr string) string {
	return strings.NewReplacer("$__rate_interval", "5m", "$__interval", "1m", "$__range", "6h", "$top", "10",
		`"$`, `"`).Replace(expr)
}

// TestCheckBites shows that the check finds what it is for.
func TestCheckBites(t *testing.T) {
	known := exported(t)
	for expr, want := range map[string]string{
		`sum(agent_session_context_tokens)`:                                                           "",
		`sum(agent_session_context_token)`:                                                            "nobody exports agent_session_context_token",
		`agent_session_level{state="warn"}`:                                                           "no label state in agent_session_level",
		`sum by (kind) (agent_session_level)`:                                                         "no label kind in agent_session_level",
		`max without (source) (agent_session_level)`:                                                  "no label source in agent_session_level",
		`rate(agent_session_context_tokens[5m])`:                                                      "rate of agent_session_context_tokens, which is no counter",
		`deriv(agent_tokens_total[5m])`:                                                               "deriv of the counter agent_tokens_total",
		`rate(agent_compaction_pre_tokens_bucket{le="1"}[5m])`:                                        "",
		`histogram_quantile(0.9, sum by (instance) (rate(agent_compaction_pre_tokens_bucket[5m])))`:   "no label le in",
		`agent_session_context_tokens / agent_session_info`:                                           "never matches",
		`agent_session_active * on (session) group_left (project) agent_session_info`:                 "",
		`agent_session_active * on (session) group_left (cwd) agent_session_info`:                     "no label cwd in agent_session_info",
		`sum by (session) (agent_session_active * on (session) group_left (model) agent_session_info`: "unclosed left parenthesis",
		`agent_session_level == 1 and agent_session_active == 1`:                                      "never matches",
		`agent_session_level == 1 and ignoring (level) agent_session_active == 1`:                     "",
	} {
		_, wrong := check(known, expr)
		if got := strings.Join(wrong, "; "); got != want && (want == "" || !strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
}
