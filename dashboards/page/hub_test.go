package page

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/wire"
)

// source is an observer with one agent.
type source struct {
	edits   uint64
	version uint32 // of the curve
	sent    int    // curves
	session api.Session
}

func (s *source) Edits() uint64 { return s.edits }

func (s *source) List(
	_ context.Context,
	_ time.Time,
	known func(string) (uint32, bool),
) (wire.List, error) {
	x := wire.Agent{Session: s.session, Version: s.version}
	if version, ok := known(s.session.ID); !ok || version != s.version {
		s.sent++
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
		shot, err := h.views[0].look(t.Context(), 0)
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
	if got := look(); got != first+2 {
		t.Errorf("after a change that a row shows its snapshot is %d, want %d", got, first+2)
	}
	s.version++
	for range 3 {
		if got := look(); got != first+2 || s.sent != 2 {
			t.Errorf("a curve that looks the same was sent %d times, in snapshot %d", s.sent, got)
		}
	}
}
