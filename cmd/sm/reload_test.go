package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// configFile is the file that a daemon reads.
func (d *daemon) configFile() string {
	return filepath.Join(
		d.dir,
		".config",
		"sm",
		"config.yaml",
	)
}

// configure replaces the configuration file as editors do: by renaming another one.
func (d *daemon) configure(text string) {
	d.t.Helper()
	fresh := d.configFile() + "~"
	writeFile(d.t, fresh, []byte(text))
	noErrors(d.t, os.Rename(fresh, d.configFile()))
}

// logged waits until the log has this many lines with a text.
func (d *daemon) logged(text string, times int) {
	d.t.Helper()
	d.eventually(text, func() string {
		if n := strings.Count(d.log(1<<20), text); n != times {
			return fmt.Sprintf("%d times, want %d", n, times)
		}
		return ""
	})
}

// hangUp sends SIGHUP.
func (d *daemon) hangUp() {
	d.t.Helper()
	noErrors(d.t, d.cmd.Process.Signal(syscall.SIGHUP))
}

// TestReload tests that a process takes a changed configuration when the file is replaced, by
// SIGHUP and by the route; that a bad one changes nothing; that flags and variables override
// the file; and that settings that need a restart are named.
func TestReload(t *testing.T) {
	t.Parallel()
	const done, failed, level = `msg="configuration reloaded"`, `msg="configuration not reloaded`, "level=DEBUG"
	d := newDaemon(t)
	d.vars = []string{"SM_METRICS_MAX_SESSIONS=3"}
	d.configure("log: {level: info}\n")
	d.start()
	shown := func(want string) {
		t.Helper()
		all := d.series()
		if got := fmt.Sprint(all["sm_config_last_reload_successful"]); got != want {
			t.Errorf("sm_config_last_reload_successful is %s, want %s", got, want)
		}
	}
	shown("1")
	if strings.Contains(d.log(1<<20), level) {
		t.Fatal("the log has debug lines at level info")
	}

	d.configure("log: {level: debug}\n")
	d.logged(done, 1)
	if _, err := d.get("/nowhere"); err == nil {
		t.Fatal("the page has no address")
	}
	if resp, err := d.http.Post(
		"http://localhost/hooks/claude",
		"text/plain",
		nil,
	); err == nil {
		_ = resp.Body.Close()
	}
	if !strings.Contains(d.log(1<<20), level) {
		t.Error("log.level is not applied")
	}

	d.configure("log: {level: debug}\nqueue: {per_agent: many}\n")
	d.logged(failed, 1)
	want := d.configFile() + `: queue.per_agent must be a whole number`
	if !strings.Contains(d.log(1<<20), want) {
		t.Errorf("the log does not contain %q", want)
	}
	shown("0")
	if code := d.post("/-/reload", nil); code != http.StatusUnprocessableEntity {
		t.Errorf("POST /-/reload of a bad file: %d", code)
	}
	d.logged(failed, 2)

	d.configure("listen: ['127.0.0.1:1']\nstate: /elsewhere\nmetrics: {listen: '127.0.0.1:2', max_sessions: 1}\nlog: {format: json}\n")
	d.logged(done, 2)
	d.logged(
		`level=WARN msg="changed keys that need a restart" keys=log.format,metrics.listen`,
		1,
	) // flags set the others
	shown("1")
	d.hangUp()
	d.logged(done, 3)
	if code := d.post("/-/reload", nil); code != http.StatusOK {
		t.Errorf("POST /-/reload: %d", code)
	}
	d.logged(done, 4)

	noErrors(t, os.Remove(d.configFile()))
	if code := d.post("/-/reload", nil); code != http.StatusUnprocessableEntity {
		t.Errorf("POST /-/reload without the file: %d", code)
	}
	if code := d.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestConfigWatcher tests that simultaneous events cause one reload, that events without a
// change of the text cause none, and that a removed file is waited for.
func TestConfigWatcher(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sm.yaml")
	write := func(text string) {
		t.Helper()
		noErrors(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("# one\n")
	synctest.Test(t, func(t *testing.T) {
		hangups := make(chan os.Signal)
		var reloads atomic.Int32
		w := &configWatcher{path: path, hangups: hangups, gone: func() bool { return false }}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_ = w.run(ctx, func(context.Context) error { reloads.Add(1); return nil })
		}()
		settle := func(what string, want int32) {
			t.Helper()
			<-time.After(3*configPause + configPause/8) // by the bubble's clock, and not at a look
			synctest.Wait()
			if got := reloads.Load(); got != want {
				t.Errorf("%s: %d reloads, want %d", what, got, want)
			}
		}
		settle("unchanged", 0)
		for n := range 10 {
			write(fmt.Sprint("# two ", n, "\n"))
			<-time.After(configPause / 2)
		}
		synctest.Wait()
		if reloads.Load() != 0 {
			t.Error("reloaded before a change")
		}
		settle("written in steps", 1)
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
		settle("gone", 1)
		write("# three\n")
		settle("there again", 2)
		hangups <- syscall.SIGHUP
		settle("asked for", 3)
		cancel()
	})
}
