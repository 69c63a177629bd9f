package dashboards

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installed puts a file of deploy/ and others into a new folder, as a user does who installs them.
func installed(t *testing.T, path string, more ...string) (dir, name string) {
	t.Helper()
	dir = t.TempDir()
	for _, from := range append([]string{path}, more...) {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(from)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, filepath.Base(path)
}

// TestDeployPrometheus: promtool accepts the configurations, the first with all our rules beside it.
func TestDeployPrometheus(t *testing.T) {
	promtool := needs(t, "promtool", "prometheus")
	rules := files(t, "prometheus/*.rules.yml")
	dir, name := installed(t, "../deploy/prometheus/prometheus.yml", rules...)
	if out := run(t, dir, promtool, "check", "config", name); strings.Count(out, "rules found") != len(rules) {
		t.Errorf("not all %d rule files are read:\n%s", len(rules), out)
	}
	dir, name = installed(t, "../deploy/prometheus/agent.yml")
	if err := os.WriteFile(filepath.Join(dir, "remote-write.token"), []byte("token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, promtool, "check", "config", "--agent", name)
}

// TestDeployJobs: what scrapes the observer has the name that the rules ask for, and Grafana's host comes from the agent.
func TestDeployJobs(t *testing.T) {
	for _, path := range []string{"../deploy/prometheus/prometheus.yml", "../deploy/prometheus/agent.yml"} {
		var c struct {
			Global struct {
				Labels map[string]string `yaml:"external_labels"`
			}
			Scrape []struct {
				Name   string `yaml:"job_name"`
				Static []struct{ Targets []string }
			} `yaml:"scrape_configs"`
		}
		decode(t, path, &c)
		if len(c.Scrape) != 1 || c.Scrape[0].Name != "sm" {
			t.Errorf("%s scrapes %+v", path, c.Scrape)
		}
		if _, ok := c.Global.Labels["host"]; ok != strings.HasSuffix(path, "agent.yml") {
			t.Errorf("%s has the external labels %v", path, c.Global.Labels)
		}
	}
}

// alertmanager is what of the file is a promise to the observer.
type alertmanager struct {
	Receivers []struct {
		Name     string
		Webhooks []struct {
			URL  string
			Send bool `yaml:"send_resolved"`
			HTTP struct {
				Authorization struct {
					Type string
					File string `yaml:"credentials_file"`
				}
			} `yaml:"http_config"`
		} `yaml:"webhook_configs"`
	}
	Route struct {
		By []string `yaml:"group_by"`
	}
	Inhibit []struct {
		Equal []string
	} `yaml:"inhibit_rules"`
}

// TestDeployAlertmanager: the observer's webhook gets resolved alerts too, with a token; groups and inhibitions keep
// sessions, observers and hosts apart.
func TestDeployAlertmanager(t *testing.T) {
	var c alertmanager
	decode(t, "../deploy/alertmanager/alertmanager.yml", &c)
	found := 0
	for _, r := range c.Receivers {
		for _, w := range r.Webhooks {
			found++
			if a := w.HTTP.Authorization; !strings.HasSuffix(w.URL, "/alerts/webhook") || !w.Send || a.Type != "Bearer" || a.File == "" {
				t.Errorf("%s: %+v", r.Name, w)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d webhooks", found)
	}
	if diff := cmp.Diff([]string{"session", "job", "instance", "host"}, c.Route.By); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, i := range c.Inhibit {
		if !strings.HasSuffix(strings.Join(i.Equal, " "), "job instance host") {
			t.Errorf("an inhibition reaches beyond one observer: %v", i.Equal)
		}
	}
}

// TestDeployRoutes: each of our alerts goes where its labels say.
func TestDeployRoutes(t *testing.T) {
	amtool := needs(t, "amtool", "prometheus-alertmanager")
	dir, name := installed(t, "../deploy/alertmanager/alertmanager.yml")
	if err := os.WriteFile(filepath.Join(dir, "webhook.token"), []byte("token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, amtool, "check-config", name)
	to := map[string]string{"warning": "operator", "critical": "operator-urgent"}
	for _, rules := range ruleFiles(t) {
		for _, r := range rules {
			if r.Alert == "" {
				continue
			}
			args := []string{"config", "routes", "test", "--config.file=" + name, "alertname=" + r.Alert, "job=sm", "instance=i"}
			want := to[r.Labels["severity"]]
			for k, v := range r.Labels {
				args = append(args, k+"="+v)
			}
			if strings.HasPrefix(r.Alert, "Claude") {
				args = append(args, "session=s")
				if r.Labels["kind"] != "" {
					want = "observer," + want
				}
			}
			if got := strings.TrimSpace(run(t, dir, amtool, args...)); got != want {
				t.Errorf("%s goes to %s, want %s", r.Alert, got, want)
			}
		}
	}
}

// TestDeploySamples: Alertmanager takes what stands there behind a #, too.
func TestDeploySamples(t *testing.T) {
	amtool := needs(t, "amtool", "prometheus-alertmanager")
	dir, name := installed(t, "../deploy/alertmanager/alertmanager.yml")
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, receivers, _ := strings.Cut(string(text), "\n  - name: operator\n")
	samples := strings.Count(receivers, "    # ")
	if err := os.WriteFile(path, []byte(head+"\n  - name: operator\n"+strings.ReplaceAll(receivers, "    # ", "    ")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"webhook.token", "smtp.password", "slack.url"} {
		if err := os.WriteFile(filepath.Join(dir, secret), []byte("https://hooks.example/x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := run(t, dir, amtool, "check-config", name); samples < 10 || !strings.Contains(out, "3 receivers") {
		t.Errorf("%d lines of samples, %s", samples, out)
	}
}
