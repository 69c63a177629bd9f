package supervise

import (
	"context"
	"time"
)

// The pauses after a failed question double from pollAgain to pollAgainMax.
const (
	pollAgain    = time.Second
	pollAgainMax = 10 * time.Second
)

// lastWithin limits the report of the last outcome.
const lastWithin = time.Second

// poller asks the observer for instructions, one question at a time. It belongs
// to the goroutine of the supervisor, which receives from answers and again and
// calls answered and ask.
type poller struct {
	observer Observer
	status   Status
	cancel   context.CancelFunc // of the open question, nil for none
	answers  chan answer        // to the open question
	again    <-chan time.Time   // when to ask the next one
	pause    time.Duration      // before it, if this one fails
}

// answer is an instruction with the status that was sent in its question.
type answer struct {
	Instruction
	err    error
	status Status
	began  time.Time
}

func newPoller(o Observer) *poller {
	return &poller{observer: o, answers: make(chan answer, 1)}
}

// report changes the status and asks again. Without an outcome it keeps an
// outcome that was not sent yet.
func (p *poller) report(s Status) {
	p.stop()
	if s.Outcome.Rotation == "" {
		s.Outcome = p.status.Outcome
	}
	p.status = s
	p.pause = pollAgain
	p.ask()
}

func (p *poller) ask() {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	a := answer{status: p.status, began: time.Now()}
	go func() {
		a.Instruction, a.err = p.observer.Next(ctx, a.status)
		p.answers <- a
	}()
}

// answered ends the open question. It drops an outcome that was sent.
func (p *poller) answered(a answer) {
	p.cancel()
	p.cancel = nil
	if a.err != nil {
		p.again = time.After(p.pause)
		p.pause = min(2*p.pause, pollAgainMax)
		return
	}
	if p.status.Outcome == a.status.Outcome {
		p.status.Outcome = Outcome{}
	}
	p.pause = pollAgain
	p.again = time.After(pollAgain - time.Since(a.began)) // at most one question a second
}

// stop withdraws the open question. The observer repeats an instruction that
// arrives meanwhile.
func (p *poller) stop() {
	if p.cancel != nil {
		p.cancel()
		p.answered(<-p.answers)
	}
	p.again = nil
}

// close sends an outcome that was not sent yet.
func (p *poller) close() {
	p.stop()
	if p.status.Outcome.Rotation == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastWithin)
	defer cancel()
	p.status.Client = Process{}
	p.status.CanRestart = false
	_, _ = p.observer.Next(ctx, p.status) // an instruction has no client any more
}
