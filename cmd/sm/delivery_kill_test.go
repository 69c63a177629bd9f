package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
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

// TestDeliveryKills: what was accepted is heard. Agents work, others send them
// messages, contexts fill and are compacted, clients lose answers; and all the
// while the observer is killed, at random, right after it has accepted a
// message, right after it has given one away, and in its transactions.
// SM_KILLS_DELIVERY says how often.
func TestDeliveryKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	n := killsOf(t, "SM_KILLS_DELIVERY", 50)
	d := newDaemon(t)
	d.vars = append(d.vars, plentiful...)
	d.as = []string{quickName}
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
	d.start()
	var working, sending sync.WaitGroup
	defer working.Wait()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, s := range clients {
		working.Go(func() { s.work(ctx, 8*time.Millisecond) })
	}
	quiet, stopSending := context.WithCancel(ctx)
	defer stopSending()
	for _, s := range senders {
		sending.Go(func() { s.work(quiet, 30*time.Millisecond) })
	}

	for i := range n {
		timeout := time.After(1500 * time.Millisecond)
		switch i % 4 {
		case 0:
			select {
			case <-senders[0].accepted:
			case <-senders[1].accepted:
			case <-timeout:
			}
		case 1:
			select {
			case <-clients[0].answered:
			case <-clients[1].answered:
			case <-clients[2].answered:
			case <-clients[3].answered:
			case <-timeout:
			}
		case 2:
			d.stored(timeout)
			<-time.After(rand.N(4 * time.Millisecond))
		default:
			<-time.After(rand.N(200 * time.Millisecond))
		}
		if i%16 == 11 {
			if code := d.end(syscall.SIGTERM); code > 0 { // below 0: it had not begun to listen to signals
				t.Fatalf("kill %d: exit code %d", i, code)
			}
		} else if !d.kill() {
			t.Fatalf("kill %d: it had ended by itself", i)
		}
		d.launch()
	}
	calm.Store(true)
	d.eventually("ready", func() string {
		_, err := d.get("/-/ready")
		return message(err)
	})
	stopSending()
	sending.Wait()
	// One at a time, and some need a turn each. A session that began and was
	// cleared while no observer ran has no agent.
	d.heardAll(time.Duration(100+n)*300*time.Millisecond, func(m api.Message) bool {
		return m.Status == "offered" ||
			slices.ContainsFunc(clients, func(s *standIn) bool { return s.agent == m.To })
	})
	stop()
	working.Wait()
	queue := d.heardAll(
		2*time.Minute,
		func(m api.Message) bool { return m.Status == "offered" },
	)

	var all []heard
	for _, s := range clients {
		all = append(all, s.heard...)
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
		if n := len(s.compacted); s.parent != "" && (told > n || told < n-old) {
			t.Errorf("%s was compacted %d times, %d of them shortly before it was cleared; its parent is told of %d",
				s.agent, n, old, told)
		}
	}
	o := judge(senders, all, queue)
	o.report(t)
	if log := d.log(1 << 22); strings.Contains(log, "level=ERROR") ||
		strings.Contains(log, "panic") {
		t.Error("its log has errors")
	}
	if o.Accepted == 0 || o.Notices == 0 {
		t.Error("nothing was shown")
	}
}

// heardAll waits until no message of this kind waits or is offered, and returns the queue.
func (d *daemon) heardAll(patience time.Duration, of func(api.Message) bool) []api.Message {
	d.t.Helper()
	var queue api.Messages
	d.within(patience, "all is heard", func() string {
		var err error
		if queue, err = d.api.Messages(d.t.Context(), ""); err != nil {
			return err.Error()
		}
		for _, m := range queue.Messages {
			if (m.Status == "waiting" || m.Status == "offered") && of(m) {
				return fmt.Sprintf("%+.300v", m)
			}
		}
		return ""
	})
	return queue.Messages
}
