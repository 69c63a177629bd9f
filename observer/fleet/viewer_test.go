package fleet

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/clients"
	"sm/transcript/clients/clientstest"
)

func TestViewFields(t *testing.T) {
	f := New(Options{
		Clients: clientstest.Table(),
		Windows: []transcript.WindowRule{{Model: "claude-opus-4-8", Tokens: 200_000}},
		Thresholds: alerts.Thresholds{
			WarningPercentage:  50,
			CriticalPercentage: 65,
			EarlyRatio:         0.8,
		},
	}, Stored{Created: created})
	p := ofSession(1, prompt(
		after(0),
		"p1",
	), reply(
		after(1),
		"m1",
		150_000,
		10,
	), boundary(
		after(2),
		"b1",
		"auto",
		150_010,
	),
		sidechain(reply(after(2), "m2", 9_000, 5)), "{", reply(after(3), "m3", 100_000, 20))
	f.Apply(p.whole())
	f.Apply(newTestFile(
		"/p/-home-dev-web/"+uuid(1)+"/subagents/agent-a.jsonl",
		reply(after(9), "m5", 9_000, 50),
	).whole())
	f.Settle(created)
	at := created.Add(3 * time.Minute)
	want := View{
		Session: p.fold.Session,
		Agent: Agent{
			ID:       uuid(1),
			Present:  Present{Session: uuid(1)},
			Provider: "claude",
			Label:    labelled(1),
			Counted:  one(auto),
		},
		SessionID:     uuid(1),
		Program:       Claude,
		Path:          p.path,
		Project:       "web",
		Window:        transcript.Window{Tokens: 200_000, Source: transcript.WindowConfig},
		Level:         alerts.Warn,
		Basis:         clients.Assumed,
		SubagentFiles: 1,
		Last:          transcript.InstantOf(at),
		Live:          true,
	}
	side := transcript.Usage{Input: 2, CacheCreation: 100, CacheRead: 8_898, Output: 50}
	want.SideMessages++
	want.SideTokens = want.SideTokens.Plus(side)
	diff(t, "view", []View{want}, f.Views(at.Add(10*time.Minute)))
	f.Apply(p.add(boundary(after(4), "b2", "manual", 100_010)).grown())
	want.Level = alerts.OK
	want.Session = p.fold.Session
	want.SideMessages++
	want.SideTokens = want.SideTokens.Plus(side)
	want.Agent.Counted[manual] = 1
	want.Last = want.Active
	want.Live = false
	diff(t, "after a compaction", []View{want}, f.Views(at.Add(11*time.Minute+1)))
}

// TestOutdatedTitle tests that titles of earlier versions, with the branch instead of the
// prompt, are read again.
func TestOutdatedTitle(t *testing.T) {
	p := ofSession(1, prompt(before(1), "p1"))
	x := File{Cursor: p.whole().Cursor, Name: p.name, Session: p.fold.Session}
	x.Title = transcript.Title{Text: "main", Source: 20}
	f := New(Options{Clients: clientstest.Table()}, Stored{Settled: true, Files: []File{x}})
	again := f.Cursors()[0].Size != x.Cursor.Size // its file is read
	c := p.grown()
	c.Title = transcript.NewTitle("fix/parser", transcript.TitleBranch)
	f.Apply(c)
	if got := f.Views(created)[0].Title; got != "fix/parser" || !again {
		t.Errorf("the title is %q; read again: %t", got, again)
	}
}

func TestViewsOrder(t *testing.T) {
	f := settled(ofSession(
		3,
		prompt(before(1), "p1"),
	), ofSession(
		1,
		prompt(before(1), "p2"),
	), ofSession(
		2,
		prompt(before(9), "p3"),
	),
		newTestFile("/p/x/new.jsonl", prompt(after(1), "p4")), newTestFile("/p/x/none.jsonl", "{}"))
	var got []string
	for _, v := range f.Views(created) {
		got = append(got, v.Agent.Label)
	}
	diff(t, "order", []string{"new", labelled(1), labelled(3), labelled(2), "none"}, got)
	n := 0
	for range f.All(created) {
		if n++; n == 2 {
			break
		}
	}
}

// idle returns a fleet of n sessions without news.
func idle(n int, keep func(Delta)) *Fleet {
	f := newStore().unsettled()
	for i := range n {
		f.Apply(idleChange(i))
	}
	f.Settle(created)
	d, _ := f.Take()
	keep(d)
	f.Stored(d)
	return f
}

// idleChange returns a change with separate strings, as those read from files.
func idleChange(i int) transcript.Change {
	path := fmt.Sprintf(
		"/home/developer/.claude/projects/-home-developer-src-project-%03d/%s.jsonl",
		i%100,
		uuid(i),
	)
	c := transcript.Change{
		Whole:  true,
		Name:   strings.Clone(uuid(i)),
		Cursor: transcript.Cursor{Path: path},
		Session: transcript.Session{
			ID:      uuid(i),
			Model:   strings.Clone("claude-opus-4-8-20260101"),
			Version: strings.Clone("2.1.197"),
			CWD:     fmt.Sprintf("/home/developer/src/project-%03d", i%100),
			Started: 1,
			Active:  transcript.Instant(i),
			Sums:    transcript.Sums{Compactions: one(auto), Messages: 10},
			Bytes:   1 << 20,
			Reading: transcript.Reading{At: transcript.Instant(i), Tokens: 90_000},
		},
	}
	c.Compactions = []transcript.Compaction{{
		Key:      transcript.Key(2*i + 1),
		Stamp:    transcript.Key(2*i + 2),
		Digest:   transcript.Key(i),
		Boundary: true,
	}}
	for j := range 10 {
		c.Messages = append(c.Messages, transcript.Message{
			ID:    transcript.Key(i*10 + j + 1),
			Usage: transcript.Usage{Input: 5},
		})
	}
	return c
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemory tests that an idle session takes at most 2 KB, in a fleet as it was read and
// after a restart.
func TestMemory(t *testing.T) {
	const n, most = 10_000, 2 << 10
	disk := newStore()
	idle(n, disk.put)
	for _, c := range []struct {
		name string
		make func() *Fleet
	}{
		{"read", func() *Fleet { return idle(n, func(Delta) {}) }},
		{"restarted", func() *Fleet {
			return disk.restored(t)
		}},
	} {
		before := heap()
		f := c.make()
		used := int64(heap()-before) / n
		if t.Logf("%s: %d bytes a session", c.name, used); used > most {
			t.Errorf("more than %d bytes a session", most)
		}
		runtime.KeepAlive(f)
	}
}
