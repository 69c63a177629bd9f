package fleet

import (
	"testing"

	"sm/alerts"
	"sm/transcript/claude/hook"
)

// TestRegisteredByPane tests that an agent which gets its name by its pane keeps what its
// client has reported.
func TestRegisteredByPane(t *testing.T) {
	o := inPane("%3", 50, 7)
	st := status(50_000, 200_000)
	st.RateLimits.FiveHour = hook.RateLimit{
		UsedPercentage: hook.Figure[float64]{Value: 40, Known: true},
		ResetsAt:       hook.Figure[int64]{Value: second(3600).Unix(), Known: true},
	}
	s := newScenario(t)
	s.play(
		hooked(1, 1, hook.Payload{Event: hook.SessionStart, Source: "startup", CWD: "/web"}, o),
		answers(2, 1, 50_000),
		reports(3, 1, st, o),
		registers(4, Registration{ID: "em", Pane: "%3"}),
		fires(5, 1, prompted, o),
	)
	a := s.f.agents["em"]
	if used := s.f.Limits(second(6))[0].Used; used != 0.4 || a.CWD != "/web" || a.Begun == 0 {
		t.Errorf("limit %v, started in %q at %v", used, a.CWD, a.Begun)
	}
}

// TestNameMoves tests what the engine and the queue need of an agent whose name has moved to
// another client.
func TestNameMoves(t *testing.T) {
	s := newScenario(t)
	a := from("", 7)
	a.Project = "/home/dev/a"
	b := from("", 8)
	b.Project = "/home/dev/b"
	s.play(
		starts(1, 1, "startup", a),
		registers(2, Registration{ID: "em", Session: uuid(1)}),
		fires(20, 1, prompted, a),
	)
	s.f.Activity(second(20))
	s.play(starts(21, 2, "startup", b), registers(22, Registration{ID: "em", Session: uuid(2)}))
	s.news.add(s.f.Clients([]Client{{
		PID: 8, ProcStart: "800", SessionID: uuid(2), Status: atPrompt, Updated: second(10),
	}}))
	if _, idle := s.f.Idle("em", second(100)); !idle {
		t.Error("it is not idle: the other client's prompt counts")
	}
	for id, want := range map[string]string{"em": b.Project, uuid(1): a.Project} {
		if got := s.f.Location(id).Project; got != want {
			t.Errorf("project of %s: got %q, want %q", nameOf(id), got, want)
		}
	}
	active := ""
	for _, ev := range s.f.Activity(second(30)) {
		active += nameOf(ev.Agent)
	}
	if active != "em" {
		t.Errorf("newly active: got %q, want em", active)
	}
}

// TestSessionOfNamed tests that the engine gets the parent of an agent that gets another name.
func TestSessionOfNamed(t *testing.T) {
	s := newScenario(t)
	s.play(
		starts(1, 2, "startup", from("", 8)),
		registers(2, Registration{ID: "web", Session: uuid(2), Parent: "boss", Name: "Web"}),
	)
	s.news = Update{}
	s.play(registers(3, Registration{ID: "em", Session: uuid(2)}))
	parents := map[string]string{}
	for _, ev := range s.news.Events {
		if ev.Kind == alerts.EventSeen {
			parents[ev.Agent] = ev.Parent
		}
	}
	if parents["em"] != "boss" || len(parents) > 1 {
		t.Errorf("got %v", parents)
	}
}

// TestParentOfNested tests that the engine gets the parent of a client which an agent has
// started.
func TestParentOfNested(t *testing.T) {
	s := newScenario(t)
	s.play(starts(1, 1, "startup", from("em", 7)), starts(2, 2, "startup", from("em", 8)))
	parent := ""
	for _, ev := range s.news.Events {
		if ev.Kind == alerts.EventSeen && ev.Agent == uuid(2) {
			parent = ev.Parent
		}
	}
	if parent != "em" {
		t.Errorf("got %q", parent)
	}
}

// TestLabelOfRenamed tests that no two agents get one label when the name of one moves, where the
// ids of sessions begin alike, as those of Codex do.
func TestLabelOfRenamed(t *testing.T) {
	s := newScenario(t)
	ids := []string{"01993d5f-0000-7000-8000-000000000001", "01993d5f-0000-7000-8000-000000000002"}
	for i, id := range ids {
		at := float64(i)
		s.write("/p/-home-dev-web/"+id+".jsonl", prompt(stampOf(at), id), reply(stampOf(at), id, 100, 10))
		s.f.Hook(&hook.Payload{SessionID: id, Event: prompted, SM: from("", 7+i)}, afterwards)
		s.play(registers(at+1, Registration{ID: "em", Session: id}))
	}
	s.play(registers(5, Registration{ID: "em", Session: uuid(9)}))
	seen := map[string]bool{"": true}
	for v := range s.f.All(created) {
		if l := v.Agent.Label; l != "" && seen[l] {
			t.Errorf("two agents have the label %s", l)
		} else {
			seen[l] = true
		}
	}
}
