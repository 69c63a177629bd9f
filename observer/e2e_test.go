package observer

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// scraper is a Prometheus that scrapes an observer.
type scraper struct{ *tool }

// startPrometheus runs the installed Prometheus until the test ends, with these rule files.
func startPrometheus(t *testing.T, target string, rules ...string) *scraper {
	t.Helper()
	dir := toolDir(t)
	config := fmt.Appendf(nil, "global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\n"+
		"rule_files: ['*.rules.yml']\nscrape_configs:\n- job_name: sm\n  static_configs: [{targets: [%q]}]\n", target)
	noErrors(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), config, 0o644))
	for _, from := range rules {
		text, err := os.ReadFile(from)
		noErrors(t, err, os.WriteFile(filepath.Join(dir, filepath.Base(from)), text, 0o644))
	}
	return runPrometheus(
		t,
		dir,
		"--storage.tsdb.path=data",
	) // otherwise Debian's uses those of the machine
}

// runPrometheus runs it in a folder with its configuration.
func runPrometheus(t *testing.T, dir string, args ...string) *scraper {
	t.Helper()
	return &scraper{startTool(t, dir, "prometheus", slices.Concat([]string{
		"prometheus", "--config.file=prometheus.yml", "--web.listen-address=127.0.0.1:0", "--log.level=info",
	}, args))}
}

// query returns the values of an expression by their labels, without the target's.
func (s *scraper) query(expression string) map[string]string {
	s.t.Helper()
	a, err := fetch(s.t.Context(), s.base+"/api/v1/query?query="+url.QueryEscape(expression))
	noErrors(s.t, err)
	var answer struct {
		Status string
		Data   struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(
		[]byte(a.Body),
		&answer,
	); err != nil ||
		answer.Status != "success" {
		if a.Code == 503 { // not ready yet
			return nil
		}
		s.t.Fatalf("%s: %d %s", expression, a.Code, a.Body)
	}
	values := map[string]string{}
	for _, r := range answer.Data.Result {
		var labels []string
		for _, name := range []string{"session", "trigger", "kind", "project", "level"} {
			if v := r.Metric[name]; v != "" {
				labels = append(labels, name+"="+v)
			}
		}
		values[strings.Join(labels, " ")] = fmt.Sprint(r.Value[1])
	}
	return values
}

// until waits for an expression to have exactly these values.
func (s *scraper) until(r *rig, expression string, want map[string]string) {
	s.t.Helper()
	var got map[string]string
	end := time.Now().Add(patience - time.Second) // so that the difference is shown
	r.until(expression, func() bool {
		got = s.query(expression)
		return cmp.Equal(want, got) || time.Now().After(end)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s\n%s", expression, diff, s.log)
	}
}

// TestStranger tests that another user's processes get figures, and nothing about sessions.
func TestStranger(t *testing.T) {
	r := newRig(t)
	r.write(uuid(1), reply(ago(time.Minute), "m1", 50_123, 1))
	r.start()
	want := map[string]int{
		"/metrics": 200, "/-/healthy": 200, "/-/ready": 200,
		"/": 403, "/events": 403, "/sessions": 403, "/sessions/" + uuid(1): 403, "/sessions/none": 403, "/none": 404,
	}
	var urls []string
	for path := range want {
		urls = append(urls, "http://"+r.tcp().String()+path)
	}
	got := map[string]int{}
	for i, a := range fetchAsStranger(t, urls...) {
		path := strings.TrimPrefix(urls[i], "http://"+r.tcp().String())
		got[path] = a.Code
		if found := strings.Contains(a.Body, uuid(1)); found != (path == "/metrics") {
			t.Errorf("%s contains the session's id: %v\n%s", path, found, a.Body)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, code := range want {
		if code == 403 {
			code = 200
		}
		if path == "/events" {
			continue // it does not end
		}
		if got := r.get(path).Code; got != code && path != "/sessions/none" {
			t.Errorf("the observer's user got %d for %s", got, path)
		}
	}
	if got := r.scrape()[`sm_http_refused_total{reason="peer"}`]; got != 5 {
		t.Errorf("got %v refusals, want 5", got)
	}
}
