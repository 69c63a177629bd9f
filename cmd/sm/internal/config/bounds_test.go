package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const maxTokens = 1_000_000_000

func TestValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"defaults", func(*Config) {}, ""},
		{"all changed", func(c *Config) { *c = *changed() }, ""},
		{"no Alertmanager", func(c *Config) { c.Alertmanager.URLs = []string{"am-1:9093"} },
			`alertmanager.urls[0] must be an address such as http://127.0.0.1:9090, not "am-1:9093"`},
		{
			"an Alertmanager asked all the time",
			func(c *Config) { c.Alertmanager.Interval = time.Millisecond },
			"alertmanager.interval must be at least 5s, not 1ms",
		},
		{"an Alertmanager asked often", func(c *Config) { c.Alertmanager.Interval = 5 * time.Second }, ""},
		{"a host of several lines", func(c *Config) { c.Alertmanager.Host = "one\ntwo\x1b" },
			`alertmanager.host must be the value of a label, without control characters, not "one\ntwo\x1b"`},
		{"a host of any letters", func(c *Config) { c.Alertmanager.Host = "Büro 1.example" }, ""},
		{"an address with a password", func(c *Config) { c.Alertmanager.URLs = []string{"ftp://u:secret@am-1:9093"} },
			`alertmanager.urls[0] must be an address such as http://127.0.0.1:9090, not "…@am-1:9093"`},
		{"a server's name", func(c *Config) { c.Prometheus = []prometheusConfig{{"1", "http://a", ""}} },
			`prometheus[0].name must be a name of letters, digits, dots and dashes, other than 1, not "1"`},
		{"servers of one name", func(c *Config) {
			c.Prometheus = []prometheusConfig{
				{"a", "http://a", ""},
				{"a", "http://b", ""},
			}
		},
			`prometheus[1].name repeats "a"; remove one of the two`},
		{"a server without an address", func(c *Config) { c.Prometheus = []prometheusConfig{{"Main-1.x_y", "", ""}} },
			`prometheus[0].url must be an address such as http://127.0.0.1:9090, not ""`},
		{"localhost", func(c *Config) { c.Listen = []string{"localhost:0", "127.8.8.8:1", "[::1]:65535"} }, ""},
		{"port 0 twice", func(c *Config) { c.Listen = []string{"127.0.0.1:0", "127.0.0.1:0"} }, ""},
		{"no listener", func(c *Config) { c.Listen = nil }, ""},
		{"any address", func(c *Config) { c.Listen = []string{":8420"} },
			`listen[0] is ":8420", which is not a loopback address; use metrics.listen for scrapes from elsewhere`},
		{"all interfaces", func(c *Config) { c.Listen = []string{"[::]:1"} },
			`listen[0] is "[::]:1", which is not a loopback address; use metrics.listen for scrapes from elsewhere`},
		{"a name", func(c *Config) { c.Listen = []string{"localhost.example:1"} },
			`listen[0] is "localhost.example:1", which is not a loopback address; use metrics.listen for scrapes from elsewhere`},
		{"loopback in IPv6 clothes", func(c *Config) { c.Listen = []string{"[::ffff:127.0.0.1]:1"} },
			`listen[0] is "[::ffff:127.0.0.1]:1", which is not a loopback address; use metrics.listen for scrapes from elsewhere`},
		{"no port", func(c *Config) { c.Listen = []string{"127.0.0.1"} },
			`listen[0] must be a loopback address with its port such as 127.0.0.1:8420, not "127.0.0.1"`},
		{"port name", func(c *Config) { c.Listen = []string{"127.0.0.1:http"} },
			`listen[0] must be a loopback address with its port such as 127.0.0.1:8420, not "127.0.0.1:http"`},
		{"large port", func(c *Config) { c.Listen = []string{"127.0.0.1:65536"} },
			`listen[0] must be a loopback address with its port such as 127.0.0.1:8420, not "127.0.0.1:65536"`},
		{"twice", func(c *Config) { c.Listen = []string{"127.0.0.1:1", "127.0.0.1:1"} },
			`listen[1] repeats "127.0.0.1:1"; remove one of the two`},
		{"metrics everywhere", func(c *Config) { c.Metrics.Listen = ":9464" }, ""},
		{"metrics name", func(c *Config) { c.Metrics.Listen = "host.example:9464" }, ""},
		{"metrics URL", func(c *Config) { c.Metrics.Listen = "http://h:9464" },
			`metrics.listen must be an address with its port such as 0.0.0.0:9464, not "http://h:9464"`},
		{"metrics on a taken port", func(c *Config) { c.Metrics.Listen = "127.0.0.1:8420" },
			`metrics.listen repeats "127.0.0.1:8420" of listen; give it a port of its own`},
		{"allowed host", func(c *Config) { c.HTTP.AllowedHosts = []string{"a.example", "https://b"} },
			`http.allowed_hosts[1] must be a host, or host:port, as it stands in a URL, not "https://b"`},
		{
			"uid",
			func(c *Config) { c.HTTP.AllowedUIDs = []int{0, -1} },
			"http.allowed_uids[1] must be a user id of 0 or more, not -1",
		},
		{"paths", func(c *Config) {
			c.Projects = []string{"/ok", ""}
			c.State = "~other/x"
		},
			`projects[1] is empty; give a path; state must be an absolute path, or begin with ~/, not "~other/x"`},
		{"long socket", func(c *Config) { c.Socket = "/" + strings.Repeat("a", 107) },
			"socket is 108 bytes long and a socket's path has room for 103; give a shorter one"},
		{"windows", func(c *Config) { c.Windows = []windowConfig{{"", 1}, {"m", 0}, {"m", maxTokens + 1}} },
			`windows[0].model is empty; give the beginning of a model's name; windows[1].tokens must be at least 1, not 0; ` +
				`windows[2].model repeats "m"; remove one of the two; windows[2].tokens must be at most 1000000000, not 1000000001`},
		{"channels", func(c *Config) { c.Channels = []channelConfig{{"", "/a"}, {"../x", "/a"}} },
			`channels[0].name is empty; give the channel a name; ` +
				`channels[1].name is part of file names, so it must be short, without slashes and without a dot in front, not "../x"; ` +
				`channels[1].path repeats "/a"; remove one of the two`},
		{"channel path", func(c *Config) { c.Channels = []channelConfig{{"a", ""}, {"b", "rel"}} },
			`channels[0].path is empty; give a path; channels[1].path must be an absolute path, or begin with ~/, not "rel"`},
		{"percentages", func(c *Config) {
			c.ContextMonitor.WarningPercentage = 0
			c.ContextMonitor.CriticalPercentage = 101
		},
			"context_monitor.warning_percentage must be at least 1, not 0; context_monitor.critical_percentage must be at most 100, not 101"},
		{"warning at critical", func(c *Config) { c.ContextMonitor.WarningPercentage = 65 },
			"context_monitor.warning_percentage is 65 and must be below critical_percentage, which is 65"},
		{"warning tokens alone", func(c *Config) { c.ContextMonitor.WarningTokens = 5 }, ""},
		{"of the threshold", func(c *Config) {
			c.ContextMonitor.WarningOfThreshold = -1
			c.ContextMonitor.CriticalOfThreshold = 101
		},
			"context_monitor.warning_of_threshold must be at least 0, not -1; context_monitor.critical_of_threshold must be at most 100, not 101"},
		{"warning at critical of the threshold", func(c *Config) { c.ContextMonitor.WarningOfThreshold = 78 },
			"context_monitor.warning_of_threshold is 78 and must be below critical_of_threshold, which is 78"},
		{"no notice by the threshold", func(c *Config) {
			c.ContextMonitor.WarningOfThreshold = 0
			c.ContextMonitor.CriticalOfThreshold = 0
		}, ""},
		{"warning tokens above critical", func(c *Config) {
			c.ContextMonitor.WarningTokens = 9
			c.ContextMonitor.CriticalTokens = 5
		},
			"context_monitor.warning_tokens is 9 and must be below critical_tokens, which is 5"},
		{"ratios", func(c *Config) {
			c.ContextMonitor.EarlyWarnRatio = -0.1
			c.Guard.OverflowThreshold = 1.1
		},
			"context_monitor.early_warn_ratio must be from 0 to 1, not -0.1; guard.overflow_threshold must be above 0 and at most 1, not 1.1"},
		{"counts", func(c *Config) {
			c.Queue.PerAgent = 0
			c.Handoff.BreakerCount = 0
		},
			"queue.per_agent must be at least 1, not 0; handoff.breaker_count must be at least 1, not 0"},
		{"no restarts", func(c *Config) { c.Supervise.Restarts = 0 }, ""},
		{"durations", func(c *Config) {
			c.Metrics.SessionTTL = 0
			c.Reminders.CompactionWait = -time.Second
			c.Queue.TTL = 20 * 365 * 24 * time.Hour
		}, "metrics.session_ttl must be longer than 0; reminders.compaction_wait must not be negative, as -1s is; " +
			"queue.ttl must be at most ten years, not 175200h"},
		{"soft after hard", func(c *Config) {
			c.Reminders.Soft = time.Hour
			c.Reminders.Hard = time.Minute
		},
			"reminders.soft is 1h and must be below hard, which is 1m"},
		{"log", func(c *Config) { c.Log = logConfig{"trace", "xml"} },
			`log.level must be debug, info, warn or error, not "trace"; log.format must be text or json, not "xml"`},
		{"template with any name", func(c *Config) { c.Messages.Warning = "{{if .A}}{{thousands .B}}{{end}}" }, ""},
		{"template", func(c *Config) { c.Messages.Warning = "a\n{{if}}" },
			"messages.warning is not a template (2: missing value for if); correct what stands in {{ }}"},
		{"long template", func(c *Config) { c.Messages.Resume = strings.Repeat("x", 4097) },
			"messages.resume is 4097 bytes long; use at most 4096"},
		{"tools and programs", func(c *Config) {
			c.Guard.Allow = []string{" "}
			c.Operator.Notify = []string{""}
		},
			`guard.allow[0] is empty; give the name of a tool; operator.notify[0] must be a program or its argument, not ""`},
		{"very many", func(c *Config) { c.HTTP.AllowedUIDs = []int{-1, -1, -1, -1, -1, -1, -1} },
			strings.Join([]string{
				"http.allowed_uids[0] must be a user id of 0 or more, not -1", "http.allowed_uids[1] must be a user id of 0 or more, not -1",
				"http.allowed_uids[2] must be a user id of 0 or more, not -1", "http.allowed_uids[3] must be a user id of 0 or more, not -1",
				"http.allowed_uids[4] must be a user id of 0 or more, not -1", "and 2 more to correct",
			}, "; ")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			tt.edit(c)
			got := ""
			if err := c.check(nil); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
			map[string]string{"XDG_STATE_HOME": "s", "XDG_RUNTIME_DIR": "r", "CLAUDE_CONFIG_DIR": " , "},
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
			State: "/home/u/s", Sockets: []string{run + "/sm/sm.sock", "/home/u/s/run/sm.sock"},
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
			got.State, err = c.StateDir(env)
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
	tests := []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"0", 0, true}, {"0s", 0, true}, {"90", 90 * time.Second, true}, {"0.5", 500 * time.Millisecond, true},
		{"3m", 3 * time.Minute, true}, {"1h30m", 90 * time.Minute, true}, {"-1", -time.Second, true},
		{"", 0, false}, {"-", 0, false}, {".", 0, false}, {"1d", 0, false}, {"inf", 0, false}, {"nan", 0, false},
		{"0x10", 0, false}, {"1e3", 0, false}, {"9999999999", 0, false}, {"9999999999h", 0, false}, {"3 m", 0, false},
	}
	for _, tt := range tests {
		got, err := ParseDuration(tt.text)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v, ok %v", tt.text, got, err, tt.want, tt.ok)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"listen", "log", "log.level", "context_monitor.enabled", "guard.enabled", "guard.allow"}
	for unknown, want := range map[string]string{
		"lisen": "listen 1", "log.lveel": "log.level 1", "LISTEN": "listen 1", "level": "log.level 1", "guard.enable": "guard.enabled 1",
		"allow": "guard.allow 1", "log.level": "log.level 0", "": "log 3", strings.Repeat("log", 1000): "log.level 59",
	} {
		got, distance := nearest(unknown, known)
		if line := fmt.Sprint(got, " ", distance); line != want {
			t.Errorf("nearest(%.20q) = %s, want %s", unknown, line, want)
		}
	}
}
