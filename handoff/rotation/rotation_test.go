package rotation

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
)

// at is a moment of the tests, in seconds.
func at(seconds float64) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func newMachine() *Machine {
	return New(Options{BreakerCount: 3, BreakerWithin: 15 * time.Minute})
}

func schedule(t *testing.T, m *Machine, id ID, second float64) Rotation {
	t.Helper()
	r, _, err := m.Schedule(Rotation{
		ID:      id,
		Agent:   "a",
		Path:    "/doc.md",
		Session: "s1",
	}, at(second))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// names are the effects without what they carry.
func names(effects []Effect) (list []string) {
	for _, e := range effects {
		switch x := e.(type) {
		case Clear:
			list = append(list, "Clear "+x.Text)
		case Resume:
			list = append(list, "Resume "+x.Rotation.Prompt)
		case Finish:
			list = append(list, "Finish "+x.Text)
		case Report:
			list = append(list, fmt.Sprintf("Report %s lost=%v", x.Rotation.Reason, x.Lost))
		default:
			list = append(list, fmt.Sprintf("%T", e)[len("rotation."):])
		}
	}
	return list
}

// step checks what an input leads to, and the state after it.
func step(t *testing.T, m *Machine, in Input, state State, want ...string) {
	t.Helper()
	got := names(m.Step(in))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%#v: (-want +got):\n%s", in, diff)
	}
	if all := m.All(); len(all) > 0 && all[len(all)-1].State != state {
		t.Fatalf("%#v: state %v, want %v", in, all[len(all)-1].State, state)
	}
}

const usual = "Read /doc.md and continue from where you left off."

func TestRotationByClear(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}, Reserved, "Hold", "Prepare")
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(6),
	}, Reserved)
	step(t, m, Prepared{
		ID:       "r",
		Document: "HO",
		Channel:  "c",
		Read:     "/doc.md",
		At:       at(6),
	}, Clearing, "Clear /clear")
	step(t, m, Typed{ID: "r", Pressed: true, At: at(6.5)}, Clearing)
	step(t, m, Started{Agent: "a", Session: "s1", At: at(4)}, Clearing) // older than the reservation
	step(t, m, Heard{Agent: "a", Text: usual, At: at(6.6)}, Clearing)
	step(t, m, Started{Agent: "a", Session: "s2", At: at(7)}, Cleared)
	step(t, m, Started{Agent: "a", Session: "s2", At: at(7)}, Cleared) // by the transcript, too
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(8),
	}, Resuming, "Resume "+usual)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(9),
	}, Resuming)
	step(t, m, Typed{
		ID:      "r",
		Prompt:  true,
		Pressed: true,
		At:      at(9),
	}, Resuming)
	step(t, m, Heard{Agent: "a", Text: "Something else", At: at(9)}, Resuming)
	step(t, m, Heard{
		Agent: "a",
		Text:  "Read /doc.md and\ncontinue from  where you left off.",
		At:    at(10),
	}, Confirmed, "Executed", "Release")
	s, _ := m.Agent("a")
	want := AgentRecord{
		Agent:    "a",
		Path:     "/doc.md",
		Document: "HO",
		Channel:  "c",
		At:       at(10),
		Session:  "s2",
		Executed: []time.Time{at(7)},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRotationByRestart(t *testing.T) {
	for _, first := range []string{"session", "answer"} {
		m := newMachine()
		schedule(t, m, "r", 0)
		step(t, m, Idle{
			Agent:   "a",
			Way:     WayRestart,
			Session: "s1",
			At:      at(5),
		}, Reserved, "Hold", "Prepare")
		step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Restart")
		step(t, m, Gone{"a", at(6)}, Clearing) // on purpose
		if first == "session" {
			step(t, m, Started{Agent: "a", Session: "s2", At: at(7)}, Resuming)
			step(t, m, Answered{ID: "r", At: at(8)}, Resuming)
		} else {
			step(t, m, Answered{ID: "r", At: at(7)}, Resuming)
			step(t, m, Started{Agent: "a", Session: "s2", At: at(8)}, Resuming)
		}
		step(t, m, Idle{
			Agent:   "a",
			Way:     WayRestart,
			Session: "s1",
			At:      at(60),
		}, Resuming) // the client has the prompt; it is not typed
		step(t, m, Heard{Agent: "a", Text: usual, At: at(61)}, Confirmed, "Executed", "Release")
		if r, _ := m.Find("r"); r.Next != "s2" {
			t.Errorf("next session %q", r.Next)
		}
	}
}

// TestRotationOverheard: the prompt arrives in a session that is not linked to the agent yet. It is stored, and confirms
// once, when the agent is in that session.
func TestRotationOverheard(t *testing.T) {
	m := newMachine()
	in := func(agent, session, text string, second float64) Heard {
		return Heard{
			Agent:   alerts.AgentID(agent),
			Session: session,
			Text:    text,
			At:      at(second),
		}
	}
	recall := func(session string) []Heard { return m.Recall(func(alerts.AgentID) string { return session }) }
	schedule(t, m, "r", 0)
	step(t, m, in("s2", "s2", usual, 1), Scheduled)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayRestart,
		Session: "s1",
		At:      at(5),
	}, Reserved, "Hold", "Prepare")
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Restart")
	for _, other := range []Heard{
		in("s2", "s2", "Something else", 7),
		in("s2", "s2", usual, 4),
		in("b", "s1", usual, 7),
		in("b", "", usual, 7),
	} {
		step(t, m, other, Clearing)
	}
	if d, ok := m.Take(); !ok || d.Rotations[0].Overheard != nil {
		t.Errorf("what is not the prompt, or of another time, is kept: %+v", d)
	}
	for i := range 2 * maxOverheard {
		step(t, m, in("other", fmt.Sprintf("x%d", i), usual, 7), Clearing)
	}
	step(t, m, in("s2", "s2", usual+"\n[sm x] Carried. #a1b2c3", 7), Clearing)
	step(t, m, in("s2", "s2", usual, 7.5), Clearing)
	d, _ := m.Take()
	if n := len(d.Rotations[0].Overheard); n != maxOverheard {
		t.Errorf("%d are kept", n)
	}
	m.Restore(d.Rotations, d.Agents, d.Counters, at(8)) // killed
	if list := recall("s1"); list != nil {
		t.Errorf("heard in the session that it leaves: %+v", list)
	}
	list := recall("s2")
	if diff := cmp.Diff([]Heard{in("a", "s2", usual+"\n[sm x] Carried. #a1b2c3", 7)}, list); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	step(t, m, list[0], Confirmed, "Executed", "Release")
	if r, _ := m.Find("r"); r.Next != "s2" || r.Overheard != nil {
		t.Errorf("%+v", r)
	}
	if list := recall("s2"); list != nil || m.Counters().Confirmed != 1 {
		t.Errorf("once more: %+v, %+v", list, m.Counters())
	}
}

// TestRotationFailures: before anything is typed the agent keeps its context; afterwards
// the failure mentions that the context may be lost.
func TestRotationFailures(t *testing.T) {
	idle := Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}
	prepared := Prepared{ID: "r", Read: "/doc.md", At: at(6)}
	cleared := Started{Agent: "a", Session: "s2", At: at(7)}
	for _, tt := range []struct {
		name   string
		before []Input
		in     Input
		tick   float64
		want   []string
	}{
		{"file deleted between schedule and execution", []Input{idle}, Prepared{
			ID:     "r",
			Reason: ReasonFileGone,
			At:     at(6),
		}, 0, []string{"Release", "Report file_gone lost=false"}},
		{"no way to clear", nil, Idle{
			Agent:   "a",
			Way:     WayNone,
			Session: "s1",
			At:      at(5),
		}, 0, []string{"Report no_terminal lost=false"}},
		{"session killed before handoff executes", nil, Gone{"a", at(3)}, 0, []string{"Report agent_gone lost=false"}},
		{"no restarts left", []Input{Idle{
			Agent:   "a",
			Way:     WayRestart,
			Session: "s1",
			At:      at(5),
		}, prepared}, Answered{
			ID:        "r",
			Reason:    ReasonExhausted,
			Untouched: true,
			At:        at(9),
		}, 0, []string{"Release", "Report restarts_exhausted lost=false"}},
		{"no proof of the clear", []Input{idle, prepared, Typed{
			ID:      "r",
			Pressed: true,
			At:      at(6),
		}}, nil, 36, []string{"Release", "Report clear_unconfirmed lost=true"}},
		{"run that no longer asks", []Input{Idle{
			Agent:   "a",
			Way:     WayRestart,
			Session: "s1",
			At:      at(5),
		}, prepared}, nil, 96, []string{"Release", "Report run_gone lost=true"}},
		{
			"prompt never typed",
			[]Input{idle, prepared, cleared},
			nil,
			607,
			[]string{"Release", "Report prompt_refused lost=true"},
		},
		{"prompt never heard", []Input{idle, prepared, cleared, Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(8),
		}}, nil, 58, []string{"Release", "Report prompt_unconfirmed lost=true"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine()
			schedule(t, m, "r", 0)
			for _, in := range tt.before {
				m.Step(in)
			}
			var got []string
			if tt.in != nil {
				got = names(m.Step(tt.in))
			} else {
				if early := names(m.Tick(at(tt.tick - 1))); early != nil {
					t.Errorf("too early: %v", early)
				}
				got = names(m.Tick(at(tt.tick)))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, open := m.Open("a"); open || m.Counters().Failed != 1 {
				t.Errorf("still open, or counted as %+v", m.Counters())
			}
		})
	}
}

// TestRotationRefusals: what the terminal refuses is tried again, messages go on
// meanwhile, and after ten minutes it is given up.
func TestRotationRefusals(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	second := 5.0
	tries := 0
	for m.Counters().Failed == 0 {
		step(t, m, Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(second),
		}, Reserved, "Hold", "Prepare")
		step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(second)}, Clearing, "Clear /clear")
		tries++
		if second-5 >= 600 {
			step(t, m, Typed{ID: "r", Reason: "draft", At: at(second)}, Failed, "Release", "Report draft lost=false")
			break
		}
		step(t, m, Typed{ID: "r", Reason: "draft", At: at(second)}, Scheduled, "Release")
		step(t, m, Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(second + 1),
		}, Scheduled)
		r, _ := m.Find("r")
		if r.Last != "draft" {
			t.Errorf("waits for %q", r.Last)
		}
		second += r.Pause.Seconds()
	}
	if tries < 20 || tries > 40 {
		t.Errorf("%d tries in ten minutes", tries)
	}
}

func TestRotationLastOneWins(t *testing.T) {
	m := newMachine()
	schedule(t, m, "first", 0)
	schedule(t, m, "last", 1)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}, Reserved, "Hold", "Prepare")
	if r, _ := m.Open("a"); r.ID != "last" || m.Counters().Cancelled != 1 {
		t.Errorf("%s is carried out, %+v", r.ID, m.Counters())
	}
	if _, _, err := m.Schedule(Rotation{ID: "late", Agent: "a"}, at(6)); !errors.Is(err, ErrBusy) {
		t.Errorf("one more while one is under way: %v", err)
	}
	if _, _, err := m.Cancel("last", at(6)); !errors.Is(err, ErrBusy) {
		t.Errorf("cancelled while under way: %v", err)
	}
}

func TestRotationCancel(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	for range 2 {
		if r, _, err := m.Cancel("r", at(1)); err != nil || r.State != Cancelled {
			t.Errorf("%v, %v", r.State, err)
		}
	}
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}, Cancelled)
	if _, _, err := m.Cancel("none", at(1)); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if diff := cmp.Diff(Counters{Cancelled: 1}, m.Counters()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// carryOut takes a rotation through to its confirmation.
func carryOut(t *testing.T, m *Machine, id ID, second float64) {
	t.Helper()
	schedule(t, m, id, second)
	for _, in := range []Input{
		Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(second),
		}, Prepared{
			ID:   id,
			Read: "/doc.md",
			At:   at(second),
		}, Started{
			Agent:   "a",
			Session: "s-" + string(id),
			At:      at(second),
		},
		Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(second),
		}, Heard{Agent: "a", Text: usual, At: at(second)},
	} {
		m.Step(in)
	}
	if r, _ := m.Find(id); r.State != Confirmed {
		t.Fatalf("%s has come to %v", id, r.State)
	}
}

func TestRotationBreaker(t *testing.T) {
	m := newMachine()
	for i := range 3 {
		carryOut(t, m, ID(fmt.Sprint(i)), float64(100*i))
	}
	again := newMachine() // it outlives a restart
	d, _ := m.Take()
	again.Restore(d.Rotations, d.Agents, d.Counters, at(300))
	if _, _, err := again.Schedule(Rotation{
		ID:    "4",
		Agent: "a",
	}, at(899)); !errors.Is(err, ErrBreaker) || again.Brake("a", "x", at(899)) != "breaker" {
		t.Errorf("the fourth in 15 minutes: %v", err)
	}
	if _, _, err := again.Schedule(Rotation{ID: "b", Agent: "b"}, at(899)); err != nil {
		t.Errorf("another agent: %v", err)
	}
	if again.Brake("a", "x", at(900)) != "" {
		t.Error("the first is still counted")
	}
	carryOut(t, again, "5", 900)
	if got := again.Counters(); got.Breaker != 1 || got.Confirmed != 4 {
		t.Errorf("%+v", got)
	}
}

func TestRotationFutile(t *testing.T) {
	m := newMachine()
	carryOut(t, m, "1", 0)
	step(t, m, First{"a", "another", true}, Confirmed)
	step(t, m, First{"a", "s-1", true}, Confirmed, "Unhelpful")
	step(t, m, First{"a", "s-1", false}, Confirmed) // the first decides
	if _, _, err := m.Schedule(Rotation{
		ID:      "2",
		Agent:   "a",
		Session: "s-1",
	}, at(5)); !errors.Is(err, ErrFutile) || m.Brake("a", "s-1", at(5)) != "futile" {
		t.Errorf("again in the same session: %v", err)
	}
	if _, _, err := m.Schedule(Rotation{ID: "3", Agent: "a", Session: "s-9"}, at(5)); err != nil {
		t.Errorf("in a later session: %v", err)
	}
}

// TestRotationFinish: what may stand at the prompt without Enter, since its observer ended
// there or the terminal refused, is looked after, and never typed anew.
func TestRotationFinish(t *testing.T) {
	idle := func(s float64) Idle {
		return Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(s),
		}
	}
	m := newMachine()
	schedule(t, m, "r", 0)
	step(t, m, idle(5), Reserved, "Hold", "Prepare")
	step(t, m, Prepared{
		ID:       "r",
		Document: "HO",
		Channel:  "c",
		Read:     "/doc.md",
		At:       at(6),
	}, Clearing, "Clear /clear")
	d, _ := m.Take()
	m.Restore(d.Rotations, d.Agents, d.Counters, at(20))
	step(t, m, idle(22.9), Clearing)
	step(t, m, idle(23), Clearing, "Finish /clear")
	step(t, m, idle(24), Clearing)
	step(t, m, Typed{
		ID:     "r",
		Finish: true,
		Reason: "unseen",
		At:     at(23),
	}, Clearing) // it does not stand there
	step(t, m, idle(25), Clearing, "Finish /clear")
	step(t, m, Typed{
		ID:      "r",
		Finish:  true,
		Pressed: true,
		At:      at(25),
	}, Clearing)
	step(t, m, idle(40), Clearing)
	if diff := cmp.Diff([]string(nil), names(m.Tick(at(54.9)))); diff != "" {
		t.Error("given up before the proof had its time again")
	}
	step(t, m, Started{Agent: "a", Session: "s2", At: at(54.9)}, Cleared)
	idle2 := func(s float64) Idle {
		return Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s2",
			At:      at(s),
		}
	}
	step(t, m, idle2(56), Resuming, "Resume "+usual)
	step(t, m, Typed{
		ID:      "r",
		Prompt:  true,
		Pressed: true,
		At:      at(56),
	}, Resuming)
	step(t, m, idle2(59), Resuming, "Finish "+usual)
	step(t, m, Typed{
		ID:     "r",
		Prompt: true,
		Finish: true,
		Reason: "unseen",
		At:     at(59),
	}, Resuming)
	step(t, m, idle2(61), Resuming, "Finish "+usual)
	step(t, m, Typed{
		ID:      "r",
		Prompt:  true,
		Finish:  true,
		Pressed: true,
		At:      at(61),
	}, Resuming)
	step(t, m, idle2(80.9), Resuming) // 20 s from the Enter on
	step(t, m, idle2(81), Cleared)
	step(t, m, idle2(81), Resuming, "Resume "+usual)
	step(t, m, Heard{Agent: "a", Text: usual, At: at(82)}, Confirmed, "Executed", "Release")
}

// TestRotationSeenElsewhere: that a context was cleared is known by where the agent sits, too,
// should the news of it have been lost with an observer.
func TestRotationSeenElsewhere(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}, Reserved, "Hold", "Prepare")
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Clear /clear")
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "",
		At:      at(7),
	}, Clearing)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s2",
		At:      at(8),
	}, Cleared)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s2",
		At:      at(9),
	}, Resuming, "Resume "+usual)
	if r, _ := m.Find("r"); r.Next != "s2" {
		t.Errorf("%+v", r)
	}
}

// TestRotationNotGivenUpWhileTyping: between the look at the prompt and Enter nothing ends.
func TestRotationNotGivenUpWhileTyping(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}, Reserved, "Hold", "Prepare")
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Clear /clear")
	step(t, m, Typed{ID: "r", Pressed: true, At: at(6)}, Clearing)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(36),
	}, Clearing, "Finish /clear")
	if got := names(m.Tick(at(36))); got != nil {
		t.Fatalf("given up: %v", got)
	}
	step(t, m, Typed{
		ID:      "r",
		Finish:  true,
		Pressed: true,
		At:      at(36),
	}, Clearing)
	if got := names(m.Tick(at(65.9))); got != nil {
		t.Fatalf("given up: %v", got)
	}
	step(t, m, Started{Agent: "a", Session: "s2", At: at(66)}, Cleared)
}

// TestRotationRestored: after a start each confirmation has its full time: text that was
// at the prompt for long can be submitted, and results may be late.
func TestRotationRestored(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	step(t, m, Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(5),
	}, Reserved, "Hold", "Prepare")
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Clear /clear")
	d, _ := m.Take()
	for _, begun := range []float64{25, 50, 4000} { // each ends soon
		m.Restore(d.Rotations, d.Agents, d.Counters, at(begun))
		if got := m.Tick(at(begun + 29.9)); got != nil {
			t.Fatalf("%v s after the start: %v", 29.9, names(got))
		}
		step(t, m, Idle{
			Agent:   "a",
			Way:     WayClear,
			Session: "s1",
			At:      at(begun + 29.9),
		}, Clearing, "Finish /clear")
	}
	step(t, m, Typed{
		ID:     "r",
		Finish: true,
		Reason: "draft",
		At:     at(4029.9),
	}, Clearing)
	if diff := cmp.Diff(
		[]string{"Release", "Report clear_unconfirmed lost=true"},
		names(m.Tick(at(4030))),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRotationFinishNotUnderARun: a run has its prompt as an argument.
func TestRotationFinishNotUnderARun(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	run := func(s float64) Idle {
		return Idle{
			Agent:   "a",
			Way:     WayRestart,
			Session: "s1",
			At:      at(s),
		}
	}
	step(t, m, run(5), Reserved, "Hold", "Prepare")
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Restart")
	step(t, m, run(30), Clearing)
	step(t, m, Answered{ID: "r", At: at(31)}, Resuming)
	step(t, m, run(60), Resuming)
}

func TestRotationRename(t *testing.T) {
	m := newMachine()
	carryOut(t, m, "1", 0)
	schedule(t, m, "2", 50)
	m.Rename("a", "b", at(60))
	if _, open := m.Open("a"); open {
		t.Error("the old name is still known")
	}
	r, open := m.Open("b")
	s, seated := m.Agent("b")
	if !open || r.ID != "2" || !seated || s.Path != "/doc.md" {
		t.Errorf("%+v, %+v", r, s)
	}
	m.Forget("b")
	if len(m.All()) != 0 {
		t.Error("forgotten ones are still known")
	}
}
