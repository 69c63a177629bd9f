package fleet

import (
	"errors"
	"testing"

	"sm/transcript"
	"sm/transcript/claude/hook"
)

// TestAgentsSurvive tests that all stored fields of agents are restored.
func TestAgentsSurvive(t *testing.T) {
	nested := from("em", 8)
	pane := inPane("%3", 50, 7)
	pane.Agent = "em"
	pane.Name = "web"
	pane.Parent = "boss"
	pane.Provider = "claude"
	s := newScenario(t).play(
		starts(
			1,
			1,
			"startup",
			pane,
		), answers(
			2,
			1,
			9_000,
		), shows(
			3,
			1,
			9_000,
			pane,
		), starts(
			4,
			2,
			"startup",
			nested,
		), starts(
			5,
			3,
			"resume",
			pane,
		),
		registers(6, Registration{
			ID:   "reg",
			Pane: "%4",
		}), writes(1, boundary(stampOf(7), "b1", "auto", 150_000)),
	)
	before := map[string]Agent{}
	for id, a := range s.f.agents {
		before[id] = a.Agent
	}
	if a := before["em"]; a.Sample.Tokens == 0 || a.Resumed == "" || a.Counted != one(auto) ||
		before[uuid(2)].Host != "em" {
		t.Errorf("missing fields before the restart: %+v", before)
	}
	s.play(restarts)
	after := map[string]Agent{}
	for id, a := range s.f.agents {
		after[id] = a.Agent
	}
	diff(t, "agents", before, after)
	s.play(fires(20, 2, used, nested)) // still known as another process
	diff(t, "the nested one", 2, number(s.f.agents[uuid(2)].Session))
}

// TestPastSession tests that a session that its agent has left has a separate row and no
// label, that the agent's names refer to the present session, and that nothing is sent for
// the old one.
func TestPastSession(t *testing.T) {
	em := from("em", 7)
	em.Name = "web"
	s := newScenario(t).play(
		answers(
			1,
			1,
			60_000,
		), fires(
			2,
			1,
			prompted,
			em,
		), writes(
			1,
			boundary(stampOf(3), "b1", "auto", 150_000),
		), answers(
			4,
			1,
			50_000,
		),
		starts(10, 2, "clear", em), answers(11, 2, 9_000),
	)
	type shown struct {
		Agent, Label, Session string
		Past                  bool
		Tokens                int64
		Compactions           transcript.TriggerCounts
	}
	look := func(id string) shown {
		v, err := s.f.View(id, created)
		if err != nil {
			t.Errorf("%s: %v", id, err)
		}
		return shown{
			nameOf(v.Agent.ID),
			v.Agent.Label,
			nameOf(v.SessionID),
			v.Left,
			v.Reading.Tokens,
			v.Compactions,
		}
	}
	now := shown{
		Agent:   "em",
		Label:   "web",
		Session: "#2",
		Tokens:  9_000,
	}
	for _, id := range []string{"em", "web", uuid(2), uuid(2)[:12]} {
		diff(t, id, now, look(id))
	}
	for _, id := range []string{uuid(1), uuid(1)[:13]} {
		diff(t, id, shown{
			Agent:       "#1",
			Session:     "#1",
			Past:        true,
			Tokens:      50_000,
			Compactions: one(auto),
		}, look(id))
	}
	if _, _, err := s.f.Usage(&hook.ContextUsage{
		SessionID: uuid(1),
		Event:     "compaction",
	}, afterwards); !errors.Is(err, ErrUnknown) {
		t.Errorf("post for the earlier session: got error %v", err)
	}
	for _, id := range []string{"em", "web", uuid(1), uuid(2), uuid(1)[:13]} {
		if agent, err := s.f.Agent(
			id,
			false,
		); agent != "em" ||
			err != nil { // a message for it is for the agent
			t.Errorf("%s is %q: %v", id, agent, err)
		}
	}
	if n := len(s.f.Views(created)); n != 2 || s.f.agents[uuid(1)] != nil {
		t.Errorf("%d views, agents %v", n, s.f.agents)
	}
	diff(
		t,
		"compactions of the agent",
		one(auto),
		func() transcript.TriggerCounts {
			v, _ := s.f.View(
				"em",
				created,
			)
			return v.Agent.Counted
		}(),
	)
	s.news = Update{}
	s.play(writes(
		1,
		prompt(stampOf(20), "p9"),
		reply(stampOf(21), "m9", 199_000, 10),
		boundary(stampOf(22), "b2", "auto", 199_000),
	))
	if len(s.news.Events) > 0 {
		t.Errorf("records of the earlier session gave events of the agent: %+v", s.news.Events)
	}
	// A message received in the earlier session was for the agent.
	s.play(writes(
		1,
		`{"type":"attachment","uuid":"x1","timestamp":"`+stampOf(23)+`","attachment":{"type":"hook_additional_context","content":["[sm x] #a1b2c3"]}}`,
	))
	diff(
		t,
		"received",
		[]Received{{"em", "[sm x] #a1b2c3", transcript.InstantOf(second(23))}},
		s.news.Received,
	)
}
