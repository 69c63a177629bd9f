package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// testEnv returns the environment of a process with these variables and the home /home/u.
func testEnv(vars map[string]string) Env {
	all := map[string]string{"HOME": "/home/u"}
	maps.Copy(all, vars)
	return func(name string) (string, bool) { v, ok := all[name]; return v, ok }
}

// privateTemp returns a folder of mode 0700, which t.TempDir is not.
func privateTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// testFlags returns the flags that commands bind, parsed from these arguments.
func testFlags(t testing.TB, args ...string) *pflag.FlagSet {
	t.Helper()
	flags := pflag.NewFlagSet("sm", pflag.ContinueOnError)
	flags.String("config", "", "")
	flags.String("socket", "", "")
	flags.String("state", "", "")
	flags.StringArray("projects", nil, "")
	flags.StringArray("listen", nil, "")
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return flags
}

func loadText(
	t testing.TB,
	text string,
	vars map[string]string,
	args ...string,
) (*Config, error) {
	t.Helper()
	return Parse("sm.yaml", []byte(text), testFlags(t, args...), testEnv(vars))
}

func mustLoad(t testing.TB, text string, vars map[string]string, args ...string) *Config {
	t.Helper()
	cfg, err := loadText(t, text, vars, args...)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// changedText sets every setting to another value than the default.
const changedText = `projects:
  - /p/one
  - /p/two
listen:
  - 127.0.0.1:9000
socket: /run/x.sock
state: /var/sm
log:
  level: debug
  format: json
http:
  allowed_hosts:
    - a.example
    - b.example:80
  allowed_uids:
    - 0
    - 1000
  webhook_token_file: /etc/token
metrics:
  listen: 0.0.0.0:9464
  web_config_file: /etc/web.yml
  session_ttl: 1m30s
  max_sessions: 7
  project: false
alertmanager:
  urls:
    - http://am-1:9093
    - https://am-2.example/x
  interval: 1m
  host: one
  http_config_file: /etc/http.yml
prometheus:
  - name: main
    url: http://metrics:9090
    http_config_file: ""
  - name: two
    url: https://two.example
    http_config_file: /etc/two.yml
windows:
  - model: m-1
    tokens: 1000000
  - model: m
    tokens: 200000
cost:
  prices:
    - model: m
      input: 5
      cache_write: 10
      cache_read: 0.5
      output: 25
compaction:
  threshold_tokens: 160000
  settle: 1m
context_monitor:
  enabled: false
  warning_percentage: 40
  critical_percentage: 60
  warning_tokens: 400000
  critical_tokens: 600000
  warning_of_threshold: 55
  critical_of_threshold: 70
  early_warn_ratio: 0.5
  estimate: true
  forecast_replies: 15
  forecast_turns: 4
  no_data_after: 0s
storm:
  count: 4
  within: 1h
  turns: 6
reminders:
  soft: 3m
  hard: 5m
  compaction_wait: 30s
queue:
  per_agent: 5
  message_bytes: 1024
  per_sender_minute: 3
  ttl: 1h30m
delivery:
  type_texts: true
handoff:
  directory: /var/handoff
  expiry: 1h
  auto_document: true
  auto_rotate: true
  breaker_count: 2
  breaker_within: 1m
  document_bytes: 1024
  inject_characters: 100
channels:
  - name: web
    path: /home/dev/web
guard:
  enabled: true
  overflow_threshold: 0.9
  allow:
    - Read
supervise:
  restarts: 0
  term_after: 1.5s
operator:
  notify:
    - /bin/notify
    - -x
  compactions: false
  waiting: 2m
messages:
  warning: |-
    a {{.Percent}}
    storm: 1h0m0s
  critical: 5m0s
  compacted: c
  storm: d
  no_data: e
  forecast: f
  resume: g
  rereads: false
`

func changed() *Config {
	c, err := Parse("", []byte(changedText), new(pflag.FlagSet), testEnv(nil))
	if err != nil {
		panic(err)
	}
	return c
}

// changedVars returns the variables with the values of changedText.
func changedVars(t *testing.T) map[string]string {
	t.Helper()
	var all map[string]any
	if err := yaml.Unmarshal([]byte(changedText), &all); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{}
	for _, s := range changed().settings() {
		group, key, grouped := strings.Cut(s.path, ".")
		value := all[group]
		if grouped {
			value = value.(map[string]any)[key]
		}
		text, ok := value.(string)
		if !ok {
			b, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		vars[s.variable()] = text
	}
	return vars
}

// TestDefaults tests that the published list of keys and defaults is complete and correct.
func TestDefaults(t *testing.T) {
	text, err := os.ReadFile("testdata/defaults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var published, ours map[string]any
	if err := yaml.Unmarshal(text, &published); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(printed(t, Default()), &ours); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(published, ours); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	for _, text := range []string{
		"",
		"# nothing\n",
		"---\n",
		"{}",
		"log:\nqueue: ~\n",
		"\ufeff",
		string(text),
	} {
		if diff := cmp.Diff(Default(), mustLoad(t, text, nil)); diff != "" {
			t.Errorf("load %.20q (-want +got):\n%s", text, diff)
		}
	}
}

func printed(t testing.TB, c *Config) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := c.Print(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEveryVariable(t *testing.T) {
	if diff := cmp.Diff(changed(), mustLoad(t, "", changedVars(t))); diff != "" {
		t.Errorf("from variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(changedText, string(printed(t, changed()))); diff != "" {
		t.Errorf("read and printed again (-want +got):\n%s", diff)
	}
	defaults := Default().settings()
	for i, s := range changed().settings() {
		if cmp.Equal(s.value.Interface(), defaults[i].value.Interface()) {
			t.Errorf("%s: the test sets it to its default", s.path)
		}
	}
	for name, text := range map[string]string{
		"SM_PROJECTS":                    "/p/one, /p/two",
		"SM_HTTP_ALLOWED_UIDS":           "0,1000",
		"SM_METRICS_SESSION_TTL":         "90",
		"SM_METRICS_PROJECT":             "FALSE",
		"SM_GUARD_ENABLED":               "1",
		"SM_COMPACTION_THRESHOLD_TOKENS": "160_000",
		"SM_SUPERVISE_TERM_AFTER":        "1.5",
		"SM_WINDOWS":                     "[{model: m-1, tokens: 1e6}, {model: m, tokens: 2e5}]",
		"SM_CHANNELS":                    "- name: web\n  path: /home/dev/web\n",
	} {
		vars := changedVars(t)
		vars[name] = text
		if diff := cmp.Diff(changed(), mustLoad(t, "", vars)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPrecedence(t *testing.T) {
	const file = "listen: ['127.0.0.1:1']\nreminders: {soft: 1, hard: 1h}\nstate: /file\nprojects: [/file]\n"
	vars := map[string]string{
		"SM_LISTEN":         "127.0.0.1:2,127.0.0.1:3",
		"SM_REMINDERS_SOFT": "2",
		"SM_STATE":          "/env",
		"SM_QUEUE_TTL":      "",
	}
	args := []string{
		"--listen",
		"127.0.0.1:4",
		"--listen=[::1]:4",
		"--projects=/a,b",
		"--projects",
		`/c "d"`,
	}
	want := Default()
	want.Listen = []string{"127.0.0.1:4", "[::1]:4"}
	want.Projects = []string{"/a,b", `/c "d"`}
	want.State = "/env"
	want.Reminders.Soft = 2 * time.Second
	want.Reminders.Hard = time.Hour
	if diff := cmp.Diff(want, mustLoad(t, file, vars, args...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFindConfig(t *testing.T) {
	tests := []struct {
		name string
		vars map[string]string
		args []string
		want Source
	}{
		{
			"flag",
			map[string]string{"XDG_CONFIG_HOME": "/x"},
			[]string{"--config=a.yaml"},
			Source{"a.yaml", true},
		},
		{"flag with ~", nil, []string{"--config=~/a.yaml"}, Source{"/home/u/a.yaml", true}},
		{
			"XDG",
			map[string]string{"XDG_CONFIG_HOME": "/x"},
			nil,
			Source{"/x/sm/config.yaml", false},
		},
		{
			"relative XDG is ignored",
			map[string]string{"XDG_CONFIG_HOME": "x"},
			nil,
			Source{"/home/u/.config/sm/config.yaml", false},
		},
		{"home", nil, nil, Source{"/home/u/.config/sm/config.yaml", false}},
		{"nowhere", map[string]string{"HOME": ""}, nil, Source{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Find(testFlags(t, tt.args...), testEnv(tt.vars))
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "c.yaml")
	if err := os.WriteFile(file, []byte("log: {level: debug}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		source Source
		want   string // of the error, with DIR for the directory
	}{
		{"file", Source{file, true}, ""},
		{"nothing", Source{os.DevNull, true}, ""},
		{"default place, missing", Source{dir + "/no/c.yaml", false}, ""},
		{"default place, below a file", Source{file + "/c.yaml", false}, ""},
		{
			"missing",
			Source{dir + "/no", true},
			"DIR/no: no such file or directory; give an existing file that this user can read",
		},
		{
			"directory",
			Source{dir, true},
			"DIR: not a regular file; give an existing file that this user can read",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := tt.source.Load(testFlags(t), testEnv(nil))
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), dir, "DIR")
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.name == "file" && cfg.Log.Level != "debug" {
				t.Errorf("log.level %q", cfg.Log.Level)
			}
		})
	}
}

// TestKeep tests that settings that need a restart keep their values and are named, and that
// all others are taken from the file.
func TestKeep(t *testing.T) {
	started := Default()
	read := changed()
	want := changed()
	want.Projects = started.Projects
	want.Listen = started.Listen
	want.Socket = started.Socket
	want.State = started.State
	want.Log.Format = started.Log.Format
	want.Metrics.Listen = started.Metrics.Listen
	want.Metrics.WebConfigFile = started.Metrics.WebConfigFile
	want.Handoff.Directory = started.Handoff.Directory
	want.Prometheus = started.Prometheus
	restart := read.Keep(started)
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := []string{
		"projects",
		"listen",
		"socket",
		"state",
		"log.format",
		"metrics.listen",
		"metrics.web_config_file",
		"prometheus",
		"handoff.directory",
	}
	if diff := cmp.Diff(all, restart); diff != "" {
		t.Errorf("restart (-want +got):\n%s", diff)
	}
	if again := read.Keep(started); again != nil {
		t.Errorf("without a change %q need a restart", again)
	}
}
