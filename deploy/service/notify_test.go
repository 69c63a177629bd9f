package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// patient is a service that can be made to hang.
type patient struct {
	ready chan struct{}
	mu    sync.Mutex
	hangs bool
}

func (p *patient) Ready() <-chan struct{} { return p.ready }

func (p *patient) Answers(ctx context.Context) error {
	p.mu.Lock()
	hangs := p.hangs
	p.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func (p *patient) hang(hangs bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hangs = hangs
}

// TestNotifier tests that the service is ready once and not earlier, that there is a watchdog
// message for each answer, and a message at the end.
func TestNotifier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		var said []string
		n := &Notifier{watchdog: 20 * time.Second, log: slog.New(slog.DiscardHandler), send: func(state string) error {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprint(time.Since(start), " ", state))
			return errors.New("no listener") // changes nothing
		}}
		p := &patient{ready: make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		go n.Run(ctx, p)
		<-time.After(25 * time.Second) // by the bubble's clock
		close(p.ready)
		<-time.After(10 * time.Second)
		p.hang(true)
		<-time.After(60 * time.Second)
		p.hang(false)
		<-time.After(20 * time.Second)
		cancel()
		synctest.Wait()
		want := []string{
			"10s WATCHDOG=1", "20s WATCHDOG=1", "25s READY=1", "30s WATCHDOG=1",
			"1m40s WATCHDOG=1", "1m50s WATCHDOG=1", "1m55s STOPPING=1",
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestNotifierWithoutWatchdog tests that without a watchdog there are no messages for it.
func TestNotifierWithoutWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string, 10)
		n := &Notifier{send: func(state string) error { said <- state; return nil }}
		p := &patient{ready: make(chan struct{})}
		close(p.ready)
		ctx, cancel := context.WithCancel(t.Context())
		go n.Run(ctx, p)
		<-time.After(time.Hour)
		cancel()
		synctest.Wait()
		close(said)
		var got []string
		for state := range said {
			got = append(got, state)
		}
		if diff := cmp.Diff([]string{"READY=1", "STOPPING=1"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
