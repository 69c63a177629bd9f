package config

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"sm/dashboards/page"
	"sm/handoff"
	"sm/transcript"
)

// TestMistakes tests that the error of each mistake names the place and the remedy in one
// line.
func TestMistakes(t *testing.T) {
	t.Parallel()
	const spaces = "; correct the indentation (spaces only), the quotes or the brackets there"
	for _, tt := range []struct{ text, want string }{
		{"lisen: []\n", `unknown key "lisen"; did you mean "listen"?`},
		{
			"\ncontext-monitor: {estimate: true}\n",
			`unknown key "context-monitor"; did you mean "context_monitor"?`,
		},
		{
			"warning_percentag: 50\n",
			`unknown key "warning_percentag"; did you mean "context_monitor.warning_percentage"?`,
		},
		{
			"windows: [{model: m, token: 5}]\n",
			`unknown key "windows[0].token"; did you mean "windows.tokens"?`,
		},
		{
			"http: {k8jz0vq2hxw7lr4tfy1n: 1}\n",
			`unknown key "http.k8jz0vq2hxw7lr4tfy1n"; sm check-config --print lists all keys`,
		},
		{
			"log: {}\nlog: {}\n",
			`not valid YAML: unmarshal errors: line 2: mapping key "log" already defined at line 1` + spaces,
		},
		{"k8jz0vq2hxw7lr4tfy1n\n", "the file must be a group of keys"},
		{"log: [info]\n", "log must be a group of the keys level, format"},
		{
			"windows: {model: m}\n",
			"windows must be a list such as [{model: …, tokens: …}]",
		},
		{"listen: {a: 1}\n", "listen must be a list such as [a, b]"},
		{
			"channels: [{name: 2024, path: /a}]\n",
			"channels[0].name must be text; put it in quotes",
		},
		{"storm:\n  count: 1.5\n", "storm.count must be a whole number"},
		{
			"storm: {count: 99999999999999999999}\n",
			"storm.count must be a whole number",
		},
		{"guard: {enabled: yes}\n", "guard.enabled must be true or false"},
		{
			"guard: {overflow_threshold: .nan}\n",
			"guard.overflow_threshold must be above 0 and at most 1, not NaN",
		},
		{
			"queue: {ttl: soon}\n",
			"queue.ttl must be a duration such as 90, 3m or 1h30m",
		},
		{
			"log:\n\tlevel: info\n",
			"not valid YAML: line 2: found character that cannot start any token" + spaces,
		},
		{
			strings.Repeat("[", 20000),
			"not valid YAML: exceeded max depth of 10000" + spaces,
		},
		{
			"storm:\n  count: 0\n  turns: -1\n",
			"storm.count must be at least 1 and at most 1000000, not 0",
		},
	} {
		_, err := loadText(t, tt.text, nil)
		if diff := cmp.Diff("sm.yaml: "+tt.want, errorText(err)); diff != "" {
			t.Errorf("%.50q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMistakesInVariables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, value, want string }{
		{
			"SM_METRICS_SESSION_TTL",
			"soon",
			"metrics.session_ttl must be a duration such as 90, 3m or 1h30m",
		},
		{"SM_GUARD_ENABLED", "on", "guard.enabled must be true or false"},
		{"SM_HTTP_ALLOWED_UIDS", "0,me", "http.allowed_uids[1] must be a whole number"},
		{
			"SM_WINDOWS",
			"[{model: m",
			"windows must be a list such as [{model: …, tokens: …}]",
		},
		{
			"SM_WINDOWS",
			`[{"model": "m", "token": 5}]`,
			`unknown key "windows[0].token"; did you mean "windows.tokens"?`,
		},
		{"SM_SOCKET", "rel", `socket must be an absolute path, or begin with ~/, not "rel"`},
	} {
		_, err := loadText(t, "", map[string]string{tt.name: tt.value})
		if diff := cmp.Diff(tt.name+": "+tt.want, errorText(err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestMistakeBesideVariable tests that a variable does not hide that its group has the wrong
// type in the file.
func TestMistakeBesideVariable(t *testing.T) {
	t.Parallel()
	_, err := loadText(t, "log: 5\n", map[string]string{"SM_LOG_LEVEL": "debug"})
	want := "sm.yaml: log must be a group of the keys level, format"
	if got := errorText(err); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOriginOfStrongestLayer tests that an error names the layer that decides.
func TestOriginOfStrongestLayer(t *testing.T) {
	t.Parallel()
	_, err := loadText(
		t,
		"windows: [{model: a, tokens: 0}]\n",
		map[string]string{"SM_WINDOWS": "[{model: b}]"},
	)
	want := "SM_WINDOWS: windows[0].tokens must be at least 1 and at most 1000000000, not 0"
	if diff := cmp.Diff(want, errorText(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = loadText(t, "", map[string]string{"SM_LISTEN": "127.0.0.1:1"}, "--listen=:1")
	if got := errorText(err); !strings.HasPrefix(
		got,
		"--listen: listen[0] must be a loopback address",
	) {
		t.Error(got)
	}
}

// testServers returns servers by name and address.
func testServers(fields ...string) (list []page.Server) {
	for pair := range slices.Chunk(fields, 2) {
		s := page.Server{Name: pair[0]}
		s.URL = pair[1]
		list = append(list, s)
	}
	return list
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		edit func(*Config)
		want string // the beginning of the error, "" for none
	}{
		{func(c *Config) { *c = *changed() }, ""},
		{
			func(c *Config) { c.Alertmanager.URLs = []string{"ftp://u:secret@am-1:9093"} },
			"alertmanager.urls[0] must be an address such as http://127.0.0.1:9090",
		},
		{
			func(c *Config) { c.Alertmanager.Interval = time.Millisecond },
			"alertmanager.interval must be at least 5s and at most 87600h, not 1ms",
		},
		{
			func(c *Config) { c.Alertmanager.Host = "one\ntwo" },
			"alertmanager.host must be the value of a label",
		},
		{func(c *Config) { c.Alertmanager.Host = "Büro 1.example" }, ""},
		{
			func(c *Config) { c.Prometheus = testServers("1", "http://a") },
			"prometheus[0].name must be a name",
		},
		{
			func(c *Config) { c.Prometheus = testServers("a", "http://a", "a", "http://b") },
			`prometheus[1].name repeats "a"; remove one of the two`,
		},
		{
			func(c *Config) { c.Prometheus = testServers("a", "") },
			"prometheus[0].url must be an address",
		},
		{
			func(c *Config) {
				c.Listen = []string{
					"localhost:0",
					"127.8.8.8:1",
					"[::1]:65535",
				}
			},
			"",
		},
		{func(c *Config) { c.Listen = nil }, ""},
		{
			func(c *Config) { c.Listen = []string{":8420"} },
			"listen[0] must be a loopback address",
		},
		{
			func(c *Config) { c.Listen = []string{"localhost.example:1"} },
			"listen[0] must be a loopback address",
		},
		{
			func(c *Config) { c.Listen = []string{"[::ffff:127.0.0.1]:1"} },
			"listen[0] must be a loopback address",
		},
		{
			func(c *Config) { c.Listen = []string{"127.0.0.1"} },
			"listen[0] must be a loopback address",
		},
		{
			func(c *Config) { c.Listen = []string{"127.0.0.1:http"} },
			"listen[0] must be a loopback address",
		},
		{
			func(c *Config) { c.Listen = []string{"127.0.0.1:65536"} },
			"listen[0] must be a loopback address",
		},
		{func(c *Config) { c.Metrics.Listen = "host.example:9464" }, ""},
		{func(c *Config) { c.Metrics.Listen = "[::]:9464" }, ""},
		{func(c *Config) { c.Metrics.Listen = ":65535" }, ""},
		{
			func(c *Config) { c.Metrics.Listen = "[::]:65536" },
			"metrics.listen must be an address with its port",
		},
		{
			func(c *Config) { c.Metrics.Listen = "http://h:9464" },
			"metrics.listen must be an address with its port",
		},
		{
			func(c *Config) { c.HTTP.AllowedHosts = []string{"a.example", "https://b"} },
			"http.allowed_hosts[1] must be a host",
		},
		{
			func(c *Config) { c.HTTP.AllowedUIDs = []int{0, -1} },
			"http.allowed_uids[1] must be at least 0 and at most 4294967294, not -1",
		},
		{
			func(c *Config) { c.HTTP.WebhookTokenFile = "k8Jz0vQ2hXw7Lr4TfY1n" },
			"http.webhook_token_file must be an absolute path, or begin with ~/, not the present one",
		},
		{
			func(c *Config) { c.Projects = []string{"/ok", ""} },
			"projects[1] must be an absolute path",
		},
		{
			func(c *Config) { c.Socket = "/" + strings.Repeat("a", 107) },
			"socket is 108 bytes long and a socket's path has room for 103; give a shorter one",
		},
		{
			func(c *Config) { c.Windows = []transcript.WindowRule{{Tokens: 1}} },
			"windows[0].model must be a name",
		},
		{
			func(c *Config) { c.Cost.Prices = transcript.Prices{{Model: "m", CacheRead: math.Inf(1)}} },
			"cost.prices[0].cache_read must be at least 0 and at most 1000000, not +Inf",
		},
		{
			func(c *Config) { c.Channels = []handoff.Channel{{Name: "../x", Path: "/a"}} },
			"channels[0].name must be short",
		},
		{
			func(c *Config) {
				c.Channels = []handoff.Channel{{Name: "a", Path: "/a"}, {Name: "b", Path: "/a"}}
			},
			`channels[1].path repeats "/a"`,
		},
		{
			func(c *Config) { c.ContextMonitor.WarningPercentage = 65 },
			"context_monitor.warning_percentage is 65 and must be below critical_percentage, which is 65",
		},
		{func(c *Config) { c.ContextMonitor.WarningTokens = 5 }, ""},
		{
			func(c *Config) { c.ContextMonitor.EarlyRatio = -0.1 },
			"context_monitor.early_warn_ratio must be at least 0",
		},
		{
			func(c *Config) { c.Guard.Threshold = 0 },
			"guard.overflow_threshold must be above 0 and at most 1, not 0",
		},
		{
			func(c *Config) { c.Metrics.SessionTTL = 0 },
			"metrics.session_ttl must be above 0 and at most 87600h, not 0s",
		},
		{
			func(c *Config) { c.Reminders.Wait = -time.Second },
			"reminders.compaction_wait must be at least 0",
		},
		{
			func(c *Config) {
				c.Reminders.Soft = time.Hour
				c.Reminders.Hard = time.Minute
			},
			"reminders.soft is 1h and must be below hard, which is 1m",
		},
		{
			func(c *Config) { c.Log.Level = "trace" },
			`log.level must be one of debug, info, warn, error, not "trace"`,
		},
		{func(c *Config) { c.Messages.Warning = "{{if .A}}{{thousands .B}}{{end}}" }, ""},
		{
			func(c *Config) { c.Messages.Warning = "a\n{{if}}" },
			"messages.warning is not a template (2: missing value for if); correct what is in {{ }}",
		},
		{
			func(c *Config) { c.Messages.Resume = strings.Repeat("x", 4097) },
			"messages.resume is 4097 bytes long",
		},
		{
			func(c *Config) { c.Operator.Notify = []string{""} },
			"operator.notify[0] is empty; give a program",
		},
	} {
		c := Default()
		tt.edit(c)
		path, fault := c.check()
		got := strings.TrimSpace(path + " " + fault)
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	type answer struct {
		State    string
		Sockets  []string
		Projects []string
		Err      string
	}
	home := answer{
		State:    "/home/u/.local/state/sm",
		Sockets:  []string{"/home/u/.local/state/sm/run/sm.sock"},
		Projects: []string{"/home/u/.claude/projects", "/home/u/.config/claude/projects"},
	}
	run := privateTemp(t)
	tests := []struct {
		name string
		vars map[string]string
		args []string
		want answer
	}{
		{"home", nil, nil, home},
		{
			"relative is ignored",
			map[string]string{
				"XDG_STATE_HOME":    "s",
				"XDG_RUNTIME_DIR":   "r",
				"CLAUDE_CONFIG_DIR": " , ",
			},
			nil,
			home,
		},
		{"XDG", map[string]string{
			"XDG_STATE_HOME":    "/s",
			"XDG_RUNTIME_DIR":   run + "/",
			"CLAUDE_CONFIG_DIR": "/c, ~/d,",
		}, nil, answer{
			State: "/s/sm", Sockets: []string{run + "/sm/sm.sock", "/s/sm/run/sm.sock"},
			Projects: []string{"/c/projects", "/home/u/d/projects"},
		}},
		{"configured", map[string]string{
			"SM_STATE":          "~/s",
			"SM_PROJECTS":       "~/a//b,~",
			"CLAUDE_CONFIG_DIR": "/c",
			"XDG_RUNTIME_DIR":   run,
		}, nil, answer{
			State: "/home/u/s", Sockets: []string{
				run + "/sm/sm.sock",
				"/home/u/s/run/sm.sock",
			},
			Projects: []string{"/home/u/a/b", "/home/u"},
		}},
		{"flags", map[string]string{"XDG_RUNTIME_DIR": run}, []string{
			"--socket=rel/x.sock",
			"--state=~/s",
			"--projects=rel",
		}, answer{
			State: "/home/u/s", Sockets: []string{"CWD/rel/x.sock"}, Projects: []string{"CWD/rel"},
		}},
		{"homeless", map[string]string{"HOME": "", "XDG_RUNTIME_DIR": run}, nil, answer{
			Sockets: []string{run + "/sm/sm.sock"},
			Err: "find the state directory: no home directory; set HOME to an absolute path\n" +
				"find the projects: no home directory; set HOME to an absolute path, or give --projects",
		}},
	}
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := mustLoad(t, "", tt.vars, tt.args...)
			env := testEnv(tt.vars)
			var got answer
			var errs []string
			collect := func(err error) {
				if err != nil {
					errs = append(errs, err.Error())
				}
			}
			var err error
			got.State, err = env.StateDir(c.State)
			collect(err)
			got.Sockets, err = c.SocketPaths(env)
			collect(err)
			got.Projects, err = c.ProjectDirs(env)
			collect(err)
			got.Err = strings.Join(errs, "\n")
			for _, list := range [][]string{got.Sockets, got.Projects} {
				for i := range list {
					list[i] = strings.Replace(list[i], cwd, "CWD", 1)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0":     0,
		"0s":    0,
		"90":    90 * time.Second,
		"0.5":   500 * time.Millisecond,
		"3m":    3 * time.Minute,
		"1h30m": 90 * time.Minute,
		"-1":    -time.Second,
	} {
		if got, err := ParseDuration(text); got != want || err != nil {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "-", ".", "1d", "inf", "nan", "0x10", "1e3", "9999999999", "9999999999h", "3 m",
	} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

// FuzzConfig tests that any text gives a configuration or an error of one printable line, and
// that a configuration that is printed and read again stays the same.
func FuzzConfig(f *testing.F) {
	defaults, err := os.ReadFile("testdata/defaults.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(defaults, "127.0.0.1:1", "[{model: m, tokens: 1}]", "3m")
	f.Add(printed(f, changed()), "[a, b]", "- name: a", "1e9")
	f.Add([]byte("log: &a {level: *a}\n<<: *a\n? [x]\n"), "[", "{", "~")
	f.Add(
		[]byte("storm: {count: 0x1F, within: -1.5}\nmessages: {warning: '{{if}}'}\n"),
		"",
		"!!set {}",
		"\x00",
	)
	f.Add([]byte("---\nstate: |\n  ~/a\n...\n--- b"), ",,", "[[]]", "\xff")
	f.Fuzz(func(t *testing.T, text []byte, listen, windows, ttl string) {
		vars := map[string]string{
			"SM_LISTEN":    listen,
			"SM_WINDOWS":   windows,
			"SM_QUEUE_TTL": ttl,
		}
		_, err := loadText(t, "", vars)
		checkLine(t, err)
		cfg, err := loadText(t, string(text), nil)
		checkLine(t, err)
		if err != nil {
			return
		}
		again, err := loadText(t, string(printed(t, cfg)), nil)
		if err != nil {
			t.Fatalf("printed configuration: %v\n%s", err, printed(t, cfg))
		}
		if diff := cmp.Diff(cfg, again); diff != "" {
			t.Errorf("printed and read again (-want +got):\n%s", diff)
		}
	})
}

func checkLine(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	line := err.Error()
	if line == "" || !bytes.Equal(bytes.ToValidUTF8([]byte(line), nil), []byte(line)) ||
		strings.ContainsFunc(
			line,
			func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) },
		) {
		t.Errorf("not one printable line: %q", line)
	}
}
