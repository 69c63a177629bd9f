package rotation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func idleAt(second float64) Idle {
	return Idle{
		Agent:   "a",
		Way:     WayClear,
		Session: "s1",
		At:      at(second),
	}
}

// TestRotationOfAnotherSession: who has not asked for it is not cleared.
func TestRotationOfAnotherSession(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	in := idleAt(5)
	in.Session = "s2"
	step(t, m, in, Failed, "Report session_changed lost=false")
}

// TestRotationProof: neither an older session nor the cleared one confirms anything,
// except by the hook of the clear.
func TestRotationProof(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	m.Step(idleAt(5))
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(6)}, Clearing, "Clear /clear")
	step(t, m, Started{Agent: "a", Session: "s0", At: at(4)}, Clearing)
	step(t, m, Started{Agent: "a", Session: "s1", At: at(7)}, Clearing)
	step(t, m, Started{
		Agent:   "a",
		Session: "s1",
		Cleared: true,
		At:      at(7),
	}, Cleared)
}

// TestRotationBusy: a turn that goes on costs no patience, however long.
func TestRotationBusy(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	for second := 5.0; second < 3000; second += 60 {
		m.Step(idleAt(second))
		m.Step(Prepared{
			ID:       "r",
			Document: "HO",
			Read:     "/doc.md",
			At:       at(second),
		})
		step(t, m, Typed{ID: "r", Reason: ReasonBusy, At: at(second)}, Scheduled, "Release")
	}
	m.Step(idleAt(3000))
	m.Step(Prepared{
		ID:       "r",
		Document: "HO",
		Read:     "/doc.md",
		At:       at(3000),
	})
	step(t, m, Typed{ID: "r", Reason: "draft", At: at(3000)}, Scheduled, "Release")
}

// TestRotationHeardFirst: the transcript of a restarted client may be read before the
// report that it runs.
func TestRotationHeardFirst(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	in := idleAt(5)
	in.Way = WayRestart
	m.Step(in)
	m.Step(Prepared{ID: "r", Read: "/doc.md", At: at(6)})
	step(t, m, Heard{
		Agent:   "a",
		Session: "s2",
		Text:    usual,
		At:      at(7),
	}, Confirmed, "Executed", "Release")
	if s, _ := m.Agent("a"); s.Session != "s2" || len(s.Executed) != 1 {
		t.Errorf("%+v", s)
	}
}

// TestRotationRefusedByRun: a run that leaves its client as it is loses nothing.
func TestRotationRefusedByRun(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	in := idleAt(5)
	in.Way = WayRestart
	m.Step(in)
	m.Step(Prepared{
		ID:       "r",
		Document: "HO",
		Read:     "/doc.md",
		At:       at(6),
	})
	step(t, m, Answered{
		ID:        "r",
		Reason:    ReasonRefused,
		Detail:    "it prints",
		Untouched: true,
		At:        at(7),
	}, Failed,
		"Release", "Withdraw", "Report restart_refused lost=false")
	if r, _ := m.Find("r"); r.Detail != "it prints" {
		t.Errorf("%+v", r)
	}
}

// TestRotationWithdraws: a copy is taken back when its handoff does not run.
func TestRotationWithdraws(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	m.Step(idleAt(5))
	m.Step(Prepared{
		ID:       "r",
		Document: "HO",
		Read:     "/doc.md",
		At:       at(6),
	})
	m.Step(Typed{ID: "r", Reason: "draft", At: at(6)})
	_, effects, err := m.Cancel("r", at(7))
	if diff := cmp.Diff([]string{"Withdraw"}, names(effects)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestRotationEnds: a document that cannot be read in time, and a turn that does not end.
func TestRotationEnds(t *testing.T) {
	m := newMachine()
	schedule(t, m, "r", 0)
	m.Step(idleAt(5))
	if got := names(m.Tick(at(34))); got != nil {
		t.Errorf("too early: %v", got)
	}
	if diff := cmp.Diff([]string{"Release", "Report document_slow lost=false"}, names(m.Tick(at(35)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	step(t, m, Prepared{ID: "r", Read: "/doc.md", At: at(36)}, Failed) // too late
	if _, _, err := m.Cancel("r", at(100)); !errors.Is(err, ErrEnded) {
		t.Errorf("cancelled after its end: %v", err)
	}
	schedule(t, m, "s", 100)
	if diff := cmp.Diff([]string{"Report expired lost=false"}, names(m.Tick(at(100+86400)))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRotationRenameBoth: of two rotations the one that has come to the context goes on,
// and what is dropped then is not dropped in silence.
func TestRotationRenameBoth(t *testing.T) {
	m := newMachine()
	schedule(t, m, "old", 0)
	m.Step(idleAt(5))
	m.Step(Prepared{ID: "old", Read: "/doc.md", At: at(6)})
	m.Step(Started{Agent: "a", Session: "s2", At: at(7)})
	if _, _, err := m.Schedule(Rotation{
		ID:      "new",
		Agent:   "b",
		Path:    "/doc.md",
		Session: "s2",
	}, at(8)); err != nil {
		t.Fatal(err)
	}
	m.Take()
	got := names(m.Rename("a", "b", at(9)))
	if diff := cmp.Diff([]string{"Hold"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r, _ := m.Open("b"); r.ID != "old" || r.State != Cleared {
		t.Errorf("%s in %v goes on", r.ID, r.State)
	}
	d, _ := m.Take()
	if len(d.Rotations) != 2 || d.Counters.Cancelled != 1 || len(d.Left) != 1 {
		t.Errorf("to be stored: %+v", d)
	}
}
