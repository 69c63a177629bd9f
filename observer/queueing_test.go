package observer

import (
	"context"
	"fmt"
	"log/slog"
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

// slowQueue takes a second for each text, and records the number of concurrent calls.
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

// queueing returns an observer with open threads of Codex, and an effect that offers a
// message to the queue of each.
func queueing(t *testing.T, n int, to Enqueuer) []effect {
	t.Helper()
	now := time.Now()
	app := &App{
		calls:    make(chan func(*core)),
		queueing: make(chan struct{}, 2),
		o: Options{
			Enqueuer: to,
			Sanitise: func(text string) string { return text },
		},
	}
	c := &core{
		app:   app,
		log:   slog.New(slog.DiscardHandler),
		queue: outbox.New(outbox.Defaults(), func(string) bool { return false }),
		fleet: fleet.New(fleet.Options{
			Clients: clientstest.Table(),
		}, fleet.Stored{Created: now}),
		agents: agents{},
	}
	var err error
	c.engine, err = alerts.New(alerts.Defaults())
	noErrors(t, err)
	var open []fleet.Client
	for i := range n {
		x := transcript.Change{
			Name:    uuid(i),
			Whole:   true,
			Cursor:  transcript.Cursor{Path: "/p/" + uuid(i) + ".jsonl"},
			Session: transcript.Session{ID: uuid(i)},
		}
		x.Session.SetParticulars(transcript.Particulars{Client: codex.Client})
		c.fleet.Apply(x)
		open = append(open, fleet.Client{SessionID: uuid(i), Held: true})
	}
	c.fleet.Settle(now)
	c.fleet.Clients(open)
	if !c.fleet.Reachable(uuid(0), now) {
		t.Error("a thread with a queue cannot be reached")
	}
	for i := range n {
		to := uuid(i)
		_, err := c.queue.Put(outbox.Message{To: to, Text: "x", From: fmt.Sprint(i)}, now)
		noErrors(t, err)
		if !c.byQueue(to, now) {
			t.Fatal("no thread")
		}
	}
	go func() {
		for f := range app.calls {
			f(c)
		}
	}()
	t.Cleanup(func() { close(app.calls) })
	return c.effects
}

// TestQueueingFew tests that few messages are put into queues at the same time, and that
// those that wait for their turn end with the observer.
func TestQueueingFew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var to slowQueue
		effects := queueing(t, 20, &to)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for _, e := range effects {
			all.Go(func() { e(ctx) })
		}
		<-time.After(4500 * time.Millisecond)
		cancel()
		all.Wait()
		if to.top != 2 || len(to.marks) != 5*2 {
			t.Errorf("%d at once, %d put there", to.top, len(to.marks))
		}
	})
}
