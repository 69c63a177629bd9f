package observer

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// story runs a fleet in which everything that a dashboard shows happens: an agent grows,
// reports, gets notices, and is compacted three times in a row.
func story(t *testing.T, meanwhile func(*rig)) *rig {
	r, last := newGrown(t)
	r.hookAt(last.Add(time.Second), "PreCompact", `,"trigger":"auto"`)
	r.hookAt(last.Add(2*time.Second), "StatusLine", fmt.Sprintf(
		`,"cost":{"total_cost_usd":1.5},"prompt_cache":{"hit_ratio":0.9},`+
			`"rate_limits":{"five_hour":{"used_percentage":40,"resets_at":%[1]d},"seven_day":{"used_percentage":10,"resets_at":%[1]d}}`,
		time.Now().Add(time.Hour).Unix(),
	))
	meanwhile(r)
	r.write(
		uuid(1),
		fmt.Sprintf(
			`{"type":"record-of-a-later-version","sessionId":%q,"timestamp":%q}`,
			uuid(1),
			stamp(last),
		),
	)
	r.storm(last, 150_000, 102_000)
	r.hookAt(last.Add(17*time.Second), "StatusLine", `,"cost":{"total_cost_usd":2},"context_window":{"context_window_size":200000,`+
		`"used_percentage":52,"current_usage":{"input_tokens":2,"cache_read_input_tokens":103998}}`)
	return r
}

// TestDashboards runs a real Prometheus with the shipped rules that scrapes the observer, and
// sends it every query of the dashboards.
func TestDashboards(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	rules, err := filepath.Glob("../dashboards/prometheus/*.rules.yml")
	noErrors(t, err)
	var s *scraper
	r := story(t, func(r *rig) {
		s = startPrometheus(t, r.tcp().String(), rules...)
		s.until(
			r,
			`sum(agent_session_compactions_total)`,
			map[string]string{"": "0"},
		) // counters are seen at 0
	})
	s.until(
		r,
		`ALERTS{alertname="AgentCompactionStorm",alertstate="firing"}`,
		map[string]string{"session=em kind=storm": "1"},
	)
	s.until(
		r,
		`session:agent_compactions_auto:increase30m`,
		map[string]string{"session=em": "3"},
	)
	s.until(r, `agent_session_pressure_ratio`, map[string]string{"session=em": "0.6375"})
	r.until("all rules are evaluated", func() bool { return s.healthy(rules) })
	r.sends("em", "sequential", "text")
	r.strays()
	const selected = `{job=~"$job",instance=~"$instance",host=~"$host",session=~"$session"}`
	const compactions = "agent_session_compactions_total" + selected
	empty := map[string]bool{ // nothing was cleared or has a price, and the marks are as narrow as a step
		"agent_session_cleared_tokens" + selected:                     true,
		"agent_session_estimated_cost_usd" + selected:                 true,
		compactions + " - " + compactions + " offset $__interval > 0": true,
	}
	unused := maps.Clone(empty)
	for name, exprs := range dashboardQueries(t) {
		for _, expr := range exprs {
			if empty[expr] {
				delete(unused, expr)
				continue
			}
			expr := strings.NewReplacer(
				"$__rate_interval", "10s", "$__interval", "10s", "$__range", "1h", "$top", "10",
				`"$host"`, `".*"`, `"$job"`, `".+"`, `"$instance"`, `".+"`, `"$session"`, `".+"`, `"$session|"`, `".+|"`,
			).Replace(expr)
			if len(s.query(expr)) == 0 {
				r.until(name+": "+expr, func() bool { return len(s.query(expr)) > 0 })
			}
		}
	}
	for expr := range unused {
		t.Errorf("no dashboard has the query %s", expr)
	}
	r.stop()
	s.until(r, `ALERTS{alertname="SmObserverDown"}`, map[string]string{"": "1"})
}

// dashboardQueries returns the expressions of panels and annotations, by file.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob("../dashboards/grafana/*.json")
	noErrors(t, err)
	all := map[string][]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		noErrors(t, err)
		var board any
		noErrors(t, json.Unmarshal(text, &board))
		collectExprs(board, func(expr string) { all[path] = append(all[path], expr) })
		if len(all[path]) == 0 {
			t.Fatalf("%s has no queries", path)
		}
	}
	return all
}

// collectExprs calls found with each string that is named expr in a JSON value.
func collectExprs(v any, found func(string)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			collectExprs(e, found)
		}
	case map[string]any:
		for name, e := range v {
			if expr, ok := e.(string); ok && name == "expr" {
				found(expr)
			}
			collectExprs(e, found)
		}
	}
}

// strays requests a page by an unknown host name, which is refused.
func (r *rig) strays() {
	r.t.Helper()
	req, err := http.NewRequestWithContext(
		r.t.Context(),
		http.MethodGet,
		"http://"+r.tcp().String()+"/",
		nil,
	)
	noErrors(r.t, err)
	req.Host = "evil.example"
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	noErrors(r.t, err)
	noErrors(r.t, resp.Body.Close())
	if resp.StatusCode != http.StatusMisdirectedRequest {
		r.t.Errorf("unknown host: got %d", resp.StatusCode)
	}
}

// healthy reports whether all rules have been evaluated, and fails the test on errors.
func (s *scraper) healthy(files []string) bool {
	s.t.Helper()
	a, err := fetch(s.t.Context(), s.base+"/api/v1/rules")
	noErrors(s.t, err)
	var answer struct {
		Data struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
	}
	noErrors(s.t, json.Unmarshal([]byte(a.Body), &answer))
	if len(answer.Data.Groups) != len(files) {
		s.t.Fatalf("%d groups of %d files", len(answer.Data.Groups), len(files))
	}
	for _, g := range answer.Data.Groups {
		for _, r := range g.Rules {
			switch r.Health {
			case "unknown":
				return false
			case "err":
				s.t.Fatalf("%s: %s", r.Name, r.LastError)
			}
		}
	}
	return true
}
