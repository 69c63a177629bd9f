package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/cmd/sm/internal/config"
	"sm/deploy/doctor"
)

// clinic is a home for a doctor to look at, in which all is well but for the observer.
type clinic struct {
	*installRig
	cfg     *config.Config
	dir     string   // the working directory
	sockets []string // nil for the usual ones
	now     time.Time
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{installRig: newInstallRig(t), cfg: config.Default(), now: time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC)}
	c.dir = c.home
	c.vars["PATH"] = c.home + "/path:/usr/bin:/bin"
	c.write(c.home+"/path/claude", "#!/bin/sh\necho '2.1.197 (Claude Code)'\n", 0o700)
	c.write(c.home+"/path/tmux", "#!/bin/sh\necho 'tmux 3.5a'\n", 0o700)
	c.write(c.home+"/proc/sys/fs/inotify/max_user_instances", "128\n", 0o600)
	c.write(c.home+"/proc/sys/fs/inotify/max_user_watches", "65536\n", 0o600)
	c.want(outcome{Out: installedLine}, "install")
	return c
}

// A finding is a doctor.Finding, in a form that tables may write without the names of its fields.
type finding struct {
	Check  string
	Status doctor.Status
	Text   string
	Remedy string
}

const healthy, noted, broken = doctor.Healthy, doctor.Noted, doctor.Broken

// TestDoctorAlertmanagers: those that give no alerts are named; the others are not.
func TestDoctorAlertmanagers(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/away") {
			w.WriteHeader(http.StatusFound)
		}
		_, _ = io.WriteString(w, "[]")
	}))
	t.Cleanup(web.Close)
	c := newClinic(t)
	c.cfg.Alertmanager.URLs = []string{web.URL, web.URL + "/away"}
	want := []finding{{"alertmanager", broken, web.URL + "/away/api/v2/alerts: it answers 302 Found", "see alertmanager.urls and alertmanager.http_config_file"}}
	if diff := cmp.Diff(want, c.findings("alertmanager")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// managed is the administrator's settings file.
func (c *clinic) managed() string { return c.home + "/etc/managed-settings.json" }

// findings are those of some checks, or of all that are not ok.
func (c *clinic) findings(checks ...string) []finding {
	c.t.Helper()
	env := testEnv(c.vars)
	env.dir, env.Executable = c.dir, func() (string, error) { return c.program, nil }
	o, err := doctorOptions(c.cfg, env)
	if err != nil {
		c.t.Fatal(err)
	}
	o.Now, o.Managed, o.Proc = c.now, c.managed(), c.home+"/proc"
	if c.sockets != nil {
		o.Sockets = c.sockets
	}
	var all []finding
	for _, f := range doctor.Examine(c.t.Context(), o) {
		f := finding(f)
		if slices.Contains(checks, f.Check) || len(checks) == 0 && f.Status != healthy {
			f.Text = strings.ReplaceAll(strings.ReplaceAll(f.Text, c.home, "~"), fmt.Sprint("process ", os.Getpid()), "process PID")
			all = append(all, f)
		}
		if (f.Status == healthy) != (f.Remedy == "") {
			c.t.Errorf("what is to be done? %+v", f)
		}
	}
	return all
}

func noObserver() finding {
	return finding{"observer", broken, "nothing answers at ~/.local/state/sm/run/sm.sock", "start sm observe, or look at the end of its log"}
}

func TestDoctorOfTheHealthy(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	if diff := cmp.Diff([]finding{noObserver()}, c.findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []finding{
		{"client", healthy, "2.1.197, by ~/path/claude", ""}, {"settings", healthy, "~/.claude/settings.json", ""},
		{"guard", healthy, "off", ""}, {"hooks", healthy, "installed for 8 events", ""},
		{"status line", healthy, "ours", ""}, {"tmux", healthy, "tmux 3.5a", ""},
		{"inotify", healthy, "128 instances and 65536 watches for each user", ""}, {"clock", healthy, "2040-01-02T03:04:05Z", ""},
	}
	if diff := cmp.Diff(want, c.findings("client", "settings", "guard", "hooks", "status line", "tmux", "inotify", "clock")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	const user = "/.claude/settings.json"
	for _, tt := range []struct {
		name  string
		harm  func(c *clinic)
		check string
		want  []finding
	}{
		{"an old client", func(c *clinic) { c.write(c.home+"/path/claude", "#!/bin/sh\necho 2.1.100\n", 0o700) }, "client",
			[]finding{{"client", broken, "2.1.100, by ~/path/claude: hooks do not work before 2.1.120", "run claude update"}}},
		{"no client", func(c *clinic) { c.vars["PATH"] = "" }, "client",
			[]finding{{"client", noted, "no claude in the PATH, none is running, and none has left a transcript", "install it, or put claude into the PATH"}}},
		{"a client that runs", func(c *clinic) {
			c.vars["PATH"] = ""
			c.registers("7", "2.1.328", os.Getpid())
			c.registers("6", "2.1.197", os.Getpid())
			c.registers("5", "2.1.100", deadPID) // left behind
			c.write(c.home+"/.claude/sessions/8.json", `{"version":7`, 0o600)
		}, "client", []finding{{"client", healthy, "2.1.197, which runs as process PID", ""}}},
		{"an old client that runs", func(c *clinic) { c.registers("7", "2.1.100", os.Getpid()) }, "client", []finding{
			{"client", healthy, "2.1.197, by ~/path/claude", ""},
			{"client", broken, "2.1.100, which runs as process PID: hooks do not work before 2.1.120", "end it, and start it anew after claude update"}}},
		{"a client with transcripts and nothing else", func(c *clinic) {
			c.vars["PATH"] = ""
			c.write(c.home+"/.claude/projects/p/s.jsonl", `{"type":"user","version":"2.1.150","message":{"content":"x"}}`+"\n", 0o600)
		}, "client", []finding{{"client", healthy, "2.1.150, by ~/.claude/projects/p/s.jsonl", ""}}},
		{"hooks without a shell for a client that needs one", func(c *clinic) { c.client("2.1.130") }, "hooks", []finding{
			{"hooks", healthy, "installed for 8 events", ""},
			{"hooks", broken, "they need client 2.1.139 or later, and one is 2.1.130, by ~/path/claude", "run sm install"}}},
		{"hooks for such a client", func(c *clinic) {
			c.client("2.1.130")
			c.run("install")
		}, "hooks", []finding{{"hooks", healthy, "installed for 8 events", ""}}},
		{"the program of such hooks is gone", func(c *clinic) {
			c.client("2.1.130")
			c.run("install")
			_ = os.Remove(c.home + "/bin/sm")
		}, "hooks", []finding{
			{"hooks", healthy, "installed for 8 events", ""},
			{"hooks", broken, "they call ~/bin/sm, which does not exist or is not executable", "run sm install with an sm that stays where it is"}}},
		{"broken settings", func(c *clinic) { c.write(c.home+user, "{\n//\n}", 0o600) }, "settings",
			[]finding{{"settings", broken, "line 2: a comment, which JSON does not have; correct the file, it is untouched (~/.claude/settings.json)", "correct the file; the client may ignore all of it"}}},
		{"no settings", func(c *clinic) { _ = os.Remove(c.home + user) }, "hooks",
			[]finding{{"hooks", noted, "not installed in ~/.claude/settings.json; agents are not warned", "run sm install"}}},
		{"read-only settings", func(c *clinic) { _ = os.Chmod(c.home+user, 0o400) }, "settings",
			[]finding{{"settings", noted, "~/.claude/settings.json is read-only; run chmod u+w ~/.claude/settings.json", "make it writable before sm install or sm uninstall"}}},
		{"a hook less", func(c *clinic) {
			c.write(c.home+user, strings.Replace(c.read(c.home+user), `"Stop"`, `"Stopp"`, 1), 0o600)
		}, "hooks",
			[]finding{{"hooks", broken, "~/.claude/settings.json has no hook for Stop", "run sm install"}}},
		{"a guard that is not asked", func(c *clinic) { c.cfg.Guard.Enabled = true }, "guard",
			[]finding{{"guard", broken, "guard.enabled is true, but there is no PreToolUse hook: no tool call is judged", "run sm install --guard, or set guard.enabled to false"}}},
		{"a guard that is off and asked", func(c *clinic) { c.run("install", "--guard") }, "guard",
			[]finding{{"guard", noted, "there are PreToolUse hooks, but guard.enabled is false: they run at each tool call and judge none", "set guard.enabled to true, or run sm install --guard=false"}}},
		{"a guard that is on", func(c *clinic) {
			c.run("install", "--guard")
			c.cfg.Guard.Enabled = true
		}, "guard", []finding{{"guard", healthy, "on", ""}}},
		{"hooks twice", func(c *clinic) {
			c.write(c.home+"/proj/.claude/settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sm hook"}]}]}}`, 0o600)
			c.dir = c.home + "/proj"
		}, "hooks", []finding{{"hooks", noted, "run more than once: Stop", "run sm install, and remove those in the project's settings"}}},
		{"a program that is gone", func(c *clinic) { _ = os.Remove(c.home + "/bin/sm") }, "hooks", []finding{
			{"hooks", healthy, "installed for 8 events", ""},
			{"hooks", broken, "they call ~/bin/sm, which does not exist or is not executable", "run sm install with an sm that stays where it is"}}},
		{"another socket", func(c *clinic) { c.sockets = []string{"/elsewhere"} }, "hooks", []finding{
			{"hooks", healthy, "installed for 8 events", ""},
			{"hooks", broken, "they look for the observer at ~/.local/state/sm/run/sm.sock, and its socket is /elsewhere", "run sm install again"}}},
		{"hooks turned off", func(c *clinic) {
			c.write(c.home+user, strings.Replace(c.read(c.home+user), "{", `{"disableAllHooks": true,`, 1), 0o600)
		}, "hooks", []finding{
			{"hooks", broken, "disableAllHooks in ~/.claude/settings.json turns hooks and status line off", "remove disableAllHooks there"},
			{"hooks", healthy, "installed for 8 events", ""}}},
		{"turned off and on again", func(c *clinic) {
			c.write(c.home+user, strings.Replace(c.read(c.home+user), "{", `{"disableAllHooks": true,`, 1), 0o600)
			c.write(c.home+"/proj/.claude/settings.local.json", `{"disableAllHooks": false}`, 0o600)
			c.dir = c.home + "/proj"
		}, "hooks", []finding{{"hooks", healthy, "installed for 8 events", ""}}},
		{"managed", func(c *clinic) { c.write(c.managed(), `{"allowManagedHooksOnly": true}`, 0o600) }, "hooks", []finding{
			{"hooks", broken, "allowManagedHooksOnly in ~/etc/managed-settings.json turns all other hooks off", "ask who manages this machine to allow other hooks, or to add ours"},
			{"hooks", healthy, "installed for 8 events", ""}}},
		{"a status line that hides ours", func(c *clinic) {
			c.write(c.home+"/proj/.claude/settings.json", `{"statusLine":{"type":"command","command":"x y"}}`, 0o600)
			c.dir = c.home + "/proj"
		}, "status line", []finding{{"status line", noted, `"x y" in ~/proj/.claude/settings.json hides ours`, "remove it there, or put sm statusline -- before its command"}}},
		{"another status line", func(c *clinic) { c.write(c.home+user, `{"statusLine":{"type":"command","command":"x"}}`, 0o600) }, "status line",
			[]finding{{"status line", noted, `"x" is not ours`, "run sm install, which keeps it and adds to it"}}},
		{"a wrapped status line", func(c *clinic) {
			c.write(c.home+user, `{"statusLine":{"type":"command","command":"sm statusline -- x"}}`, 0o600)
		}, "status line", []finding{{"status line", healthy, `ours, with "x" in it`, ""}}},
		{"no status line", func(c *clinic) { c.write(c.home+user, `{}`, 0o600) }, "status line",
			[]finding{{"status line", noted, "none; contexts are known from transcripts alone", "run sm install"}}},
		{"no tmux", func(c *clinic) { c.vars["PATH"] = "" }, "tmux",
			[]finding{{"tmux", noted, "not in the PATH; idle agents get no messages, and contexts cannot be cleared", "install tmux and start agents in it"}}},
		{"a broken tmux", func(c *clinic) { c.write(c.home+"/path/tmux", "#!/bin/sh\nexit 1\n", 0o700) }, "tmux",
			[]finding{{"tmux", noted, "~/path/tmux prints no version", "run tmux -V and see what it prints"}}},
		{"few watches", func(c *clinic) { c.write(c.home+"/proc/sys/fs/inotify/max_user_watches", "100", 0o600) }, "inotify",
			[]finding{{"inotify", noted, "128 instances and 100 watches for each user; about 1024 are needed here", "run sysctl fs.inotify.max_user_watches=65536"}}},
		{"few instances", func(c *clinic) { c.write(c.home+"/proc/sys/fs/inotify/max_user_instances", "4", 0o600) }, "inotify",
			[]finding{{"inotify", noted, "4 instances and 65536 watches for each user; without a free one, files are checked once a second", "run sysctl fs.inotify.max_user_instances=128"}}},
		{"no inotify", func(c *clinic) { _ = os.RemoveAll(c.home + "/proc") }, "inotify",
			[]finding{{"inotify", healthy, "not on this system; files are checked once a second", ""}}},
		{"a clock that was set back", func(c *clinic) {
			c.now = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
			c.write(c.home+"/.claude/projects/p/s.jsonl", "", 0o600)
			_ = os.Chtimes(c.home+"/.claude/projects/p", time.Time{}, time.Date(2026, 6, 1, 0, 0, 0, 0, time.Local))
		}, "clock", []finding{{"clock", broken, "~/.claude/projects/p was written at 2026-06-01 00:00:00, which is in the future",
			"set the clock, or touch that directory if the clock was wrong before; timedatectl shows what sets it"}}},
		{"a clock without a battery", func(c *clinic) { c.now = time.Date(1970, 1, 1, 0, 0, 9, 0, time.UTC) }, "clock",
			[]finding{{"clock", broken, "it shows 1970-01-01 00:00:09", "set the clock; timedatectl shows what sets it"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			tt.harm(c)
			got := c.findings(tt.check)
			for i := range got {
				got[i].Remedy = strings.ReplaceAll(got[i].Remedy, c.home, "~")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDoctorReport(t *testing.T) {
	t.Parallel()
	env := testEnv(nil)
	if err := env.printer().WriteFindings([]doctor.Finding{{Check: "client", Status: healthy, Text: "2.1.197"}, {Check: "tmux", Status: broken, Text: "a\x1b[2J\nb", Remedy: "install it"}}); err != nil {
		t.Fatal(err)
	}
	want := "        CHECK   FINDING\nok      client  2.1.197\nbroken  tmux    a?[2J b\n                → install it\n"
	if diff := cmp.Diff(want, env.Stdout.(*bytes.Buffer).String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	env = testEnv(map[string]string{"HOME": t.TempDir(), "PATH": ""})
	env.Executable = os.Executable
	code := env.execute(t.Context(), []string{"doctor", "--json"})
	var got struct{ Findings []finding }
	if err := json.Unmarshal(env.Stdout.(*bytes.Buffer).Bytes(), &got); err != nil || code != exitFailed || len(got.Findings) == 0 || got.Findings[0].Check != "client" {
		t.Errorf("code %d, error %v, %+v", code, err, got)
	}
}

// TestDoctorOfThePlugin: a plugin has the hooks, or both have them, or nobody can tell.
func TestDoctorOfThePlugin(t *testing.T) {
	t.Parallel()
	healed := finding{"hooks", healthy, "installed for 8 events, by the plugin session-monitor@sm", ""}
	const copied = "/.claude/plugins/cache/copy/hooks/hooks.json"
	for _, tt := range []struct {
		name string
		harm func(c *clinic)
		want []finding
	}{
		{"healthy", func(*clinic) {}, []finding{healed}},
		{"both", func(c *clinic) {
			c.write(c.home+"/proj/.claude/settings.json", `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sm hook"}]}]}}`, 0o600)
			c.dir = c.home + "/proj"
		}, []finding{{"hooks", noted, "run more than once: Stop", "run sm install --plugin, and remove those in the project's settings"}}},
		{"a copy that is gone", func(c *clinic) { _ = os.Remove(c.home + copied) }, []finding{
			{"hooks", broken, "the plugin session-monitor@sm is enabled, and its hooks cannot be read: open ~" + copied + ": no such file or directory", "run sm uninstall and sm install --plugin"}}},
		{"a copy that is broken", func(c *clinic) { c.write(c.home+copied, "{", 0o600) }, []finding{
			{"hooks", broken, "the plugin session-monitor@sm is enabled, and its hooks cannot be read: line 1: unexpected end of JSON input", "run sm uninstall and sm install --plugin"}}},
		{"an older copy", func(c *clinic) {
			c.write(c.home+copied, strings.Replace(c.read(c.home+copied), `"Stop"`, `"Stopp"`, 1), 0o600)
		}, []finding{{"hooks", broken, "~" + copied + " has no hook for Stop", "run sm install --plugin"}}},
		{"switched off", func(c *clinic) {
			c.write(c.home+"/.claude/settings.json", strings.Replace(c.read(c.home+"/.claude/settings.json"), `"session-monitor@sm": true`, `"session-monitor@sm": false`, 1), 0o600)
		}, []finding{{"hooks", noted, "not installed in ~/.claude/settings.json; agents are not warned", "run sm install"}}},
		{"switched off in the project", func(c *clinic) {
			c.write(c.home+"/proj/.claude/settings.local.json", `{"enabledPlugins":{"session-monitor@sm":false}}`, 0o600)
			c.dir = c.home + "/proj"
		}, []finding{{"hooks", noted, "not installed in ~/.claude/settings.json; agents are not warned", "run sm install"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newClinic(t)
			client, err := exec.LookPath(pluginClientName)
			if err != nil {
				t.Fatal(err)
			}
			c.write(c.home+"/path/claude", "#!/bin/sh\ncase $1 in --version) echo '2.1.197 (Claude Code)';; *) exec '"+client+"' \"$@\";; esac\n", 0o700)
			if got := c.run("install", "--plugin"); got.Code != 0 {
				t.Fatalf("%+v", got)
			}
			tt.harm(c)
			if diff := cmp.Diff(tt.want, c.findings("hooks")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
