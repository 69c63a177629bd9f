package pages

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	webpage "sm/dashboards/page"
	"sm/observer/curve"
	"sm/observer/fleet"
)

// source is an observer with one agent. What it is asked waits for its turn.
type source struct {
	turn  sync.Mutex
	edits uint64
	fills []*curve.Curve
}

func (s *source) Edits() uint64 { return s.edits }

func (s *source) List(ctx context.Context, _ time.Time, _ func(string) (uint32, bool)) (List, error) {
	ctx.Done() // a caller that waits for a turn looks for its end
	s.turn.Lock()
	defer s.turn.Unlock()
	return List{Agents: []Agent{{Row: webpage.Row{ID: "x"}, History: &webpage.History{}}}}, nil
}

func (s *source) Detail(context.Context, string, time.Time) (Detail, error) { return Detail{}, nil }

func (s *source) Fill(ctx context.Context, _ string, past *curve.Curve, _ int64) error {
	if ctx.Err() == nil {
		s.fills = append(s.fills, past)
	}
	return ctx.Err()
}

func newHub(t *testing.T) (*Hub, *source) {
	t.Helper()
	s := &source{}
	h, err := New(Options{Source: s, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// TestCommands: names and folders are words of a shell, and what is not known gives no command.
func TestCommands(t *testing.T) {
	for _, c := range []struct {
		name string
		view fleet.View
		want []string
	}{
		{"all is known", fleet.View{Agent: "id", Name: "em's", SessionID: "s1", CWD: "/home/a b", Tmux: "/tmp/tmux-0/default", Pane: "%3"}, []string{
			`sm send 'em'\''s' 'TEXT'`, "sm handoffs", "tmux -S /tmp/tmux-0/default attach -t %3", "cd '/home/a b' && claude --resume s1",
		}},
		{"little is known", fleet.View{Agent: "id"}, []string{"sm send id 'TEXT'", "sm handoffs"}},
		{"a name like a flag", fleet.View{Agent: "id", Name: "--help"}, []string{"sm send id 'TEXT'", "sm handoffs"}},
		{"another client", fleet.View{Agent: "id", Provider: "codex-app", SessionID: "s1"}, []string{"sm send id 'TEXT'", "sm handoffs"}},
	} {
		var got []string
		for _, x := range Commands(&c.view) {
			got = append(got, x.Text)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestLastRecord: the time of a file counts only where no record has one: a copy has a new one.
func TestLastRecord(t *testing.T) {
	old, now := time.Unix(1_000, 0), time.Unix(9_000, 0)
	got := []time.Time{
		lastRecord(&fleet.View{Active: old, Written: now}), lastRecord(&fleet.View{Written: now}), lastRecord(&fleet.View{Active: old, Hooked: now}),
	}
	if diff := cmp.Diff([]time.Time{old, now, now}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
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

// TestFillsOneAtATime: who comes while another's transcript is read waits before he opens
// his own, and who goes meanwhile is given nothing that would be kept.
func TestFillsOneAtATime(t *testing.T) {
	h, s := newHub(t)
	path := filepath.Join(t.TempDir(), "s.jsonl")
	h.filling <- struct{}{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	h.fillIn(gone, "x", path, curve.ListDepth)

	waits, filled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(filled)
		h.fillIn(awaited{t.Context(), sync.OnceFunc(func() { close(waits) })}, "x", path, curve.ListDepth)
	}()
	<-waits
	const reply = `{"type":"assistant","uuid":"u1","timestamp":"2026-03-02T10:00:00Z","message":{"id":"m1","usage":{"input_tokens":20000,"output_tokens":1}}}`
	if err := os.WriteFile(path, []byte(reply+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	<-h.filling
	<-filled
	if len(s.fills) != 1 || !cmp.Equal(s.fills[0].Trend(), []int64{20_000}) {
		t.Errorf("read beside another: %+v", s.fills)
	}
}

// TestSnapshotAfterTheLastPage: a snapshot that is made while the one before is dropped is
// dropped, too, when nobody comes.
func TestSnapshotAfterTheLastPage(t *testing.T) {
	h, s := newHub(t)
	if _, err := h.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-h.woken
	s.edits++

	begun, looked := make(chan struct{}), make(chan error, 1)
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
