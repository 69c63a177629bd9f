package fleet

import (
	"slices"
	"testing"
	"time"

	"sm/transcript"
	"sm/transcript/claude/hook"
	"sm/transcript/clients/clientstest"
)

// open returns an open thread, in a process with its own terminal or in a daemon.
func open(pid, n int, own bool) Client {
	return Client{
		SessionID: uuid(n),
		Held:      true,
		Holder:    transcript.Holder{PID: pid, Start: "100", Own: own},
	}
}

func ofParent(p *testFile, parent string) transcript.Change {
	c := p.whole()
	also := c.Session.Details()
	also.Parent = parent
	also.Client = "codex"
	c.Session.SetParticulars(also)
	return c
}

// takeThreads makes the fleet check which threads its agents are in.
func takeThreads(f *Fleet, now time.Time, open ...Client) (n Update) {
	f.Clients(open)
	for _, u := range f.Threads(now) {
		n.add(u)
	}
	return n
}

// TestThreads tests that the successive threads in a client with a terminal belong to one
// agent, named by the client's environment, and that threads of subagents and of a daemon are
// separate agents.
func TestThreads(t *testing.T) {
	var asked []int
	f := New(Options{
		Clients: clientstest.Table(),
		Alive:   func(int, string) bool { return true },
		Origin: func(pid int) hook.Origin {
			asked = append(asked, pid)
			return hook.Origin{Agent: "worker", Name: "worker"}
		},
	}, Stored{Created: created})
	f.Settle(created)
	hour := created.Add(time.Hour)
	f.Clock(hour)
	f.Apply(ofParent(ofSession(1, prompt(after(1), "p1")), ""))
	f.Apply(ofParent(ofSession(3, prompt(after(1), "p3")), ""))
	daemon := open(9, 3, false)
	takeThreads(f, hour, open(7, 1, true), daemon)
	takeThreads(f, hour, open(7, 1, true), daemon)
	diff(t, "at first", map[string]string{uuid(1): "worker", uuid(3): uuid(3)}, agents(f))
	diff(t, "asked for the origin of", []int{7}, asked)

	// Within a turn, a new thread is a subagent's if it has no transcript or names its
	// parent.
	takeThreads(f, hour, open(7, 1, true), open(7, 2, true), daemon)
	f.Apply(ofParent(ofSession(2, prompt(after(2), "p2")), uuid(1)))
	takeThreads(f, hour, open(7, 1, true), open(7, 2, true), daemon)
	diff(
		t,
		"a subagent",
		map[string]string{uuid(1): "worker", uuid(2): uuid(2), uuid(3): uuid(3)},
		agents(f),
	)

	// When the client is idle, a new thread was started by the user: the same agent, in a new
	// cycle.
	f.Apply(ofParent(
		ofSession(
			1,
			prompt(after(1), "p1"),
			`{"type":"system","subtype":"turn_duration","uuid":"e1","timestamp":"`+after(3)+`"}`,
		),
		"",
	))
	// No transcript has a later time: the new cycle starts now, not with the newest record.
	later := created.Add(2 * time.Hour)
	n := takeThreads(f, later, open(7, 1, true), open(7, 4, true), daemon)
	if len(n.Events) != 1 || n.Events[0].Agent != "worker" || !n.Events[0].At.Equal(later) {
		t.Errorf("events of a new thread: %+v", n.Events)
	}
	if s := f.Location("worker"); s.Session != uuid(4) || s.At.PID != 7 || s.Daemon ||
		!s.Open || s.Provider != "codex" {
		t.Errorf("got %+v", s)
	}
	if s := f.Location(uuid(3)); s.At.PID != 0 || !s.Daemon {
		t.Errorf("in the daemon: %+v", s)
	}
	if agent := f.Caller([]Process{{12, "5"}, {7, "100"}}); agent != "worker" {
		t.Errorf("command of the client: got agent %q", agent)
	}
	if agent := f.Caller([]Process{{12, "5"}, {9, "100"}}); agent != "" {
		t.Errorf("command of the daemon: got agent %q", agent)
	}
	if n := takeThreads(
		f,
		later,
		open(7, 1, true),
		open(7, 4, true),
		daemon,
	); len(n.Events) != 0 {
		t.Errorf("got %+v, want no events", n.Events)
	}
}

// TestThreadReceived tests that the text of a new client's first prompt is kept when its
// transcript is read before its process is found.
func TestThreadReceived(t *testing.T) {
	f := New(Options{
		Clients: clientstest.Table(),
		Alive:   func(int, string) bool { return true },
		Origin: func(int) hook.Origin {
			return hook.Origin{Agent: "worker"}
		},
	}, Stored{Created: created})
	f.Settle(created)
	minute := created.Add(time.Minute)
	f.Clock(minute)
	c := ofParent(ofSession(1, prompt(after(1), "p1")), "")
	c.Whole = false
	c.Entries = []transcript.Entry{{
		Kind: transcript.KindContext,
		Text: "[sm x] #a1b2c3",
		At:   transcript.InstantOf(created.Add(time.Minute)),
	}}
	if n := f.Apply(c); len(n.Received) != 1 || n.Received[0].Agent != uuid(1) {
		t.Fatalf("got %+v", n.Received)
	}
	others := ofParent(ofSession(2, prompt(after(1), "p2")), "")
	others.Whole = false
	others.Entries = slices.Repeat(c.Entries, 100)
	f.Apply(others) // such as threads of a daemon
	n := takeThreads(f, minute, open(7, 1, true))
	diff(
		t,
		"received",
		[]Received{{"worker", "[sm x] #a1b2c3", transcript.InstantOf(created.Add(time.Minute))}},
		n.Received,
	)
	if n := takeThreads(f, minute, open(7, 1, true)); len(n.Received) != 0 {
		t.Errorf("received twice: %+v", n.Received)
	}
}

// TestThread tests that an agent's thread is the one that its client has open, and that a
// subagent has none, though its thread stays open when it has finished.
func TestThread(t *testing.T) {
	f := unsettled()
	for n, parent := range []string{1: "", 2: uuid(1), 3: ""} {
		c := ofParent(ofSession(n, reply(before(1), "m1", 9_000, 10)), parent)
		c.Session.InTurn = false
		f.Apply(c)
	}
	f.Settle(created)
	f.Clients([]Client{open(7, 1, true), open(7, 2, true)})
	for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: false} {
		got, rests, ok := f.Thread(uuid(n), created)
		if ok != want || rests != want ||
			ok && got != (Thread{uuid(n), "/p/-home-dev-web/" + uuid(n) + ".jsonl", 7}) {
			t.Errorf("%d: %+v, rests: %v, ok: %v", n, got, rests, ok)
		}
	}
}

// TestSubagentEnds tests that the thread of a subagent ends with its client, which keeps it
// open until then.
func TestSubagentEnds(t *testing.T) {
	t.Parallel()
	f := unsettled()
	f.Apply(ofParent(ofSession(2, reply(before(1), "m1", 9_000, 10)), uuid(1)))
	f.Settle(created)
	takeThreads(f, created, open(7, 2, true))
	takeThreads(f, created.Add(time.Minute))
	v, err := f.View(uuid(2), created.Add(time.Minute))
	noErrors(t, err)
	if v.Live || !v.Ended {
		t.Errorf("live=%t ended=%t", v.Live, v.Ended)
	}
}
