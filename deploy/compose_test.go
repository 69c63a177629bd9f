package deploy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// composition is the part of a compose file that other files depend on. A list or a mapping
// that replaces another has a tag, which does not matter here.
type composition struct {
	Name     string
	Services map[string]*struct {
		Image       string
		Command     []string
		Ports       []string
		Hosts       []string `yaml:"extra_hosts"`
		NetworkMode string   `yaml:"network_mode"`
		Volumes     []string
		Environment map[string]string
		Secrets     []struct{ Source, Target string }
		DependsOn   []string `yaml:"depends_on"`
		Restart     string
	}
	Secrets map[string]struct{ Environment string }
	Volumes map[string]any
}

// load reads a YAML file; unknown fields are errors.
func load(t *testing.T, name string, v any) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// mounts returns the files and folders of a service by their paths in the container. Each
// must exist.
func (c *composition) mounts(
	t *testing.T,
	service string,
	volumes map[string]any,
) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, v := range c.Services[service].Volumes {
		from, to, _ := strings.Cut(v, ":")
		to, mode, _ := strings.Cut(to, ":")
		if !strings.HasPrefix(from, ".") {
			if _, known := volumes[from]; !known {
				t.Errorf("%s: no volume %s", service, from)
			}
			continue
		}
		from = filepath.Join("compose", from)
		if _, err := os.Stat(from); err != nil || mode != "ro" {
			t.Errorf("%s mounts %s: %v, mode %q", service, v, err, mode)
		}
		all[to] = from
	}
	return all
}

func loadCompose(t *testing.T) (c, host composition) {
	t.Helper()
	load(t, "compose/compose.yaml", &c)
	load(t, "compose/compose.host.yaml", &host)
	return c, host
}

// TestCompose tests that images have a version, that only this machine is served, and that
// files that a service reads are mounted.
func TestCompose(t *testing.T) {
	c, host := loadCompose(t)
	pinned := regexp.MustCompile(`^[a-z]+/[a-z]+:v?\d+\.\d+\.\d+$`)
	for name, s := range c.Services {
		if !pinned.MatchString(s.Image) || s.Restart == "" || len(s.Ports) == 0 {
			t.Errorf("%s: %+v", name, *s)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s listens at %s", name, p)
			}
		}
		at := c.mounts(t, name, c.Volumes)
		over := host.Services[name]
		if over == nil || over.NetworkMode != "host" || len(over.Ports) > 0 {
			t.Errorf("%s: other settings than the machine's network: %+v", name, over)
			continue
		}
		for to := range host.mounts(t, name, c.Volumes) {
			if at[to] == "" {
				t.Errorf("%s mounts at %s only in the machine's network", name, to)
			}
		}
		loopback := strings.Contains(
			strings.Join(over.Command, " "),
			"--web.listen-address=127.0.0.1:",
		) ||
			over.Environment["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
		if !loopback {
			t.Errorf("%s listens for others in the machine's network", name)
		}
		for _, arg := range s.Command {
			if file, ok := strings.CutPrefix(arg, "--config.file="); ok && at[file] == "" {
				t.Errorf("%s reads %s, which is not mounted", name, file)
			}
		}
		for _, on := range s.DependsOn {
			if c.Services[on] == nil {
				t.Errorf("%s depends on %s", name, on)
			}
		}
		for _, secret := range s.Secrets {
			if c.Secrets[secret.Source].Environment == "" {
				t.Errorf("%s has no secret %s", name, secret.Source)
			}
		}
	}
	if len(c.Services) != 3 || len(host.Services) != 3 {
		t.Errorf("%d and %d services", len(c.Services), len(host.Services))
	}
}

// TestComposeGrafana tests that provisioning finds Prometheus and the dashboards.
func TestComposeGrafana(t *testing.T) {
	c, host := loadCompose(t)
	at := c.mounts(t, "grafana", c.Volumes)
	var sources struct {
		Version int `yaml:"apiVersion"`
		Sources []struct {
			Name, UID, Type, Access, URL string
			Default                      bool              `yaml:"isDefault"`
			Data                         map[string]string `yaml:"jsonData"`
		} `yaml:"datasources"`
	}
	load(t, at["/etc/grafana/provisioning/datasources/sm.yml"], &sources)
	if len(sources.Sources) != 1 || sources.Sources[0].Type != "prometheus" ||
		!sources.Sources[0].Default {
		t.Fatalf("got %+v", sources)
	}
	variable := strings.TrimPrefix(sources.Sources[0].URL, "$")
	for _, x := range []struct {
		in   composition
		want string
	}{{c, "http://prometheus:9090"}, {host, "http://127.0.0.1:9090"}} {
		if got := x.in.Services["grafana"].Environment[variable]; got != x.want {
			t.Errorf("%s is %q, want %s", variable, got, x.want)
		}
	}
	var boards struct {
		Version   int `yaml:"apiVersion"`
		Providers []struct {
			Name, Folder, Type string
			Keep               bool `yaml:"disableDeletion"`
			Edit               bool `yaml:"allowUiUpdates"`
			Options            struct{ Path string }
		}
	}
	load(t, at["/etc/grafana/provisioning/dashboards/sm.yml"], &boards)
	if len(boards.Providers) != 1 || boards.Providers[0].Type != "file" {
		t.Fatalf("got %+v", boards)
	}
	found, err := filepath.Glob(filepath.Join(at[boards.Providers[0].Options.Path], "*.json"))
	if err != nil || len(found) == 0 {
		t.Errorf("no dashboards at %s: %v", boards.Providers[0].Options.Path, err)
	}
}

// TestComposePrometheus tests that all rules are beside the configuration, and that it
// reaches the other services.
func TestComposePrometheus(t *testing.T) {
	promtool := needs(t, "promtool", "prometheus")
	c, _ := loadCompose(t)
	dir := t.TempDir()
	rules := 0
	for to, from := range c.mounts(t, "prometheus", c.Volumes) {
		if path.Dir(to) != "/etc/prometheus" {
			t.Errorf("%s is not reachable", to)
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path.Base(to)), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(to, ".rules.yml") {
			rules++
		}
	}
	all, err := filepath.Glob("../dashboards/prometheus/*.rules.yml")
	if err != nil || rules != len(all) {
		t.Errorf("%d files of rules of %d, %v", rules, len(all), err)
	}
	if out := run(
		t,
		dir,
		promtool,
		"check",
		"config",
		filepath.Join(dir, "prometheus.yml"),
	); strings.Count(
		out,
		"rules found",
	) != rules {
		t.Errorf("output:\n%s", out)
	}
	// The configuration equals that without containers, except for the names.
	var got, want map[string]any
	load(t, "compose/prometheus.yml", &got)
	text, err := os.ReadFile("prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.NewReplacer(
		"127.0.0.1:9093",
		"alertmanager:9093",
		"127.0.0.1:8420",
		"host.docker.internal:8421",
	)
	if err := yaml.Unmarshal([]byte(names.Replace(string(text))), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("compose/prometheus.yml (-want +got):\n%s", diff)
	}
}

// TestComposeAlertmanager tests that the configuration equals that without containers, except
// for the observer's address.
func TestComposeAlertmanager(t *testing.T) {
	shipped, err := os.ReadFile("alertmanager/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("compose/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(
		string(shipped),
		"http://127.0.0.1:8420",
		"http://host.docker.internal:8420",
		1,
	)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("compose/alertmanager.yml (-want +got):\n%s", diff)
	}
	// The token is read from beside the configuration.
	c, _ := loadCompose(t)
	if secrets := c.Services["alertmanager"].Secrets; len(secrets) != 1 ||
		secrets[0].Target != "/etc/alertmanager/webhook.token" {
		t.Errorf("got %+v", secrets)
	}
}
