package follow

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"sm/transcript/claude"
)

// TestOverflow tests the loss of events: more writes than the kernel keeps while the loop is
// blocked, alternating between files so that none is merged with the previous one.
func TestOverflow(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Skip(err)
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || limit > 100_000 {
		t.Skipf("the kernel keeps %s events", b)
	}
	r := newRig(t)
	r.o.Check = 0
	r.o.Rescan = 0
	r.level = slog.LevelDebug
	paths := []string{r.path("-p", idA+".jsonl"), r.path("-q", idB+".jsonl")}
	for i, path := range paths {
		r.append(path, reply(i, 100))
	}
	r.launch()
	// After the files the loop reports that it has caught up, and waits for a receiver.
	for range paths {
		r.take(<-r.out)
	}
	var files [2]*os.File
	for i, path := range paths {
		if files[i], err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	writes := (limit*5/4 + 4096) / 2 * 2 // with those that the watcher reads ahead
	for n := range writes {
		if _, err := files[n%2].WriteString(reply(10+n, 100)); err != nil {
			t.Fatal(err)
		}
	}
	unwatched := r.path(
		"-r",
		idA,
		"subagents",
		"agent-1.jsonl",
	) // the event of its folder is lost
	r.append(unwatched, reply(1, 5))
	all := func(path string) bool { return r.files[path].Session.Messages == 1+writes/2 }
	r.until("totals after an overflow", func() bool {
		return all(paths[0]) && all(paths[1]) && r.files[unwatched].Session.Messages == 1
	})
	if !r.right() {
		t.Error(r.wrong())
	}
	r.stop()
	if log := strings.Join(r.log.lines(), ""); !strings.Contains(log, "inotify lost events") {
		t.Logf(
			"the queue did not overflow this time:\n%s",
			log,
		) // the kernel merges equal events
	}
}

// TestInotifyLimits tests that the follower continues, only slower, with one log message, if
// the user's watches or instances are used up, at the start or later.
func TestInotifyLimits(t *testing.T) {
	for _, tt := range []struct {
		name, limit string
		n           int
		log         string
	}{
		{"no_watch", "watches", 0, "cannot watch all folders"},
		{"two_watches", "watches", 2, "cannot watch all folders"},
		{"five_watches", "watches", 5, "cannot watch all folders"},
		{"no_instance", "instances", 0, "no inotify"},
		{"one_instance", "instances", 1, ""}, // the follower's; nxadm/tail has to poll
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inNamespace := func(cmd *exec.Cmd) {
				root := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
				groups := []syscall.SysProcIDMap{{
					ContainerID: 0,
					HostID:      os.Getgid(),
					Size:        1,
				}}
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWUSER,
					UidMappings: root,
					GidMappings: groups,
				}
			}
			if !alone(t, 1, inNamespace) {
				return
			}
			if err := os.WriteFile(
				"/proc/sys/user/max_inotify_"+tt.limit,
				fmt.Append(nil, tt.n),
				0,
			); err != nil {
				t.Skip(err)
			}
			r := newRig(t)
			r.o.Rescan = 0 // the default: the search of all folders must not find the new ones
			r.o.Check = 0
			for i, project := range []string{"-p", "-q", "-r"} {
				r.append(r.path(project, idA[:35]+fmt.Sprint(i)+".jsonl"), reply(i, 100))
			}
			r.start()
			r.until("history", r.right)
			for i, project := range []string{"-p", "-q", "-r", "-s"} {
				path := r.path(project, idA[:35]+fmt.Sprint(i)+".jsonl")
				r.append(path, reply(10+i, 100))
				r.append(r.path(project, idA, "subagents", "agent-1.jsonl"), reply(20+i, 100))
				r.until("append, new folder and file in "+project, r.right)
				r.append(path, reply(30+i, 100)+reply(40+i, 100)[:50])
				r.append(path, reply(40+i, 100)[50:])
				r.until("append", r.right)
			}
			noErrors(t, os.RemoveAll(r.path("-q")))
			r.until("a folder removed", r.right)
			r.stop()
			want := 1
			if tt.log == "" {
				want = 0
			}
			if lines := r.log.lines(); len(lines) != want ||
				!strings.Contains(strings.Join(lines, ""), tt.log) {
				t.Errorf("logged:\n%s", strings.Join(lines, ""))
			}
		})
	}
}

// TestNothingLeft tests that all goroutines of a run have ended when Run returns, whatever
// was in progress. It is not parallel, as the other tests have not started yet.
func TestNothingLeft(t *testing.T) {
	for _, poll := range []bool{false, true} {
		before := goleak.IgnoreCurrent()
		r := newRig(t)
		r.o.NoInotify = poll
		r.o.Live = 3
		var paths []string
		for i := range 6 {
			paths = append(paths, r.path("-p", idA[:35]+fmt.Sprint(i)+".jsonl"))
			r.append(paths[i], reply(i, 100))
		}
		r.start()
		for i := range 30 {
			r.append(paths[i%6], reply(100+i, 100))
		}
		r.settle("appends")
		r.write(paths[0], reply(1, 1), os.O_TRUNC)
		noErrors(t, os.Remove(paths[1]))
		for i := range 10 { // pending when it ends
			r.append(paths[2+i%4], reply(200+i, 100))
		}
		r.stop()
		goleak.VerifyNone(t, append(tracker(), before)...)
	}
}

// TestEndsWithoutReceiver tests that a run that ends without a receiver, or before it has started,
// leaves no goroutines either.
func TestEndsWithoutReceiver(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := newRig(t)
	for i := range 50 {
		r.append(r.path("-p", idA[:34]+fmt.Sprint(10+i)+".jsonl"), reply(i, 100))
	}
	r.launch()
	r.take(<-r.out)
	r.cancel()
	<-r.ended
	goleak.VerifyNone(t, append(tracker(), before)...)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	Run(ended, Options{
		Roots:  []Root{{r.root, claude.Format()}},
		Logger: slog.New(slog.DiscardHandler),
	}, nil, r.out)
	goleak.VerifyNone(t, append(tracker(), before)...)
}
