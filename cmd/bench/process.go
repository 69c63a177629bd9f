package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cost is what one finished process took.
type cost struct {
	cpu  time.Duration
	wall time.Duration
	rss  int64 // bytes
}

// finish runs a command to its end. Its output goes to a file, as a reader would
// keep it: GNU grep stops at the first match when its output is /dev/null.
func finish(ctx context.Context, dir, name string, args ...string) (cost, error) {
	output := filepath.Join(dir, "output")
	if name == "cat" {
		output = os.DevNull // the copy alone, not what it costs to store it
	}
	file, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return cost{}, err
	}
	defer file.Close()
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = file, &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%s: %w: %s", name, err, stderr.String())
	}
	c := cost{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if ru, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.rss = ru.Maxrss * 1024
	}
	return c, nil
}

// median of any ordered figures; the list is sorted.
func median[T int64 | float64 | time.Duration](list []T) T {
	slices.Sort(list)
	return list[len(list)/2]
}

// quantile of a sorted list.
func quantile(list []time.Duration, q float64) time.Duration {
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

// observer is an `sm observe` under test.
type observer struct {
	cmd   *exec.Cmd
	http  *http.Client
	start time.Time
	log   bytes.Buffer
	// socket is where it listens, address too where it has been given one.
	socket, address string
}

// observe starts one; its state stays in state. Without more variables it listens on its
// socket alone.
func (b *bench) observe(ctx context.Context, projects, state string, vars ...string) (*observer, error) {
	run, err := os.MkdirTemp("", "smb") // short: socket paths have about 100 bytes
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(run, "s", "sm.sock")
	o := &observer{start: time.Now(), socket: socket}
	o.cmd = exec.CommandContext(ctx, b.sm, "observe", "--projects", projects, "--state", state, "--socket", socket)
	o.cmd.Env = append(append(os.Environ(), "SM_LISTEN=[]"), vars...)
	o.cmd.Stderr = &o.log
	o.http = &http.Client{Transport: &http.Transport{DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	return o, nil
}

// ready waits until it has caught up, and says how long after its start.
func (o *observer) ready(ctx context.Context) (time.Duration, error) {
	deadline := time.Now().Add(5 * time.Minute)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		if resp, err := o.http.Get("http://localhost/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return time.Since(o.start), nil
			}
		}
		time.Sleep(time.Millisecond)
	}
	return 0, fmt.Errorf("the observer is not ready: %s", o.log.String())
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

// cpu is what the process has used so far.
func (o *observer) cpu() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", o.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 everywhere
}

// memory reads a line of /proc/<pid>/status, VmRSS or VmHWM, in bytes.
func (o *observer) memory(field string) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n * 1024
		}
	}
	return 0
}
