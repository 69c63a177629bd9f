package follow

import (
	"context"
	"sync"
)

// lookers are the few goroutines that read the live files without a tail. One for each file would cost a stack each, which
// the collector makes small again after every look, and a switch between goroutines for every line.
//
// Invariants: one looker at a time has a tailer; one that was poked is looked at after that, and no goroutine that pokes waits.
type lookers struct {
	mu   sync.Mutex
	due  []*tailer     // poked, in that order; none twice
	wake chan struct{} // an element has a looker come who takes what is due
}

// turn is how a tailer without a tail stands with the lookers, who guard it.
type turn uint8

const (
	resting turn = iota // nothing to do
	queued              // a looker will take it
	taken               // a looker has it
	retake              // and it was poked meanwhile
	over                // it has come to its end
)

func newLookers() *lookers { return &lookers{wake: make(chan struct{}, 1)} }

// add has a tailer looked at.
func (l *lookers) add(t *tailer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch t.turn {
	case resting:
		l.push(t)
	case taken:
		t.turn = retake
	}
}

// push is for who holds mu.
func (l *lookers) push(t *tailer) {
	t.turn = queued
	if l.due = append(l.due, t); len(l.due) == 1 {
		l.call()
	}
}

func (l *lookers) call() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take gives the next tailer, nil for none, and has another looker called if there are more.
func (l *lookers) take() *tailer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.due) == 0 {
		l.due = nil
		return nil
	}
	t := l.due[0]
	l.due[0] = nil
	if l.due = l.due[1:]; len(l.due) > 0 {
		l.call()
	}
	t.turn = taken
	return t
}

// giveBack ends a looker's turn with a tailer.
func (l *lookers) giveBack(t *tailer, ended bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ended:
		t.turn = over
	case t.turn == retake:
		l.push(t)
	default:
		t.turn = resting
	}
}

// work looks at what is due until ctx ends.
func (l *lookers) work(ctx context.Context) {
	room := make([]byte, lookBytes)
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		for t := l.take(); t != nil && ctx.Err() == nil; t = l.take() {
			l.giveBack(t, t.turnOver(ctx, room))
		}
	}
}

// turnOver looks at a file once, and reports whether that was the last time.
func (t *tailer) turnOver(ctx context.Context, room []byte) (ended bool) {
	reread := t.head == nil && !t.begin()
	if !reread {
		select {
		case <-t.quit:
		default:
			if reread = t.look(ctx, room); !reread {
				return false
			}
		}
	}
	t.exit(ctx, reread)
	return true
}
