package dashboards

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// installed copies files into a new folder, as a user installs them, and returns the folder
// and the name of the first file.
func installed(t *testing.T, paths ...string) (dir, name string) {
	t.Helper()
	dir = t.TempDir()
	for _, from := range paths {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, filepath.Base(from), string(text))
	}
	return dir, filepath.Base(paths[0])
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDeployPrometheus checks that promtool accepts the configurations, the first with all
// shipped rules.
func TestDeployPrometheus(t *testing.T) {
	t.Parallel()
	promtool := needs(t, "promtool", "prometheus")
	paths := append(
		[]string{"../deploy/prometheus/prometheus.yml"},
		files(t, "prometheus/*.rules.yml")...,
	)
	dir, name := installed(t, paths...)
	if out := run(
		t,
		dir,
		promtool,
		"check",
		"config",
		name,
	); strings.Count(
		out,
		"rules found",
	) != len(paths)-1 {
		t.Errorf("not all of %v are read:\n%s", paths, out)
	}

	dir, name = installed(t, "../deploy/prometheus/agent.yml")
	write(t, dir, "remote-write.token", "token\n")
	run(t, dir, promtool, "check", "config", "--agent", name)
}

// TestDeployJobs checks that the scrape job has the name that the rules use, and
// that the agent adds the label host.
func TestDeployJobs(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"../deploy/prometheus/prometheus.yml",
		"../deploy/prometheus/agent.yml",
	} {
		var c struct {
			Global struct {
				Labels map[string]string `yaml:"external_labels"`
			}
			Scrape []struct {
				Name string `yaml:"job_name"`
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

// TestDeployAlertmanager checks that groups and inhibitions keep sessions, observers and
// hosts apart.
func TestDeployAlertmanager(t *testing.T) {
	t.Parallel()
	for _, path := range files(t, "../deploy/alertmanager/*.yml") {
		var c struct {
			Route struct {
				By     []string `yaml:"group_by"`
				Routes []struct {
					Matchers []string
					Interval string `yaml:"group_interval"`
				}
			}
			Inhibit []struct{ Equal []string } `yaml:"inhibit_rules"`
		}
		decode(t, path, &c)
		if diff := cmp.Diff([]string{"session", "job", "instance", "host"}, c.Route.By); diff != "" {
			t.Errorf("%s: groups (-want +got):\n%s", path, diff)
		}
		for _, r := range c.Route.Routes {
			if slices.Contains(r.Matchers, `alertname="AgentWaiting"`) && r.Interval != "1m" {
				t.Errorf("%s: a wait within %q after another is not notified", path, r.Interval)
			}
		}
		for _, i := range c.Inhibit {
			if !strings.HasSuffix(strings.Join(i.Equal, " "), "job instance host") {
				t.Errorf("%s: an inhibition reaches beyond one observer: %v", path, i.Equal)
			}
		}
	}
}

// TestDeployRoutes checks that each shipped alert goes where its labels say, and one about a
// waiting agent only to the person.
func TestDeployRoutes(t *testing.T) {
	t.Parallel()
	amtool := needs(t, "amtool", "prometheus-alertmanager")
	for name, person := range map[string]string{
		"alertmanager.yml": "operator",
		"ntfy.yml":         "ntfy",
		"telegram.yml":     "telegram",
	} {
		text, err := os.ReadFile("../deploy/alertmanager/" + name)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		// Debian's amtool is older than bot_token_file.
		write(t, dir, name, strings.ReplaceAll(string(text), "bot_token_file", "bot_token"))
		write(t, dir, "webhook.token", "token\n")
		run(t, dir, amtool, "check-config", name)
		for _, r := range alerts(t) {
			args := []string{
				"config",
				"routes",
				"test",
				"--config.file=" + name,
				"alertname=" + r.Alert,
				"job=sm",
				"instance=i",
			}
			for k, v := range r.Labels {
				args = append(args, k+"="+v)
			}
			want := person
			if r.Labels["severity"] == "critical" || r.Alert == "AgentWaiting" {
				want += "-urgent"
			}
			if strings.HasPrefix(r.Alert, "Agent") {
				args = append(args, "session=s")
				if r.Labels["kind"] != "" && person == "operator" {
					want = "observer," + want
				}
			}
			if got := strings.TrimSpace(run(t, dir, amtool, args...)); got != want {
				t.Errorf("%s: %s goes to %s, want %s", name, r.Alert, got, want)
			}
		}
	}
}

// TestDeploySamples checks that Alertmanager accepts the samples in comments too.
func TestDeploySamples(t *testing.T) {
	t.Parallel()
	amtool := needs(t, "amtool", "prometheus-alertmanager")
	text, err := os.ReadFile("../deploy/alertmanager/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	const first = "\n  - name: operator\n"
	head, receivers, _ := strings.Cut(string(text), first)
	samples := strings.Count(receivers, "    # ")

	dir := t.TempDir()
	write(
		t,
		dir,
		"alertmanager.yml",
		head+first+strings.ReplaceAll(receivers, "    # ", "    "),
	)
	for _, secret := range []string{"webhook.token", "smtp.password", "slack.url"} {
		write(t, dir, secret, "https://hooks.example/x\n")
	}
	if out := run(
		t,
		dir,
		amtool,
		"check-config",
		"alertmanager.yml",
	); samples < 10 ||
		!strings.Contains(out, "3 receivers") {
		t.Errorf("%d lines of samples, %s", samples, out)
	}
}
