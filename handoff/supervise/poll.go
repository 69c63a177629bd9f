package supervise

import (
	"context"
	"sync"
	"time"
)

// Between two questions that failed.
const (
	pollAgain    = time.Second
	pollAgainMax = 10 * time.Second
)

// lastWithin limits the report of the last outcome.
const lastWithin = time.Second

// poller asks the observer for instructions, one question at a time.
type poller struct {
	observer Observer
	orders   chan order

	mu     sync.Mutex
	status Status
	asks   bool               // there is a client, or one to come
	cancel context.CancelFunc // of the question that is open
}

// order is an instruction with the client that ran when it was asked for, zero
// for the one to come.
type order struct {
	Instruction
	client Process
}

func newPoller(o Observer) *poller { return &poller{observer: o, orders: make(chan order)} }

// report changes the status and asks anew. Without an outcome it keeps the one that was not
// sent yet.
func (p *poller) report(s Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Outcome.Rotation == "" {
		s.Outcome = p.status.Outcome
	}
	p.status = s
	p.asks = true
	p.endQuestion()
}

// stop ends the questions: no client is left to restart. An outcome that was not sent yet is
// for sendLast.
func (p *poller) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Client = Process{}
	p.status.CanRestart = false
	p.asks = false
	p.endQuestion()
}

// endQuestion ends the open question.
func (p *poller) endQuestion() {
	if p.cancel != nil {
		p.cancel()
	}
}

// ask returns the status to send; the context ends when that changes.
func (p *poller) ask(ctx context.Context) (_ context.Context, _ context.CancelFunc, s Status, ask bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	p.cancel = cancel
	return ctx, cancel, p.status, p.asks
}

// answered forgets an outcome that was sent.
func (p *poller) answered(o Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.status.Outcome == o {
		p.status.Outcome = Outcome{}
	}
}

// run asks until ctx ends.
func (p *poller) run(ctx context.Context) {
	again := pollAgain
	last := ""
	for ctx.Err() == nil {
		fresh, cancel, status, ask := p.ask(ctx)
		if !ask {
			<-fresh.Done()
			cancel()
			continue
		}
		began := time.Now()
		in, ok, err := p.observer.Next(fresh, status)
		switch {
		case err != nil:
			pause(fresh, again)
			if fresh.Err() == nil {
				again = min(2*again, pollAgainMax)
			}
		default:
			again = pollAgain
			p.answered(status.Outcome)
			if ok {
				p.hand(ctx, order{in, status.Client})
			}
			if !ok || in.Rotation == last {
				pause(fresh, pollAgain-time.Since(began)) // at most one question a second
			} else {
				<-fresh.Done() // until the order was dealt with
			}
			last = in.Rotation
		}
		cancel()
	}
}

func (p *poller) hand(ctx context.Context, o order) {
	select {
	case p.orders <- o:
	case <-ctx.Done():
	}
}

// sendLast sends an outcome that was not sent yet, once run has ended.
func (p *poller) sendLast() {
	if p.observer == nil || p.status.Outcome.Rotation == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWithin)
	defer cancel()
	_, _, _ = p.observer.Next(ctx, p.status) // there is no client for an instruction
}

// pause waits, unless there is something new.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
