package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// observer is an `sm observe` under test.
type observer struct {
	cmd    *exec.Cmd
	client *http.Client
	socket string
	log    bytes.Buffer
	took   time.Duration // from its start until it was ready
}

// observe starts an observer of dir/projects with its state in dir, and waits
// until it is ready.
func (b *bench) observe(ctx context.Context, dir string) (*observer, error) {
	run, err := os.MkdirTemp("", "smb") // short: the path of a socket has about 100 bytes
	if err != nil {
		return nil, err
	}

	socket := filepath.Join(run, "s", "sm.sock")
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	o := &observer{
		socket: socket,
		client: &http.Client{
			Transport: &http.Transport{DisableCompression: true, DialContext: dial},
		},
	}
	o.cmd = exec.CommandContext(ctx, b.sm, "observe", "--projects", filepath.Join(
		dir,
		"projects",
	),
		"--state", filepath.Join(dir, "state"), "--socket", socket)
	o.cmd.Env = append(os.Environ(), "SM_LISTEN=[]")
	o.cmd.Stderr = &o.log

	start := time.Now()
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	err = o.until(ctx, "/-/ready", func(string) bool { return true })
	o.took = time.Since(start)
	return o, err
}

// until asks for a path until its body satisfies holds.
func (o *observer) until(
	ctx context.Context,
	path string,
	holds func(body string) bool,
) error {
	deadline := time.Now().Add(5 * time.Minute)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		if body, err := o.get(path); err == nil && holds(body) {
			return nil
		}
		wait(ctx, 200*time.Microsecond)
	}
	return fmt.Errorf("%s: not as expected after five minutes: %s", path, o.log.String())
}

func (o *observer) get(path string) (string, error) {
	resp, err := o.client.Get("http://localhost" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()

	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

func (o *observer) stop() error {
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := o.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, o.log.String())
	}
	return os.RemoveAll(filepath.Dir(filepath.Dir(o.socket)))
}

// cpu returns the CPU time that the process has used so far.
func (o *observer) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // USER_HZ is 100 everywhere
}

// rss returns the resident set in MB.
func (o *observer) rss() float64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", o.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return float64(pages*os.Getpagesize()) / 1e6
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
