package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/clients/clientstest"
)

// client returns process pid in the session uuid(n).
func client(pid, n int) Client {
	return Client{
		PID:       pid,
		ProcStart: "100",
		SessionID: uuid(n),
		Name:      "web-1a",
		Updated:   created.Add(time.Duration(n) * time.Second),
	}
}

func agents(f *Fleet) map[string]string {
	m := map[string]string{}
	for v := range f.All(created) {
		m[v.SessionID] = v.Agent.ID
		if v.Left != (v.Agent.Label == "") {
			m[v.SessionID] += " with label " + v.Agent.Label
		}
	}
	return m
}

func TestClients(t *testing.T) {
	f := settled()
	for n := range 7 {
		f.Apply(ofSession(n, prompt(after(n), "p")).whole())
	}
	f.Clients([]Client{client(7, 1), client(8, 3)})
	f.Clients([]Client{client(8, 3), client(7, 2)})
	f.Clients(nil) // a registry that could not be read ends nothing
	reused := client(8, 4)
	reused.ProcStart = "999"
	bare := client(9, 5)
	bare.ProcStart = ""
	f.Clients([]Client{client(7, 0), reused, bare})
	bare.SessionID = uuid(6)
	f.Clients([]Client{client(7, 0), reused, bare})
	diff(t, "agents", map[string]string{
		uuid(0): uuid(1), uuid(1): uuid(1), uuid(2): uuid(2), // 7 went from 1 to 2 to 0
		uuid(3): uuid(3), uuid(4): uuid(4), // another process of the same pid
		uuid(5): uuid(5), uuid(6): uuid(6), // a process without a start time
	}, agents(f))
	if v, _ := f.View(labelled(1), created); v.Client != client(7, 0) {
		t.Errorf("client: %+v", v.Client)
	}
	if v, _ := f.View(uuid(2), created); v.Client != (Client{}) || !v.Left {
		t.Errorf("client: %+v", v.Client)
	}
}

// TestClientsShare tests that of two processes in one session the one that reported last
// holds it, and that this does not change with every look.
func TestClientsShare(t *testing.T) {
	f := settled(
		ofSession(1, prompt(before(1), "p1")),
		ofSession(2, prompt(before(1), "p2")),
		ofSession(3, prompt(before(1), "p3")),
	)
	second := client(8, 1)
	second.Updated = created.Add(time.Hour)
	f.Clients([]Client{client(7, 1)})
	f.Clients([]Client{second, client(7, 1)})
	d, _ := f.Take()
	f.Stored(d)
	f.Clients([]Client{client(7, 1), second})
	if d, ok := f.Take(); ok {
		t.Errorf("got %+v, want nothing", d)
	}
	if v, _ := f.View(uuid(1), created); v.Client.PID != 8 {
		t.Errorf("got process %d", v.Client.PID)
	}
	f.Clients([]Client{client(7, 2), client(8, 3)})
	diff(
		t,
		"agents",
		map[string]string{uuid(1): uuid(1), uuid(2): uuid(2), uuid(3): uuid(1)},
		agents(f),
	)
}

func TestView(t *testing.T) {
	const a, b, c = "12345678-aaaa-4000-8000-000000000001", "12345678-aaaa-4000-8000-000000000002", "87654321-cccc-4000-8000-000000000001"
	f := settled()
	for i, id := range []string{a, b, c} {
		f.Apply(newTestFile("/p/x/"+id+".jsonl", prompt(after(i), "p")).whole())
	}
	f.Apply(newTestFile("/p/x/full.jsonl", `{"sessionId":"shown-id-1","type":"user"}`).whole())
	f.Apply(newTestFile("/p/y/full.jsonl", `{"sessionId":"shown-id-1","type":"user"}`).whole())
	f.Clients([]Client{{
		PID:       1,
		ProcStart: "1",
		SessionID: b,
		Name:      "web-1a",
	}})
	f.Clients([]Client{{
		PID:       1,
		ProcStart: "1",
		SessionID: c,
		Name:      "web-1a",
	}}) // b and c are one agent
	for _, want := range []struct {
		id, path string
		err      error
	}{
		{a, "/p/x/" + a + ".jsonl", nil},
		{b, "/p/x/" + c + ".jsonl", nil}, // the agent's newest
		{c, "/p/x/" + c + ".jsonl", nil},
		{"web-1a", "/p/x/" + c + ".jsonl", nil},
		{"12345678", "/p/x/" + a + ".jsonl", nil}, // a label
		{
			"12345678-aaa",
			"/p/x/" + c + ".jsonl",
			nil,
		}, // another one, that of the agent that began as b
		{"12345678-aaaa-", "", ErrAmbiguous}, // a prefix of two agents
		{"12345678-aaaa-4000-8000-000000000002", "/p/x/" + c + ".jsonl", nil},
		{"87654321-c", "/p/x/" + c + ".jsonl", nil},
		{"8765432", "", ErrUnknown}, // too short
		{"shown-id-1", "", ErrAmbiguous},
		{"shown-id", "/p/x/full.jsonl", nil},
		{"/p/y/full.jsonl", "/p/y/full.jsonl", nil},
		{"", "", ErrUnknown},
		{"unknown-id", "", ErrUnknown},
	} {
		v, err := f.View(want.id, created)
		if v.Path != want.path || !errors.Is(err, want.err) {
			t.Errorf("%q: got %q, %v; want %q, %v", want.id, v.Path, err, want.path, want.err)
		}
	}
}

func TestTake(t *testing.T) {
	disk := newStore()
	f := disk.unsettled()
	p := ofSession(
		1,
		reply(before(1), "m1", 9_000, 10),
		boundary(before(1), "b1", "auto", 9_000),
	)
	f.Apply(p.whole())
	if _, ok := f.Take(); ok || f.Settled() || len(f.Views(created)) != 0 {
		t.Error("got an update before the history is complete")
	}
	f.Settle(created)
	d, ok := f.Take()
	if !ok || !d.Settled || len(d.Files) != 1 || len(d.Records) != 1 || len(d.Claims) != 2 ||
		len(d.Messages) != 1 ||
		d.Counters == nil {
		t.Fatalf("got %v %+v", ok, d)
	}
	f.Apply(p.add(reply(after(1), "m2", 9_000, 10)).grown()) // while it is being stored
	disk.put(d)
	f.Stored(d)
	if len(f.messages) != 1 || len(f.claims) != 2 {
		t.Errorf("in memory: %d messages, %d compactions", len(f.messages), len(f.claims))
	}
	last, ok := f.Take()
	if d := cmp.Diff(Delta{
		Settled:  true,
		Files:    []File{f.files[p.path].File},
		Messages: last.Messages,
		Counters: last.Counters,
	}, last); d != "" || len(last.Messages) != 1 {
		t.Errorf("%v (-want +got):\n%s", ok, d)
	}
	disk.put(last)
	f.Stored(last)
	if d, ok := f.Take(); ok {
		t.Errorf("got %+v", d)
	}
	f.Apply(p.whole())
	if n := f.Counters().Tokens.Output; n != 10 || len(f.messages) != 0 {
		t.Errorf("messages on disk counted again: %d", n)
	}
	f.Apply(p.gone())
	if d, _ := f.Take(); len(d.Gone) != 1 || d.Gone[0] != p.path || len(d.Files) != 0 {
		t.Errorf("got %+v", d)
	}
}

// TestAgentLost tests that if the stored record of an agent is damaged, its session is a
// separate agent, in events as in views.
func TestAgentLost(t *testing.T) {
	f := New(Options{Clients: clientstest.Table()}, Stored{
		Created: created,
		Settled: true,
		Records: []SessionRecord{{SessionID: uuid(1), Agent: "worker", Label: labelled(1)}},
	})
	c := ofSession(1, reply(after(1), "m1", 9_000, 1)).whole()
	c.Entries = append(c.Entries, transcript.Entry{Kind: transcript.KindContext, Text: "go on"})
	n := f.Apply(c)
	v, err := f.View(uuid(1), created)
	if err != nil || v.Agent.ID != uuid(1) || n.Received[0].Agent != uuid(1) ||
		n.Events[0].Agent != uuid(1) {
		t.Errorf("%q: %+v, %v", v.Agent.ID, n, err)
	}
}

// TestTakeRecords tests that seats are stored when they are assigned, and again when more is
// known of them.
func TestTakeRecords(t *testing.T) {
	f := settled()
	records := func() map[string]string {
		d, _ := f.Take()
		f.Stored(d)
		m := map[string]string{}
		for _, s := range d.Records {
			m[s.SessionID] = s.Label
		}
		return m
	}
	f.Apply(ofSession(1, "{}").whole())
	f.Clients([]Client{client(7, 2)})
	diff(
		t,
		"new",
		map[string]string{uuid(1): labelled(1), uuid(2): labelled(2)},
		records(),
	)
	f.Apply(ofSession(2, prompt(after(1), "p")).whole())
	diff(t, "with a transcript", map[string]string{}, records())
	f.Clients([]Client{client(7, 1)})
	if got := records(); len(got) != 2 {
		t.Errorf("after /clear: %v", got)
	}
}
