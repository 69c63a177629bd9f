package fleet

import (
	"testing"

	"sm/transcript/claude/hook"
)

// TestIdentityOfProcesses: which of several clients it is that speaks. What an agent
// starts inherits its environment, and with it the agent's name.
func TestIdentityOfProcesses(t *testing.T) {
	em := from("em", 7)
	nested := from("em", 8)
	em.Name = "web"
	em.Parent = "boss"
	nested.Name = "web"
	nested.Parent = "boss"
	pane := "tmux-3-" + paneHash
	for _, c := range []struct {
		name  string
		steps []step
		want  standing
	}{
		{"a client that an agent has started", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				2,
				2,
				"startup",
				nested,
			), fires(
				3,
				1,
				used,
				em,
			), fires(
				4,
				2,
				stopped,
				nested,
			), shows(
				4,
				2,
				9_000,
				nested,
			),
		}, standing{Sits: map[string]int{"em": 1, "#2": 2}, Parents: map[string]string{"em": "boss", "#2": "em"}}},
		{"it is known by its transcript first", []step{
			starts(1, 1, "startup", em), answers(2, 2, 9_000), fires(3, 2, prompted, nested),
		}, standing{Sits: map[string]int{"em": 1, "#2": 2}, Parents: map[string]string{"em": "boss", "#2": "em"}}},
		{"it goes on after /clear", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				2,
				2,
				"startup",
				nested,
			), starts(
				10,
				3,
				"clear",
				nested,
			), shows(
				11,
				3,
				0,
				nested,
			),
		}, standing{
			Sits:    map[string]int{"em": 1, "#2": 3},
			Left:    map[int]string{2: "#2"},
			Parents: map[string]string{"em": "boss", "#2": "em"},
			Resets:  []string{"#2 clear 3"},
		}},
		{"it goes on after the agent's client has ended", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				2,
				2,
				"startup",
				nested,
			), ends(7), fires(
				10,
				2,
				used,
				nested,
			), starts(
				11,
				3,
				"clear",
				nested,
			),
		}, standing{
			Sits:    map[string]int{"em": 1, "#2": 3},
			Left:    map[int]string{2: "#2"},
			Parents: map[string]string{"em": "boss", "#2": "em"},
			Resets:  []string{"#2 clear 3"},
		}},
		{"it was there before the observer", []step{
			shows(
				1,
				1,
				9_000,
				em,
			), restarts, ends(7), starts(
				3,
				2,
				"startup",
				from("em", 9),
			), starts(
				4,
				3,
				"startup",
				nested,
			),
		}, standing{
			Sits:    map[string]int{"em": 2, "#3": 3},
			Left:    map[int]string{1: "em"},
			Parents: map[string]string{"em": "boss", "#3": "em"},
			Resets:  []string{"em session 2"},
		}},
		{"one that has ended leaves the rec alone", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), starts(
				2,
				2,
				"startup",
				nested,
			), ends(8), fires(
				3,
				2,
				left,
				nested,
			), fires(
				4,
				1,
				used,
				em,
			),
		}, standing{Sits: map[string]int{"em": 1, "#2": 2}, Parents: map[string]string{"em": "boss", "#2": "em"}}},
		{"it does not say when it began, and the registry knows its sessions", []step{
			starts(1, 1, "startup", em), fires(2, 2, prompted, hook.Origin{
				Agent: "em",
				PID:   8,
			}), holds(3, 8, 2), holds(10, 8, 3), fires(11, 3, prompted, hook.Origin{
				Agent: "em",
				PID:   8,
			}),
		}, standing{
			Sits:    map[string]int{"em": 1, "#2": 3},
			Left:    map[int]string{2: "#2"},
			Parents: map[string]string{"em": "boss", "#2": "em"},
			Resets:  []string{"#2 session 3"},
		}},
		{"in a pane", []step{
			starts(
				1,
				1,
				"startup",
				inPane("%3", 50, 7),
			), starts(
				2,
				2,
				"startup",
				inPane("%3", 50, 8),
			), fires(
				3,
				1,
				used,
				inPane("%3", 50, 7),
			),
		}, standing{Sits: map[string]int{pane: 1, "#2": 2}, Parents: map[string]string{"#2": pane}}},
		{"a client that is started again keeps the rec", []step{
			starts(1, 1, "startup", em), ends(7), starts(10, 2, "startup", nested), fires(11, 2, prompted, nested),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{1: "em"},
			Parents: map[string]string{"em": "boss"},
			Resets:  []string{"em session 2"},
		}},
		{"what comes late of the client before", []step{
			starts(
				1,
				1,
				"startup",
				em,
			), ends(7), starts(
				10,
				2,
				"startup",
				nested,
			), fires(
				9,
				1,
				stopped,
				em,
			), shows(
				10.5,
				1,
				90_000,
				em,
			), fires(
				11,
				1,
				left,
				em,
			),
			fires(12, 2, used, nested),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{1: "em"},
			Parents: map[string]string{"em": "boss"},
			Resets:  []string{"em session 2"},
		}},
		{"a client that takes up the session before", []step{
			starts(1, 1, "startup", em), ends(7), starts(10, 1, "resume", nested), fires(11, 1, prompted, nested),
		}, standing{Sits: map[string]int{"em": 1}, Parents: map[string]string{"em": "boss"}}},
		{"no hook speaks: a client takes up the session before a /clear", []step{
			holds(
				1,
				7,
				1,
			), answers(
				2,
				1,
				9_000,
			), holds(
				10,
				7,
				2,
			), answers(
				11,
				2,
				8_000,
			), ends(7), holds(
				20,
				8,
				1,
			), answers(
				21,
				1,
				12_000,
			),
		}, standing{
			Sits:   map[string]int{"#1": 1},
			Left:   map[int]string{2: "#1"},
			Resets: []string{"#1 session 2", "#1 session 1"},
		}},
		{"no hook speaks: the same, while the client of before works on", []step{
			holds(
				1,
				7,
				1,
			), answers(
				2,
				1,
				9_000,
			), holds(
				10,
				7,
				2,
			), answers(
				11,
				2,
				8_000,
			), holds(
				20,
				7,
				2,
				8,
				1,
			), answers(
				21,
				1,
				12_000,
			),
		}, standing{Sits: map[string]int{"#1": 2}, Left: map[int]string{1: "#1"}, Resets: []string{"#1 session 2"}}},
		{"the same session in two clients is the first one's", []step{
			starts(
				1,
				1,
				"startup",
				from("", 7),
			), starts(
				2,
				1,
				"resume",
				from("", 8),
			), fires(
				3,
				1,
				prompted,
				from("", 8),
			), fires(
				4,
				1,
				prompted,
				from("", 7),
			),
		}, standing{Sits: map[string]int{"#1": 1}}},
		{"a fork while the origin goes on is another", []step{
			starts(
				1,
				1,
				"startup",
				from("", 7),
			), starts(
				2,
				1,
				"resume",
				from("", 8),
			), shows(
				3,
				2,
				9_000,
				from("", 8),
			), fires(
				4,
				1,
				prompted,
				from("", 7),
			),
			starts(9, 3, "clear", from("", 7)), fires(10, 2, prompted, from("", 8)),
		}, standing{
			Sits:   map[string]int{"#1": 3, "#2": 2},
			Left:   map[int]string{1: "#1"},
			Resets: []string{"#1 clear 3"},
		}},
		{"a named client takes up the session of one that has ended", []step{
			starts(
				1,
				1,
				"startup",
				from("", 7),
			), starts(
				2,
				2,
				"clear",
				from("", 7),
			), ends(7), starts(
				10,
				2,
				"resume",
				from("em", 8),
			), fires(
				11,
				2,
				prompted,
				from("em", 8),
			),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{1: "em"},
			Resets:  []string{"#1 clear 2"},
			Renamed: []string{"#1 to em"},
		}},
		{"the same, while that still runs", []step{
			starts(
				1,
				1,
				"startup",
				from("", 7),
			), starts(
				10,
				1,
				"resume",
				from("em", 8),
			), fires(
				11,
				1,
				prompted,
				from("em", 8),
			),
		}, standing{Sits: map[string]int{"#1": 0, "em": 1}}},
		{"who has been started by an agent that gets a name", []step{
			starts(
				1,
				1,
				"startup",
				inPane("%3", 50, 7),
			), starts(
				2,
				2,
				"startup",
				inPane("%3", 50, 8),
			), registers(3, Registration{
				ID:   "em",
				Pane: "%3",
			}),
			fires(4, 1, prompted, inPane("%3", 50, 7)), starts(5, 3, "clear", inPane("%3", 50, 8)),
		}, standing{
			Sits:    map[string]int{"em": 1, "#2": 3},
			Left:    map[int]string{2: "#2"},
			Parents: map[string]string{"#2": "em"},
			Resets:  []string{"#2 clear 3"},
			Renamed: []string{pane + " to em"},
		}},
		{"signals that tell no process are the agent's", []step{
			starts(1, 1, "startup", em), fires(2, 2, prompted, hook.Origin{Agent: "em"}),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{1: "em"},
			Parents: map[string]string{"em": "boss"},
			Resets:  []string{"em session 2"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(c.steps...)
			s.check(c.want)
			again := s.standing()
			s.play(restarts)
			s.check(again)
		})
	}
}

// TestProcessIsTheAgentsOwn: what is started in an agent's environment, or speaks late,
// changes neither the agent's process and pane nor its name, and has none of them.
func TestProcessIsTheAgentsOwn(t *testing.T) {
	own := inPane("%3", 50, 7)
	nested := inPane("%3", 50, 8)
	own.Agent = "em"
	own.Name = "web"
	nested.Agent = "em"
	nested.Name = "web"
	s := newScene(t).play(starts(1, 1, "startup", own), starts(2, 2, "startup", nested), fires(3, 1, used, own))
	type told struct {
		Name, Label, Pane string
		PID               int
	}
	look := func(id string) told {
		v, err := s.f.View(id, created)
		if err != nil {
			t.Fatal(err)
		}
		return told{v.Name, v.Label, v.Pane, v.PID}
	}
	diff(t, "the agent", told{"web", "web", "%3", 7}, look("em"))
	diff(t, "by name", told{"web", "web", "%3", 7}, look("web"))
	diff(t, "the nested one", told{"", labelled(2), "", 8}, look(uuid(2)))
	moved := inPane("%9", 50, 9)
	moved.Agent = "em"
	moved.Name = "web"
	s.play(ends(7), starts(10, 3, "startup", moved), fires(9.9, 1, stopped, own), shows(10.2, 1, 9_000, own))
	diff(t, "started again elsewhere", told{"web", "web", "%9", 9}, look("em"))
}

// TestRegistration: an agent is found by the name that it was given, by its session and
// by its pane, whatever was known of it before.
func TestRegistration(t *testing.T) {
	pane := "tmux-3-" + paneHash
	for _, c := range []struct {
		name  string
		steps []step
		want  standing
	}{
		{"by id", []step{registers(1, Registration{
			ID: "em",
		}), starts(2, 1, "startup", from("em", 7))}, standing{
			Sits: map[string]int{"em": 1},
		}},
		{"by session, before all", []step{
			registers(1, Registration{
				ID:      "em",
				Session: uuid(1),
			}), fires(2, 1, prompted, from("", 7)), starts(3, 2, "clear", from("", 7)),
		}, standing{Sits: map[string]int{"em": 2}, Left: map[int]string{1: "em"}, Resets: []string{"em clear 2"}}},
		{"by session, after its transcript", []step{answers(1, 1, 9_000), registers(2, Registration{
			ID:      "em",
			Session: uuid(1),
		})},
			standing{Sits: map[string]int{"em": 1}, Renamed: []string{"#1 to em"}}},
		{"by session, after its hooks", []step{starts(1, 1, "startup", from("", 7)), registers(2, Registration{
			ID:      "em",
			Session: uuid(1),
		}), starts(3, 2, "clear", from("", 7))},
			standing{
				Sits:    map[string]int{"em": 2},
				Left:    map[int]string{1: "em"},
				Resets:  []string{"em clear 2"},
				Renamed: []string{"#1 to em"},
			}},
		{"by session, after hooks from a pane", []step{
			starts(
				1,
				4,
				"startup",
				inPane("%3", 50, 7),
			), starts(
				2,
				1,
				"clear",
				inPane("%3", 50, 7),
			), registers(3, Registration{
				ID:      "em",
				Session: uuid(1),
			}),
			fires(4, 1, prompted, inPane("%3", 50, 7)), starts(5, 2, "clear", inPane("%3", 50, 7)),
		}, standing{
			Sits:    map[string]int{"em": 2},
			Left:    map[int]string{4: "em", 1: "em"},
			Resets:  []string{pane + " clear 1", "em clear 2"},
			Renamed: []string{pane + " to em"},
		}},
		{"by pane, before all", []step{registers(1, Registration{
			ID:   "em",
			Pane: "%3",
		}), starts(2, 1, "startup", inPane("%3", 50, 7))},
			standing{Sits: map[string]int{"em": 1}}},
		{"by pane, after its hooks", []step{
			starts(1, 1, "startup", inPane("%3", 50, 7)), registers(2, Registration{
				ID:   "em",
				Pane: "%3",
			}), fires(3, 1, prompted, inPane("%3", 50, 7)),
		}, standing{Sits: map[string]int{"em": 1}, Renamed: []string{pane + " to em"}}},
		{"a pane of another server", []step{
			registers(1, Registration{
				ID:   "em",
				Pane: "%3",
			}), starts(2, 1, "startup", inPane("%3", 50, 7)), ends(7), starts(3, 2, "startup", inPane("%3", 60, 8)),
		}, standing{Sits: map[string]int{"em": 1, inPane("%3", 60, 8).Agent: 2}}},
		{"of one that names itself", []step{
			starts(1, 1, "startup", from("web", 7)), registers(2, Registration{
				ID:      "em",
				Session: uuid(1),
			}), fires(3, 1, prompted, from("web", 7)),
		}, standing{Sits: map[string]int{"em": 0, "web": 1}, Resets: []string{"web session 1"}}},
		{"again, with more", []step{
			registers(1, Registration{
				ID: "em",
			}), registers(2, Registration{
				ID:      "em",
				Parent:  "boss",
				Session: uuid(1),
			}), registers(3, Registration{
				ID:      "em",
				Session: uuid(1),
			}),
		}, standing{Sits: map[string]int{"em": 1}, Parents: map[string]string{"em": "boss"}}},
		{"with another session", []step{
			registers(1, Registration{
				ID:      "em",
				Session: uuid(1),
			}), registers(2, Registration{
				ID:      "em",
				Session: uuid(2),
			}), registers(3, Registration{
				ID:      "em",
				Session: uuid(1),
			}),
		}, standing{
			Sits:   map[string]int{"em": 1},
			Left:   map[int]string{2: "em"},
			Resets: []string{"em session 2", "em session 1"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t).play(c.steps...)
			s.check(c.want)
			again := s.standing()
			s.play(restarts)
			s.check(again)
		})
	}
}
