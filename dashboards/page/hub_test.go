package page

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

// source is an observer with one agent. Requests wait for turn.
type source struct {
	turn    sync.Mutex
	edits   uint64
	session api.Session
}

func (s *source) Edits() uint64 { return s.edits }

func (s *source) List(
	ctx context.Context,
	_ time.Time,
	known func(string) (uint32, bool),
) (wire.List, error) {
	ctx.Done() // signals that the turn is awaited
	s.turn.Lock()
	defer s.turn.Unlock()
	x := wire.Agent{Session: s.session, Version: 1}
	if _, ok := known(s.session.ID); !ok {
		x.History = &curve.History{}
	}
	return wire.List{Agents: []wire.Agent{x}, Filled: true}, nil
}

func (s *source) Detail(context.Context, string, time.Time) (wire.Detail, error) {
	return wire.Detail{}, nil
}

func newHub(t *testing.T) (*Hub, *source) {
	t.Helper()
	s := &source{session: api.Session{ID: "x", State: "busy"}}
	h, err := New(Options{Source: s, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// TestRowsChangeWithWhatTheyShow tests that a row is sent again only if it looks
// different.
func TestRowsChangeWithWhatTheyShow(t *testing.T) {
	t.Parallel()
	h, s := newHub(t)
	look := func() uint64 {
		t.Helper()
		s.edits++
		shot, err := h.look(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return shot.rows[0].seq
	}

	first := look()
	s.session.Turns++
	s.session.StatuslineAt = new(time.Unix(1, 0))
	if got := look(); got != first {
		t.Errorf(
			"after a change that a row does not show its snapshot is %d, want %d",
			got,
			first,
		)
	}
	s.session.WaitingFor = "question"
	s.session.State = "waiting"
	if got := look(); got != first+1 {
		t.Errorf("after a change that a row shows its snapshot is %d, want %d", got, first+1)
	}
}

// awaited is a context that says when somebody begins to wait for its end.
type awaited struct {
	context.Context
	tell func()
}

func (a awaited) Done() <-chan struct{} {
	a.tell()
	return a.Context.Done()
}

// TestSnapshotAfterTheLastPage: a snapshot made while the one before is dropped is
// dropped too, if no page is open.
func TestSnapshotAfterTheLastPage(t *testing.T) {
	h, s := newHub(t)
	if _, err := h.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-h.woken
	s.edits++

	begun := make(chan struct{})
	looked := make(chan error, 1)
	s.turn.Lock()
	go func() {
		_, err := h.look(awaited{t.Context(), sync.OnceFunc(func() { close(begun) })})
		looked <- err
	}()
	<-begun
	h.drop()
	s.turn.Unlock()
	if err := <-looked; err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.woken:
	default:
		t.Error("nobody looks whether it is needed")
	}
}
