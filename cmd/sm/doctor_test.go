package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/cmd/sm/internal/config"
	"sm/deploy/doctor"
)

// clinic is a home with an installation and without an observer.
type clinic struct {
	*installRig
	cfg *config.Config
	now time.Time
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	c := &clinic{
		installRig: newInstallRig(t),
		cfg:        config.Default(),
		now:        time.Date(2040, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	c.vars["PATH"] = c.home + "/path:/usr/bin:/bin"
	c.write(c.home+"/path/claude", "#!/bin/sh\necho '2.1.197 (Claude Code)'\n", 0o700)
	c.write(c.home+"/path/tmux", "#!/bin/sh\necho 'tmux 3.5a'\n", 0o700)
	c.write(c.home+"/proc/sys/fs/inotify/max_user_instances", "128\n", 0o600)
	c.write(c.home+"/proc/sys/fs/inotify/max_user_watches", "65536\n", 0o600)
	c.want(outcome{Out: installedLine}, "install")
	return c
}

// A finding is a doctor.Finding for tables without field names.
type finding struct {
	Check  string
	Status doctor.Status
	Text   string
	Remedy string
}

const healthy, noted, broken = doctor.Healthy, doctor.Noted, doctor.Broken

// TestDoctorAlertmanagers tests that only failing Alertmanagers are named.
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
	want := []finding{{
		"alertmanager",
		broken,
		web.URL + "/away/api/v2/alerts: it answers 302 Found",
		"see alertmanager.urls and alertmanager.http_config_file",
	}}
	if diff := cmp.Diff(want, c.findings("alertmanager")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// managed returns the administrator's settings file.
func (c *clinic) managed() string { return c.home + "/etc/managed-settings.json" }

// findings returns the findings of some checks.
func (c *clinic) findings(checks ...string) []finding {
	c.t.Helper()
	env := testEnv(c.vars)
	env.dir = c.home
	env.Executable = func() (string, error) { return c.program, nil }
	o, err := doctorOptions(c.cfg, env)
	noErrors(c.t, err)
	o.Now = c.now
	o.Managed = c.managed()
	o.Proc = c.home + "/proc"
	var all []finding
	for _, f := range doctor.Examine(c.t.Context(), o) {
		f := finding{f.Check, f.Status, f.Text, f.Remedy}
		if slices.Contains(checks, f.Check) {
			f.Text = strings.ReplaceAll(
				strings.ReplaceAll(f.Text, c.home, "~"),
				fmt.Sprint("process ", os.Getpid()),
				"process PID",
			)
			all = append(all, f)
		}
		if (f.Status == healthy) != (f.Remedy == "") {
			c.t.Errorf("remedy missing or superfluous: %+v", f)
		}
	}
	return all
}

func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		harm  func(c *clinic)
		check string
		want  []finding
	}{
		{"an old client that runs", func(c *clinic) {
			c.registers(
				"7",
				"2.1.100",
				os.Getpid(),
			)
		}, "client", []finding{
			{"client", healthy, "2.1.197, by ~/path/claude", ""},
			{
				"client",
				broken,
				"2.1.100, which runs as process PID: hooks do not work before 2.1.120",
				"end it, and start it anew after claude update",
			},
		}},
		{"managed", func(c *clinic) {
			c.write(
				c.managed(),
				`{"allowManagedHooksOnly": true}`,
				0o600,
			)
		}, "hooks", []finding{
			{
				"hooks",
				broken,
				"allowManagedHooksOnly in ~/etc/managed-settings.json turns all other hooks off",
				"ask who manages this machine to allow other hooks, or to add ours",
			},
			{"hooks", healthy, "installed for 8 events", ""},
		}},
		{
			"few watches", func(c *clinic) {
				c.write(
					c.home+"/proc/sys/fs/inotify/max_user_watches",
					"100",
					0o600,
				)
			}, "inotify",
			[]finding{{
				"inotify",
				noted,
				"128 instances and 100 watches for each user; about 1024 are needed here",
				"run sysctl fs.inotify.max_user_watches=65536",
			}},
		},
		{"a clock that was set back", func(c *clinic) {
			c.now = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)
			c.write(c.home+"/.claude/projects/p/s.jsonl", "", 0o600)
			_ = os.Chtimes(
				c.home+"/.claude/projects/p",
				time.Time{},
				time.Date(2026, 6, 1, 0, 0, 0, 0, time.Local),
			)
		}, "clock", []finding{{
			"clock", broken, "~/.claude/projects/p was written at 2026-06-01 00:00:00, which is in the future",
			"set the clock, or touch that directory if the clock was wrong before; timedatectl shows what sets it",
		}}},
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
