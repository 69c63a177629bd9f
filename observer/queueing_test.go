package observer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/clients/clientstest"
	"sm/transcript/codex"
)

// slowQueue takes a second for each text, and notes how many it was given at once.
type slowQueue struct {
	mu       sync.Mutex
	now, top int
	marks    []string
}

func (s *slowQueue) Enqueue(_ context.Context, _ fleet.Thread, id, _ string) (bool, error) {
	s.mu.Lock()
	s.now++
	s.top = max(s.top, s.now)
	s.marks = append(s.marks, id)
	s.mu.Unlock()
	<-time.After(time.Second)
	s.mu.Lock()
	s.now--
	s.mu.Unlock()
	return true, nil
}

// queueCore is the loop's state with threads of Codex that are open, and a message that is offered to the queue of each.
func queueCore(t *testing.T, n int) (c *core, effects []queueEffect) {
	t.Helper()
	now := time.Now()
	p := &parts{
		queue:  outbox.New(outbox.Defaults()),
		fleet:  fleet.New(fleet.Options{Clients: clientstest.Table(), Created: now}, fleet.Stored{}),
		agents: agents{},
	}
	c = &core{parts: p, delivery: &delivery{parts: p}}
	var open []fleet.Client
	for i := range n {
		x := transcript.Change{
			Name:    uuid(i),
			Whole:   true,
			Cursor:  transcript.Cursor{Path: "/p/" + uuid(i) + ".jsonl"},
			Session: transcript.Session{ID: uuid(i)},
		}
		x.Session.SetParticulars(transcript.Particulars{Client: codex.Client})
		p.fleet.Apply(x)
		open = append(open, fleet.Client{SessionID: uuid(i), Held: true})
	}
	p.fleet.Settle(now)
	p.fleet.Clients(open)
	for i := range n {
		to := alerts.AgentID(uuid(i))
		_, err := p.queue.Put(outbox.Message{To: to, Text: "x", From: fmt.Sprint(i)}, now)
		noErrors(t, err)
		thread, _, ok := p.fleet.Thread(to, now)
		m, offered := p.queue.Enqueue(to, thread.ID, now)
		if !ok || !offered {
			t.Fatal("no thread, or no message")
		}
		effects = append(effects, queueEffect{message: m, thread: thread})
	}
	return c, effects
}

// queueRunner does effects of a loop that is asked directly.
func queueRunner(c *core, to Enqueuer) *effectRunner {
	var mu sync.Mutex
	ask := func(_ context.Context, do func(*core) error) error {
		mu.Lock()
		defer mu.Unlock()
		return do(c)
	}
	return &effectRunner{enqueuer: to, queueing: make(chan struct{}, 2), ask: ask}
}

// TestQueueingStill: right before a message goes into a queue it is looked whether it is still to go there.
func TestQueueingStill(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*core, outbox.ID)
		goes   bool
	}{
		"nothing has changed": {func(*core, outbox.ID) {}, true},
		"taken back":          {func(c *core, id outbox.ID) { c.queue.Unoffer(id, time.Now()) }, false},
		"withdrawn": {func(c *core, id outbox.ID) {
			m, _ := c.queue.Find(id)
			c.queue.Unoffer(id, time.Now())
			_, _ = c.queue.Cancel(m.To, id, time.Now())
		}, false},
		"left": {func(c *core, _ outbox.ID) { c.queue.Leave(func(alerts.AgentID) string { return "another" }) }, false},
		"closed": {func(c *core, _ outbox.ID) {
			c.fleet.Clients([]fleet.Client{{
				SessionID: uuid(9),
				Held:      true,
			}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, effects := queueCore(t, 1)
				test.change(c, effects[0].message.ID)
				var to slowQueue
				o := effects[0].run(t.Context(), queueRunner(c, &to)).(enqueued)
				if o.placed != test.goes || (o.err == nil) != test.goes || (len(to.marks) == 1) != test.goes {
					t.Errorf("placed %v, %v, asked for %v", o.placed, o.err, to.marks)
				}
			})
		})
	}
}

// TestQueueingFew: few messages are put into queues at the same time, and those that wait for their turn end with the observer.
func TestQueueingFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, effects := queueCore(t, 20)
		var to slowQueue
		r := queueRunner(c, &to)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for _, e := range effects {
			all.Go(func() {
				if e.run(ctx, r) != nil {
					mu.Lock()
					done++
					mu.Unlock()
				}
			})
		}
		<-time.After(4500 * time.Millisecond)
		cancel()
		all.Wait()
		if to.top != 2 || done != 5*2 || len(to.marks) != done {
			t.Errorf("%d at once, %d put there, %d done", to.top, len(to.marks), done)
		}
	})
}
