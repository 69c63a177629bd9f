package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"sm/deploy/install"
	"sm/handoff/proc"
)

// client checks the client in the PATH and the running ones.
func (d *doctor) client(ctx context.Context) {
	claude := install.Claude()
	var clients []install.Installed
	switch c, err := claude.InPath(ctx, d.Path, d.Environ); {
	case err != nil:
		d.note("client", "run claude --version", "%v", err)
	case c.Version != "":
		clients = append(clients, c)
	}
	for _, dir := range d.Projects { // the check clock reports missing ones
		clients = append(clients, install.RunningClients(filepath.Dir(dir))...)
	}
	if len(clients) == 0 {
		d.note("client", "install it, or put claude into the PATH",
			"no claude in the PATH, and none is running")
	}
	for i, c := range clients {
		d.memoryOf(c)
		if !claude.TooOld(c.Version) {
			if i == 0 {
				d.ok("client", "%s", c)
			}
			continue
		}
		remedy := "run claude update"
		if c.PID != 0 {
			remedy = "end it, and start it anew after claude update"
		}
		d.broken("client", remedy, "%s: hooks do not work before %s", c, claude.Oldest)
	}
}

func (d *doctor) tmux(ctx context.Context) {
	path := proc.LookPath(d.Path, "tmux")
	if path == "" {
		d.note("tmux", "install tmux and start agents in it",
			"not in the PATH; idle agents get no messages, and contexts cannot be cleared")
		return
	}
	version, _ := install.Ask(ctx, install.ProgramPatience, d.Environ, path, "-V")
	if version != "" {
		d.ok("tmux", "%s", version)
	} else {
		d.note("tmux", "run tmux -V and see what it prints", "%s prints no version", path)
	}
}

// inotify checks how many files a user can watch.
func (d *doctor) inotify() {
	const fewInstances = 16
	const spareWatches = 1024
	instances, err := d.limit("max_user_instances")
	watches, err2 := d.limit("max_user_watches")
	if errors.Is(err, fs.ErrNotExist) {
		d.ok("inotify", "not on this system; files are checked once a second")
		return
	}
	if err := errors.Join(err, err2); err != nil {
		d.note("inotify", "see inotify(7)", "its limits cannot be read: %v", err)
		return
	}
	need := spareWatches
	for _, dir := range d.Projects {
		entries, _ := os.ReadDir(dir)
		need += 2 * len(entries) // the sessions of a project have subagents in folders below
	}
	const limits = "%d instances and %d watches for each user"
	switch {
	case instances < fewInstances:
		d.note("inotify", "run sysctl fs.inotify.max_user_instances=128",
			limits+"; without a free one, files are checked once a second", instances, watches)
	case watches < need:
		d.note("inotify", fmt.Sprintf("run sysctl fs.inotify.max_user_watches=%d",
			max(2*need, 65536)),
			limits+"; about %d are needed here", instances, watches, need)
	default:
		d.ok("inotify", limits, instances, watches)
	}
}

func (d *doctor) limit(name string) (n int, err error) {
	text, err := os.ReadFile(filepath.Join(d.Proc, "sys/fs/inotify", name))
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &n)
	return n, err
}

// clockSlack is the largest difference of clocks that is not reported.
const clockSlack = 2 * time.Minute

// clock compares the clock with the times of files.
func (d *doctor) clock() {
	if d.ProjectsErr != nil {
		d.note("clock", "set HOME to an absolute path",
			"no transcripts to compare the clock with: %v", d.ProjectsErr)
		return
	}
	var newest time.Time
	var where string
	for _, dir := range d.Projects {
		entries, _ := os.ReadDir(dir) // a missing directory has no times
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && info.ModTime().After(newest) {
				newest = info.ModTime()
				where = filepath.Join(dir, e.Name())
			}
		}
	}
	switch {
	case d.Now.Year() < 2025:
		d.broken("clock", "set the clock; timedatectl shows what sets it", "it shows %s",
			d.Now.Format(time.DateTime))
	case newest.Sub(d.Now) > clockSlack:
		d.broken("clock", "set the clock, or touch that directory if the clock was wrong before; timedatectl shows what sets it",
			"%s was written at %s, which is in the future", where, newest.Format(time.DateTime))
	default:
		d.ok("clock", "%s", d.Now.Format(time.RFC3339))
	}
}

// memoryLimit is a variable that Go's runtime reads before a program starts. An
// invalid value ends the program with exit code 2, which a client treats as a
// refusal. A Go program cannot prevent that.
const memoryLimit = "GOMEMLIMIT"

// memoryOf checks the variables that a running client was started with.
func (d *doctor) memoryOf(c install.Installed) {
	vars, _ := proc.Read(d.Proc, c.PID, "environ") // fails for the process of another user
	for v := range bytes.SplitSeq(vars, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(memoryLimit+"=")); ok {
			d.memory(string(value), c.String())
		}
	}
}

func (d *doctor) memory(value, where string) {
	if value != "" && value != "off" && !isMemory(value) {
		d.broken("hooks", "write it as 4GiB, or leave it out, and start the client anew",
			"%s=%s of %s ends every hook at its start, and the client takes that for a refusal", memoryLimit, value, where)
	}
}

// isMemory reports whether Go accepts a size: a number of bytes that an int64 holds,
// with or without a unit.
func isMemory(value string) bool {
	size := regexp.MustCompile(`^([0-9]+)(B|[KMGT]iB)?$`).FindStringSubmatch(value)
	if size == nil {
		return false
	}
	n, err := strconv.ParseInt(size[1], 10, 64)
	shift := map[string]int{"KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[size[2]]
	return err == nil && n <= math.MaxInt64>>shift
}
