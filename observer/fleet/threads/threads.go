// Package threads keeps which threads of Codex are open in which processes, and
// which of them its user sees. A process may have several open: those of its
// subagents, and for a while the one that its user has left.
//
// Threads of a daemon, which serves several users, are not attributed. The data of
// a thread is dropped when no process has it open, its messages after a minute.
//
// The caller decides which threads may be the present one.
package threads

import (
	"maps"
	"slices"
	"time"

	"sm/transcript"
)

const (
	// keptHeard is how many texts are kept of a thread, heardFor how long.
	keptHeard = 8
	heardFor  = transcript.Instant(time.Minute)
)

// Text is what a thread has heard.
type Text struct {
	Text string
	At   transcript.Instant
}

// Threads is what is known of open threads. It is for one goroutine at a time.
type Threads struct {
	opened map[string]transcript.Instant // when a thread was first seen to be open, by its id
	holder map[string]transcript.Holder
	heard  map[string][]Text // of threads whose agents are not known yet, by id
}

// New returns an empty Threads.
func New() *Threads {
	return &Threads{
		opened: map[string]transcript.Instant{},
		holder: map[string]transcript.Holder{},
		heard:  map[string][]Text{},
	}
}

// Note takes in which threads are open at a time, by the clients of the registry.
func (t *Threads) Note(clients map[string]transcript.Client, now transcript.Instant) {
	clear(t.holder)
	for id, c := range clients {
		if _, known := t.opened[id]; c.Held && !known {
			t.opened[id] = now
		}
		if c.Held {
			t.holder[id] = c.Holder
		}
	}
	maps.DeleteFunc(t.opened, func(id string, _ transcript.Instant) bool { return !clients[id].Held })
	maps.DeleteFunc(t.heard, func(_ string, heard []Text) bool { return heard[len(heard)-1].At < now-heardFor })
}

// Present gives the thread that the user sees of each process that serves one terminal: the newest of those that fit.
func (t *Threads) Present(fits func(id string, in transcript.Holder) bool) map[transcript.Holder]string {
	of := map[transcript.Holder]string{}
	for _, id := range slices.Sorted(maps.Keys(t.opened)) {
		h := t.holder[id]
		if h.Own && h.PID > 0 && h.Start != "" && fits(id, h) && (of[h] == "" || t.opened[id] >= t.opened[of[h]]) {
			of[h] = id // of those that were there already the newest: their ids begin with their time
		}
	}
	return of
}

// Keep keeps what was heard in a thread whose agent is not known yet: a new client's first prompt may be read before its
// process is looked at.
func (t *Threads) Keep(id string, heard Text) {
	all := append(t.heard[id], heard)
	t.heard[id] = all[max(0, len(all)-keptHeard):]
}

// Heard returns what was kept of a thread, once.
func (t *Threads) Heard(id string) []Text {
	heard := t.heard[id]
	delete(t.heard, id)
	return heard
}
