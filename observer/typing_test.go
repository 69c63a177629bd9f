package observer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
)

// stage is a terminal that records typed text.
type stage struct {
	mu     sync.Mutex
	before func() // called before the check whether the agent is idle
	lines  []string
	tries  int
	at     fleet.Place
}

func (s *stage) Type(
	ctx context.Context,
	at fleet.Place,
	text string,
	finish bool,
	idle func(context.Context) error,
) (typed bool, err error) {
	if finish {
		return false, errors.New("the box is empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	s.at = at
	if s.before != nil {
		s.before()
	}
	if err := idle(ctx); err != nil {
		return false, err
	}
	s.lines = append(s.lines, text)
	return true, nil
}

func (s *stage) typed() (lines []string, tries int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines), s.tries
}

// untilTyped waits for the first line.
func (s *stage) untilTyped(r *rig) (line string) {
	r.t.Helper()
	r.until("typed", func() bool { lines, _ := s.typed(); return len(lines) > 0 })
	lines, _ := s.typed()
	return lines[0]
}

// seat posts a hook of the agent w1, which runs in a pane, and returns the answer.
func (r *rig) seat(event, fields string) (text string) {
	r.t.Helper()
	a := r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,`+
		`"sm":{"agent":"w1","tmux":"/tmp/tmux","server":77,"pane":"%%3","pid":%d,"start":"test 7"}%s}`,
		uuid(1), event, os.Getpid(), fields))
	if a.Code/100 != 2 {
		r.t.Fatalf("hook: %d %s", a.Code, a.Body)
	}
	answer, _ := hook.DecodeAnswer([]byte(a.Body))
	return answer.Context
}

// submits posts the hook of a prompt; prompts also writes the prompt to the transcript.
func (r *rig) submits(line string) (text string) {
	return r.seat("UserPromptSubmit", fmt.Sprintf(`,"prompt":%q`, line))
}

func (r *rig) prompts(line string) (text string) {
	r.t.Helper()
	text = r.submits(line)
	r.write(
		uuid(1),
		prompt(stamp(time.Now()), "p-"+line, line),
		attachment(stamp(time.Now()), text),
	)
	return text
}

func (r *rig) message(id string) (found api.Message) {
	r.t.Helper()
	for _, m := range r.messages() {
		if m.ID == id {
			found = m
		}
	}
	return found
}

// newStage returns an observer with a terminal, and a client that has been at its prompt for
// a while.
func newStage(t *testing.T) (*rig, *stage) {
	s := &stage{}
	r := newRig(t)
	r.o.Terminal = s
	r.o.Alive = func(int, string) bool { return true }
	r.client(
		7,
		uuid(1),
		fmt.Sprintf(
			`,"status":"idle","statusUpdatedAt":%d`,
			time.Now().Add(-time.Minute).UnixMilli(),
		),
	)
	r.write(
		uuid(1),
		prompt(ago(time.Minute), "p1", "Go."),
		reply(ago(50*time.Second), "m1", 20_000, 5),
	)
	return r.start(), s
}

// newSeat is newStage with a client whose hooks work.
func newSeat(t *testing.T) (*rig, *stage) {
	r, s := newStage(t)
	r.seat("Notification", "")
	return r, s
}

func TestTypedToAnIdleAgentAndProvenByItsTranscript(t *testing.T) {
	t.Parallel()
	r, s := newSeat(t)
	id := r.sends("w1", "sequential", "Look at CI.")
	line := s.untilTyped(r)
	if want := "[sm message] #" + id; line != want || s.at != (fleet.Place{
		Tmux:    "/tmp/tmux",
		Server:  77,
		Pane:    "%3",
		Process: fleet.Process{PID: os.Getpid(), Start: "test 7"},
	}) {
		t.Errorf("typed %q at %+v, want %q", line, s.at, want)
	}
	if m := r.message(id); m.Status != "offered" || m.Via != "tmux" {
		t.Errorf("before the transcript shows it: %+v", m)
	}
	if text, want := r.prompts(line), "[sm message] Look at CI. #"+id; text != want {
		t.Errorf("answer to its hook: got %q, want %q", text, want)
	}
	r.until("confirmed", func() bool { return r.message(id).Status == "confirmed" })
	if lines, _ := s.typed(); len(lines) != 1 {
		t.Errorf("typed %q", lines)
	}
}

func TestAgentThatWorksAgainIsLeftAlone(t *testing.T) {
	t.Parallel()
	r, s := newSeat(t)
	s.before = func() { r.submits("Go on.") }
	id := r.sends("w1", "sequential", "Too late.")
	r.until("waits again", func() bool {
		_, tries := s.typed()
		return tries == 1 && r.message(id).Status == "waiting"
	})
	if lines, _ := s.typed(); len(lines) != 0 {
		t.Errorf("typed %q", lines)
	}
}

// TestNotTypedWhileCompacting tests, too, that a message that can be typed is not in the
// answer to the start of a client, which the model would see with the next prompt only. It
// may come with that prompt, though its mode is sequential.
func TestNotTypedWhileCompacting(t *testing.T) {
	t.Parallel()
	r, s := newSeat(t)
	r.happens("w1", "compaction")
	r.sends("w1", "sequential", "After the compaction.")
	before := time.Now()
	// Shorter than promptGrace, after which a compaction of a client at its prompt is
	// dismissed.
	r.until(
		"a look has passed",
		func() bool { return time.Since(before) > carryEvery+carryEvery/4 },
	)
	if lines, tries := s.typed(); tries != 0 {
		t.Fatalf("typed %q while compacting", lines)
	}
	if text := r.seat("SessionStart", `,"source":"resume"`); text != "" {
		t.Errorf("the start is answered with %q", text)
	}
	if text := r.submits("Go on."); text == "" {
		t.Error("the first prompt is answered with nothing")
	}
}

// TestCallIsAnsweredWithItsOwn tests that a call is answered with its message only, whatever
// else waits, and that a call of a message that is gone is answered with one line.
func TestCallIsAnsweredWithItsOwn(t *testing.T) {
	t.Parallel()
	r, s := newSeat(t)
	id := r.sends("w1", "sequential", "The first.")
	call := s.untilTyped(r)
	r.sends("w1", "urgent", "Urgent.")
	got := []string{r.submits(call), r.submits(call), r.submits("[sm message] #ffffff")}
	r.write(uuid(1), attachment(stamp(time.Now()), got[0]))
	r.until("confirmed", func() bool { return r.message(id).Status == "confirmed" })
	got = append(got, r.prompts(call))
	const over = "[sm message] That message was read before, was taken back, or is given by another hook. Go on."
	want := []string{
		"[sm message] The first. #" + id,
		over,
		over,
		over,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if text := r.prompts("Go on."); !strings.HasPrefix(text, "[sm message] Urgent. #") {
		t.Errorf("answer to the next hook: got %q", text)
	}
}

// TestTypedInFullAfterACallInVain tests that after a call that no hook has answered, as after
// sm uninstall, notices are typed in full.
func TestTypedInFullAfterACallInVain(t *testing.T) {
	t.Parallel()
	r, s := newSeat(t)
	r.sends("w1", "sequential", "Look at CI.")
	s.untilTyped(r)
	r.write(uuid(1), reply(stamp(time.Now()), "m2", 150_000, 5))
	r.until("the notice is typed", func() bool {
		lines, _ := s.typed()
		return strings.HasPrefix(lines[len(lines)-1], "[sm context] Context at 75%")
	})
}

// TestTextOfOthersWaitsForHooks tests that without a hook no text of others is typed, and the
// sender gets the reason.
func TestTextOfOthersWaitsForHooks(t *testing.T) {
	t.Parallel()
	r, s := newStage(t)
	r.joins(uuid(1), `,"pane":"%3"`)
	id := r.sends(uuid(1), "urgent", "hi; touch x; $(touch x)")
	r.write(uuid(1), reply(stamp(time.Now()), "m2", 150_000, 5))
	if line := s.untilTyped(r); !strings.HasPrefix(
		line,
		"[sm context] Context at 75%, critically high. ",
	) {
		t.Errorf("typed %q", line)
	}
	if m := r.message(id); m.WaitsFor != "hooks" || m.Status != "waiting" {
		t.Errorf("got %+v", m)
	}
	if x := r.session(uuid(1)); x.HooksSeen || x.WaitForHooks != 1 {
		t.Errorf("got %+v", x)
	}
}
