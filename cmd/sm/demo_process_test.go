package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sm/cmd/sm/internal/config"
	"sm/observer/api"
)

// TestDemoBesideAnObserver: a demo uses nothing that the observer beside it has or is configured to have, is marked as a
// demo, and leaves nothing.
func TestDemoBesideAnObserver(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"SM_SOCKET", "the configuration"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			beside := newDaemon(t)
			beside.start()
			demo := newDemo(t, beside, where == "SM_SOCKET")
			path := ""
			demo.eventually("a socket of its own", func() string {
				found, err := filepath.Glob(filepath.Join(demo.dir, "tmp", "sm-demo-*", config.SocketName))
				if err != nil || len(found) == 0 {
					return "none"
				}
				path = found[0]
				return ""
			})
			client := api.NewClient([]string{path})
			demo.eventually("agents", func() string {
				all, err := client.Sessions(t.Context())
				if err == nil && (len(all.Sessions) == 0 || !all.Demo) {
					err = fmt.Errorf("%d agents, demo %v", len(all.Sessions), all.Demo)
				}
				return message(err)
			})
			if all, err := beside.api.Sessions(t.Context()); err != nil || len(all.Sessions) != 0 || all.Demo {
				t.Errorf("the observer beside it: %+v, %v", all, err)
			}
			if code := demo.end(syscall.SIGTERM); code != 0 {
				t.Errorf("it ends with %d", code)
			}
			if left, err := filepath.Glob(filepath.Join(demo.dir, "tmp", "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
			for _, kept := range []string{"state", ".local"} {
				if _, err := os.Lstat(filepath.Join(demo.dir, kept)); err == nil {
					t.Errorf("it has made %s", kept)
				}
			}
			if _, err := beside.get("/-/healthy"); err != nil {
				t.Errorf("the observer beside it: %v", err)
			}
		})
	}
}

// newDemo starts a demo that is configured like the observer beside, but for ports that are taken, a listener for elsewhere
// and files that are not there.
func newDemo(t *testing.T, beside *daemon, bySocketVariable bool) *daemon {
	var taken [2]net.Addr
	for i := range taken {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		taken[i] = l.Addr()
	}
	d := newDaemon(t)
	text := fmt.Sprintf("listen: [%q]\nmetrics: {listen: %q, web_config_file: %q}\nhttp: {webhook_token_file: %q}\n",
		taken[0], taken[1], filepath.Join(d.dir, "web.yml"), filepath.Join(d.dir, "token"))
	vars := []string{quickRace, "PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "TMPDIR=" + filepath.Join(d.dir, "tmp")}
	if bySocketVariable {
		vars = append(vars, "SM_SOCKET="+beside.socket())
	} else {
		text += fmt.Sprintf("socket: %q\n", beside.socket())
	}
	config := filepath.Join(d.dir, "config.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	d.cmd = d.command("observe", "--demo", "--config", config)
	d.cmd.Env = vars
	d.cmd.Stderr = log
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := d.cmd
	exited := make(chan error, 1)
	d.exited = exited
	go func() { exited <- cmd.Wait() }()
	return d
}
