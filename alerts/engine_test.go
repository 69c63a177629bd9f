package alerts

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		want   string
		change func(*Options)
	}{
		{"messages.warning", func(o *Options) { o.Messages.Warning = "{{.Percent" }},
		{"messages.no_data", func(o *Options) { o.Messages.NoData = "{{.Secret}}" }},
		{
			"messages.forecast",
			func(o *Options) { o.Messages.Forecast = "{{nothing .Turns}}" },
		},
	} {
		o := Defaults()
		c.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.want, err)
		}
	}
	e := newEngine(t)
	o := Defaults()
	o.Messages.Critical = "{{"
	if err := e.Configure(o); err == nil {
		t.Error("Configure accepted an invalid text")
	}
	check(t, []string{"deliver a/1/critical to self"}, play(e, reading(1, 150_000)))
}

func TestCustomTexts(t *testing.T) {
	all := "{{.Name}}|{{.Percent}}|{{.Tokens}}|{{.Window}}|{{.Trigger}}|{{.PreTokens}}|{{.Count}}|{{.Minutes}}|{{.Turns}}"
	e := newEngine(t, func(o *Options) {
		o.Messages = Messages{
			Warning:   all,
			Compacted: all,
			Storm:     all,
			NoData:    all,
			Critical:  "{{if eq .Percent 75}}{{index .Name 99}}{{end}}",
		}
		o.Storm.Count = 2
	})
	got := texts(stepAll(e, seen("web"), reading(
		1,
		104_000,
	), reading(
		2,
		150_000,
	), boundary(
		60,
		1,
	), reading(
		61,
		1_000,
	),
		boundary(700, 2), active(700, true), tick(1300)))
	want := []string{
		"web|52|104,000|200,000|unknown||0|0|0",
		"[sm context] Context at 75%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near.",
		"web|0|||auto|167,000|0|0|0",
		"web|0|||auto|167,000|0|0|0",
		"web|0|||unknown||2|11|0", "web|0|||unknown||2|11|0",
		"web|0|||unknown||0|10|0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestModesAndNames(t *testing.T) {
	e := newEngine(t, func(o *Options) { o.Storm.Count = 1 })
	got := map[string]Mode{}
	for _, act := range stepAll(
		e,
		seen(""),
		reading(1, 104_000),
		reading(2, 150_000),
		boundary(60, 1),
		active(60, true),
		tick(660),
	) {
		if s, ok := act.(Deliver); ok {
			got[s.Key.Kind.String()] = s.Mode
		}
	}
	want := map[string]Mode{
		"warning":   Sequential,
		"critical":  Urgent,
		"compacted": Sequential,
		"storm":     Important,
		"no_data":   Sequential,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := Kinds.String(); got != "unknown" {
		t.Errorf("unknown kind: got %q", got)
	}
}

// Snapshot returns the whole state.
func (e *Engine) Snapshot() State {
	s := State{
		Now:       e.now,
		Learned:   e.Learned(),
		Counters:  e.counters,
		Reminders: e.Reminders(""),
	}
	for _, a := range e.sorted() {
		s.Agents = append(s.Agents, a.clone())
	}
	return s
}

func TestTakeAndForget(t *testing.T) {
	e := newEngine(t)
	play(e, reading(1, 20_000), Event{
		Kind:    EventReading,
		Agent:   "b",
		At:      sec(1),
		Reading: Reading{Tokens: 20_000, Window: window},
	})
	names := func() (ids string) {
		e.Take(func(id string, a *AgentState) {
			if a == nil {
				ids += "-"
			}
			ids += id
		})
		return ids
	}
	if got := names(); got != "ab" {
		t.Errorf("got %q", got)
	}
	play(e, preCompact(2))
	if got := names() + "," + names(); got != "a," {
		t.Errorf("got %q", got)
	}
	e.Tick(sec(400)) // the compaction is dismissed
	if got := names(); got != "a" {
		t.Errorf("got %q", got)
	}
	s := e.Snapshot()
	s.Agents[0].Boundaries = append(s.Agents[0].Boundaries, 77)
	play(e, reading(500, 21_000))
	e.Forget("a")
	e.Forget("nobody")
	if e.Agent("a").Cycle > 0 || names() != "-a" || len(e.IDs()) != 1 {
		t.Error("a is still known")
	}
	if play(e, Event{
		Kind:    EventReading,
		At:      sec(1),
		Reading: Reading{Tokens: 150_000, Window: window},
	}, Event{
		Kind:  99,
		Agent: "c",
	}) != nil {
		t.Error("an event without an agent or a kind has an effect")
	}
}

func TestRename(t *testing.T) {
	t.Parallel()
	e := newEngine(t, func(o *Options) { o.Reminders.Soft = time.Minute })
	play(e, reading(1, 110_000), active(1, true))
	mustRemind(t, e, single(100))
	e.Take(func(string, *AgentState) {})
	if !e.Rename("a", "b") || e.Rename("a", "c") {
		t.Fatal("want one agent renamed, once")
	}

	check(t, []string{"always-b", "o"}, reminderIDs(e, "b", "a"))
	changed := map[string]bool{}
	e.Take(func(id string, a *AgentState) { changed[id] = a != nil && a.Agent == id })
	if diff := cmp.Diff(map[string]bool{"a": false, "b": true}, changed); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}

	named := seen("web")
	named.Agent = "c"
	play(e, named)
	if e.Rename("b", "c"); e.agents["c"].Name != "web" {
		t.Error("the name of an agent without readings is lost")
	}
	critical := reading(2, 150_000)
	critical.Agent = "c"
	check(t, []string{"withdraw c/1/warning", "deliver c/1/critical to self"}, play(e, critical))

	if e.Rename("c", "d"); e.agents["d"].Name != "" || e.agents["d"].Parent != "" {
		t.Error("an agent that gives its name away keeps name and parent")
	}
}

func reminderIDs(e *Engine, agents ...string) (ids []string) {
	for _, agent := range agents {
		for _, r := range e.Reminders(agent) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// FuzzEngine tests for any events that nothing panics, that no key is repeated, that at most
// one warning and one critical notice are sent in a cycle, and that a restored engine does
// the same.
func FuzzEngine(f *testing.F) {
	f.Add([]byte("\x02\x00\x10\x00\x60\x00\x03\x00\x10\x00\x00\x00\x04\x00\x10\x00\x00\x01\x02\x00\x10\x00\x80\x00"))
	f.Add([]byte("\x05\x00\x10\x00\x60\x01\x02\x01\x10\x80\x60\x01\x09\x00\x10\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := newEngine(t, timeOnly)
		again := newEngine(t, timeOnly)
		sent := map[Key]bool{}
		now := 0.0
		for i := 0; len(b) >= 6 && i < 300; i++ {
			ev := fuzzed(b[:6], &now)
			b = b[6:]
			again.Restore(e.Snapshot())
			actions := once(e, ev)
			if diff := cmp.Diff(actions, once(again, ev)); diff != "" {
				t.Fatalf("%+v (-kept +restored):\n%s", ev, diff)
			}
			for _, act := range actions {
				s, ok := act.(Deliver)
				if !ok {
					continue
				}
				if sent[s.Key] {
					t.Fatalf("%s is repeated", s.Key)
				}
				sent[s.Key] = true
				if v := e.Agent(s.Key.Agent); s.Key.Cycle > v.Cycle || s.Text == "" {
					t.Fatalf("%+v in cycle %d", s, v.Cycle)
				}
			}
		}
	})
}

// fuzzed makes an event of six bytes: kind, agent and flags, time passed, tokens and another
// small number.
func fuzzed(b []byte, now *float64) Event {
	step := float64(int16(binary.LittleEndian.Uint16(b[2:]))) / 64
	if b[1]&0x80 != 0 {
		step *= 100
	}
	*now += max(0, step)
	n := b[5]
	return Event{
		Kind:      EventKind(b[0] % (uint8(EventAlert) + 2)),
		Agent:     "abc"[b[1]%3 : b[1]%3+1],
		At:        sec(*now + min(0, step)),
		Parent:    "abc"[n%3 : n%3+1],
		Reading:   Reading{Tokens: int64(b[4]) * 1000, Window: int64(n%8) * 50_000, Source: transcript.Source(n % 4)},
		History:   n == 3,
		Cycle:     int(n % 5),
		Sign:      Sign(n % 6),
		Trigger:   Trigger(n % 4),
		PreTokens: int64(b[4]) * 700,
		Key:       transcript.Key(n % 16),
		Cause:     Cause(n % 6),
		On:        n%2 == 0,
		Notice:    Kind(n % 8),
	}
}

// TestTakeNothing tests that calls without changes, which the observer makes each second,
// allocate nothing.
func TestTakeNothing(t *testing.T) {
	e, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		e.Learn(ObservedCompactions{Clients{fmt.Sprint(i), "m", 200_000, 160_000}, []int64{90_000}})
	}
	e.Take(func(string, *AgentState) {})
	if n := testing.AllocsPerRun(10, func() { e.Take(nil) }); n > 10 {
		t.Errorf("%v allocations while nothing changes", n)
	}
}
