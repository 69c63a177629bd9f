package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// deliveryKills is how often the observer is killed by default while it delivers.
const deliveryKills = 50

// killsOf reads how often to kill from a variable.
func killsOf(t *testing.T, variable string, n int) int {
	t.Helper()
	s := os.Getenv(variable)
	if s == "" {
		if testing.Short() {
			n /= 4
		}
		return n
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// plentiful lifts the limits of the queue, which are not what is tested.
var plentiful = []string{"SM_QUEUE_PER_AGENT=1000000", "SM_QUEUE_PER_SENDER_MINUTE=1000000"}

// traced is an observer that strace kills as it enters the nth call of some thread, of
// the calls by which it stores and answers. It is nil where there is no strace.
func traced(call string, n int) []string {
	return []string{
		"strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=" + call,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), quickName,
	}
}

func canTrace() bool {
	return exec.Command(
		"strace",
		"-D",
		"-f",
		"--seccomp-bpf",
		"-qq",
		"-o",
		"/dev/null",
		"-e",
		"trace=fsync",
		"true",
	).Run() == nil
}

// TestDeliveryKills guards the promise that what was accepted is heard: agents work,
// others send them messages, contexts fill and are compacted, clients lose answers; and
// all the while the observer is killed, at random, right after it has accepted a message,
// right after it has given one away, in its transactions, and by strace as it enters one
// of the calls that store and answer. SM_KILLS_DELIVERY says how often.
func TestDeliveryKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	n := killsOf(t, "SM_KILLS_DELIVERY", deliveryKills)
	d := newDaemon(t)
	d.vars = append(d.vars, plentiful...)
	var calm atomic.Bool
	var clients []*standIn
	var senders []*sender
	for _, agent := range []string{"em", "w1", "w2", "w3"} {
		parent := "em"
		if agent == parent {
			parent = ""
		}
		s := newStandIn(d, agent, parent, 0.15)
		s.calm = calm.Load
		clients = append(clients, s)
	}
	for _, name := range []string{"s1", "s2"} {
		senders = append(senders, newSender(d, name, "em", "w1", "w2", "w3"))
	}
	trace := canTrace()
	d.as = []string{quickName}
	d.start()
	var working, sending sync.WaitGroup
	defer working.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, s := range clients {
		working.Go(func() { s.work(ctx, 8*time.Millisecond) })
	}
	quiet, hush := context.WithCancel(ctx)
	defer hush()
	for _, s := range senders {
		sending.Go(func() { s.work(quiet, 30*time.Millisecond) })
	}

	aims := map[string]int{}
	for i := range n {
		at := killAt(d, i, clients, senders)
		aims[at]++
		switch {
		case at == "strace":
			d.kill() // if it still runs
		case i%16 == 11:
			aims[at]--
			aims["orderly"]++
			if code := d.end(syscall.SIGTERM); code > 0 { // below 0: it had not begun to listen to signals
				t.Fatalf("kill %d: exit code %d", i, code)
			}
		case !d.kill():
			t.Fatalf("kill %d: it had ended by itself", i)
		}
		d.as = []string{quickName}
		if trace && i%8 == 6 && i < n-1 { // the next kill is strace's
			d.as = traced([]string{"pwrite64", "fdatasync", "write", "openat"}[rand.IntN(4)], 1+rand.IntN(25))
		}
		d.launch()
	}
	calm.Store(true)
	d.eventually("ready", func() string {
		_, err := d.get("/-/ready")
		return message(err)
	})
	hush()
	sending.Wait()
	var queue api.Messages
	d.within(time.Duration(100+n)*300*time.Millisecond, "all is heard", func() string { // one at a time, and some need a turn each
		var err error
		if queue, err = d.api.Messages(t.Context(), ""); err != nil {
			return err.Error()
		}
		for _, m := range queue.Messages {
			// A session that began and was cleared while no observer ran has no agent.
			ours := slices.ContainsFunc(clients, func(s *standIn) bool { return s.agent == m.To })
			if ours && (m.Status == "waiting" || m.Status == "offered") {
				return fmt.Sprintf("%+v", m)
			}
		}
		return ""
	})
	stop()
	working.Wait()
	d.eventually("what was said last is confirmed", func() string {
		var err error
		if queue, err = d.api.Messages(t.Context(), ""); err != nil {
			return err.Error()
		}
		for _, m := range queue.Messages {
			if m.Status == "offered" {
				return fmt.Sprintf("%+v", m)
			}
		}
		return ""
	})
	deliveryReport(t, d, aims, clients, senders, queue.Messages)
}

// killAt waits for the moment of the ith kill and returns its name.
func killAt(d *daemon, i int, clients []*standIn, senders []*sender) string {
	timeout := time.After(1500 * time.Millisecond)
	if len(d.as) > 1 {
		select {
		case err := <-d.exited:
			d.exited <- err
		case <-timeout:
		}
		return "strace"
	}
	switch i % 4 {
	case 0:
		select {
		case <-senders[0].accepted:
		case <-senders[1].accepted:
		case <-timeout:
		}
		return "accepted"
	case 1:
		select {
		case <-clients[0].answered:
		case <-clients[1].answered:
		case <-clients[2].answered:
		case <-clients[3].answered:
		case <-timeout:
		}
		return "offered"
	case 2:
		d.stored(timeout)
		<-time.After(rand.N(4 * time.Millisecond))
		return "stored"
	}
	<-time.After(rand.N(200 * time.Millisecond))
	return "random"
}

func deliveryReport(
	t *testing.T,
	d *daemon,
	aims map[string]int,
	clients []*standIn,
	senders []*sender,
	queue []api.Message,
) {
	t.Helper()
	var all []heard
	lost := 0
	hooks := 0
	clears := 0
	compactions := 0
	for _, s := range clients {
		all = append(all, s.heard...)
		lost += s.lost
		hooks += s.hooks
		clears += s.clears
		if s.parent != "" {
			compactions += len(s.compacted)
			old := 0
			told := 0
			for _, c := range s.compacted {
				if c.cleared {
					old++
				}
			}
			for _, m := range queue {
				if m.Kind == "compacted" && strings.HasPrefix(m.Key, s.agent+"/") {
					told++
				}
			}
			if n := len(s.compacted); told > n || told < n-old {
				t.Errorf(
					"%s was compacted %d times, %d of them shortly before it was cleared; its parent is told of %d",
					s.agent,
					n,
					old,
					told,
				)
			}
		}
	}
	o := judge(senders, all, queue)
	for i, p := range o.problems {
		if i == 20 {
			t.Errorf("and %d more problems", len(o.problems)-i)
			break
		}
		t.Error(p)
	}
	repeats := 0
	answers := map[int]int{}
	for _, s := range senders {
		repeats += s.repeats
		for status, n := range s.answers {
			answers[status] += n
		}
	}
	t.Logf(
		"kills by their moment: %v; %d hooks, %d answers lost by clients, %d clears; sends repeated by their senders: %d; answers to senders: %v",
		aims,
		hooks,
		lost,
		clears,
		repeats,
		answers,
	)
	t.Logf("accepted %d, heard once %d (of those heard marked as repeated: %d), heard twice %d, lost %d; notices %d, heard %d, heard twice %d; compactions %d",
		o.Accepted, o.HeardOnce, o.Marked, o.HeardTwice, o.Lost, o.Notices, o.HeardNotices, o.DuplicateNotices, compactions)
	if log := d.log(1 << 22); strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Error("its log has errors")
	}
	if o.Accepted == 0 || o.HeardNotices == 0 {
		t.Error("nothing was shown")
	}
}
