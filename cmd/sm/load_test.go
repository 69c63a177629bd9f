package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// load appends to the transcripts of one client at a rate, as many sessions at once do that come and go: lines whole and
// in halves, none before the time that it names. What they mean is noted before they are written.
type load struct {
	t     *testing.T
	rand  *rand.Rand
	rate  int // lines a second
	width int // sessions at once
	begin func(*load) *author
	live  []*author
	lines int
	bytes int64

	mu    sync.Mutex
	truth writing
}

// author writes the transcripts of one session, with those of its subagents.
type author struct {
	queue []queued
	due   time.Time // the newest time that the queue names
	turns int       // that are still to come
	next  func(now time.Time)
}

// queued is a line, or the rest of one.
type queued struct {
	path string
	text []byte
}

// writing is what the transcripts of one client hold.
type writing struct {
	Counters map[string]float64 // compactions and tokens, by their series
	Sessions map[string]seat
	cycles   map[string]int // by session: how often its context has begun anew, and one
}

func newLoad(t *testing.T, seed uint64, rate, width int, begin func(*load) *author) *load {
	return &load{
		t:     t,
		rand:  rand.New(rand.NewPCG(seed, 2)),
		rate:  rate,
		width: width,
		begin: begin,
		truth: writing{Counters: map[string]float64{}, Sessions: map[string]seat{}, cycles: map[string]int{}},
	}
}

func (l *load) chance(percent int) bool { return l.rand.IntN(100) < percent }

// run writes until it is stopped, and then completes what it has begun.
func (l *load) run(stop <-chan struct{}) {
	const beats = 50 // a second
	tick := time.NewTicker(time.Second / beats)
	defer tick.Stop()
	for owed := 0; ; {
		select {
		case <-stop:
			for _, a := range l.live {
				for len(a.queue) > 0 {
					l.write(a)
				}
			}
			return
		case <-tick.C:
		}
		owed = min(owed+l.rate, l.rate*beats) // a machine that was too busy catches up for a second
		for tries := 0; owed >= beats && tries < 4*l.width; tries++ {
			before := l.lines
			l.step(time.Now())
			owed -= (l.lines - before) * beats
		}
	}
}

// step lets one session write, which may have to think of something first.
func (l *load) step(now time.Time) {
	for len(l.live) < l.width {
		l.live = append(l.live, l.begin(l))
	}
	i := l.rand.IntN(len(l.live))
	a := l.live[i]
	if len(a.queue) == 0 {
		if a.turns == 0 {
			l.live[i] = l.begin(l)
			return
		}
		a.turns--
		l.mu.Lock()
		a.next(now)
		l.mu.Unlock()
	}
	for range 1 + l.rand.IntN(3) {
		if len(a.queue) > 0 && !a.due.After(now) {
			l.write(a)
		}
	}
}

// write appends the next line, or a part of it.
func (l *load) write(a *author) {
	next := &a.queue[0]
	n := len(next.text)
	if l.chance(10) {
		n = l.rand.IntN(n) // perhaps all but the newline
	}
	err := os.MkdirAll(filepath.Dir(next.path), 0o700)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(next.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
			_, err = file.Write(next.text[:n])
			file.Close()
		}
	}
	if err != nil {
		l.t.Error(err)
	}
	l.bytes += int64(n)
	if next.text = next.text[n:]; len(next.text) == 0 {
		a.queue = a.queue[1:]
		l.lines++
	}
}

// count adds to a series of this client.
func (w *writing) count(series string, n int64) {
	if n != 0 {
		w.Counters[series] += float64(n)
	}
}
