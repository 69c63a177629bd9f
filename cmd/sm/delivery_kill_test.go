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

// killsOf reads the number of kills from a variable.
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
	noErrors(t, err)
	return n
}

// plentiful lifts the limits of the queue, which this does not test.
var plentiful = []string{"SM_QUEUE_PER_AGENT=1000000", "SM_QUEUE_PER_SENDER_MINUTE=1000000"}

// TestDeliveryKills tests that every accepted message is received. Agents work, senders send
// them messages, contexts fill and are compacted, clients lose answers; meanwhile the
// observer is killed at random, right after it has accepted a message, right after it has
// answered with one, and in its transactions. SM_KILLS_DELIVERY is the number of kills.
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
			if code := d.end(syscall.SIGTERM); code > 0 { // below 0: it did not handle signals yet
				t.Fatalf("kill %d: exit code %d", i, code)
			}
		} else if !d.kill() {
			t.Fatalf("kill %d: the observer had already ended", i)
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
	// Messages are delivered one at a time, and some need a turn each. A session that began
	// and was cleared while no observer ran has no agent.
	d.delivered(time.Duration(100+n)*300*time.Millisecond, func(m api.Message) bool {
		return m.Status == "offered" ||
			slices.ContainsFunc(clients, func(s *standIn) bool { return s.agent == m.To })
	})
	stop()
	working.Wait()
	queue := d.delivered(
		2*time.Minute,
		func(m api.Message) bool { return m.Status == "offered" },
	)

	var all []received
	for _, s := range clients {
		all = append(all, s.received...)
		old := 0
		reports := 0
		for _, c := range s.compacted {
			if c.cleared {
				old++
			}
		}
		for _, m := range queue {
			if m.Kind == "compacted" && strings.HasPrefix(m.Key, s.agent+"/") {
				reports++
			}
		}
		if n := len(s.compacted); s.parent != "" && (reports > n || reports < n-old) {
			t.Errorf("%s: %d compactions, %d of them shortly before a clear, and %d reports to the parent",
				s.agent, n, old, reports)
		}
	}
	o := judge(senders, all, queue)
	o.report(t)
	if log := d.log(1 << 22); strings.Contains(log, "level=ERROR") ||
		strings.Contains(log, "panic") {
		t.Error("the log has errors")
	}
	if o.Accepted == 0 || o.Notices == 0 {
		t.Error("no message was accepted, or no notice received")
	}
}

// delivered waits until no message that fits is waiting or offered, and returns the queue.
func (d *daemon) delivered(patience time.Duration, of func(api.Message) bool) []api.Message {
	d.t.Helper()
	var queue api.Messages
	d.within(patience, "all are received", func() string {
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
