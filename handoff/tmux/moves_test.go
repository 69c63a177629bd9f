package tmux

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// moves is a fleet in which panes are killed, renamed, moved and reused.
type moves struct {
	*rig
	random  *rand.Rand
	agents  []*agent // all agents so far
	sent    map[*agent][]string
	done    map[string]int
	refused map[Reason]int
}

// live returns the simulated clients that still run.
func (m *moves) live() (live []*agent) {
	for _, a := range m.agents {
		if !a.gone() {
			live = append(live, a)
		}
	}
	return live
}

func (m *moves) pick(from []*agent) *agent { return from[m.random.IntN(len(from))] }

// enlist runs a simulated client in a new pane that the words make.
func (m *moves) enlist(verb ...string) {
	m.agents = append(m.agents, m.start(verb...))
}

// window opens a new window in the first session, which may have been renamed or killed.
func (m *moves) window() {
	if _, err := m.try("has-session", "-t", "=keep"); err != nil {
		m.session("keep")
		return
	}
	m.enlist("new-window", "-d", "-t", "=keep:")
}

// move makes a random change that a person or script could make.
func (m *moves) move() string {
	live := m.live()
	if len(live) < 2 {
		m.window()
		return "new window"
	}
	a := m.pick(live)
	b := m.pick(live)
	names := []string{"a", "ag", "agent", "agent-1", "agent-10", "keep-1"}
	name := names[m.random.IntN(len(names))]
	// A change that tmux refuses, such as to a used name, has no effect.
	type act struct {
		name string
		do   func()
	}
	plain := func(command string) act {
		words := strings.NewReplacer(
			"AGENT",
			a.pane.ID,
			"OTHER",
			b.pane.ID,
			"NAME",
			name,
		).Replace(command)
		return act{command, func() { m.try(strings.Fields(words)...) }}
	}
	acts := []act{
		plain("kill-pane -t AGENT"),
		plain("rename-session -t AGENT NAME"),
		plain("break-pane -d -s AGENT"),
		plain("join-pane -d -s AGENT -t OTHER"),
		plain("swap-pane -d -s AGENT -t OTHER"),
		plain("copy-mode -t AGENT"),
		plain("copy-mode -q -t AGENT"),
		plain("select-pane -d -t AGENT"),
		plain("select-pane -e -t AGENT"),
		plain("set -w -t AGENT synchronize-panes on"),
		plain("set -w -t AGENT -u synchronize-panes"),
		plain("set -w -t AGENT remain-on-exit on"),
		plain("respawn-pane -k -t AGENT sh -i"),
		{"exit", func() { a.order("exit") }},
		{"dialog", func() { a.order("show dialog") }},
		{"no dialog", func() { a.order("show idle") }},
		{"new window", m.window},
		{"new session", func() { m.session(name) }},
		{"same pane, new client", func() { m.again(a) }},
	}
	if m.random.IntN(25) == 0 {
		m.kill() // the ids of the next server start again
		m.tmux("new-session", "-d", "-s", "keep", "-x", "80", "-y", "24", "sleep", "1000")
		m.window()
		return "new server"
	}
	if len(live) > 5 {
		acts = acts[:1]
	}
	chosen := acts[m.random.IntN(len(acts))]
	chosen.do()
	return chosen.name
}

func (m *moves) session(name string) {
	if _, err := m.try("has-session", "-t", "="+name); err != nil {
		m.enlist("new-session", "-d", "-s", name, "-x", "80", "-y", "24")
	}
}

// again starts another client in the pane of a.
func (m *moves) again(a *agent) {
	b, argv := m.standIn()
	if _, err := m.try(slices.Concat(
		[]string{"respawn-pane", "-k", "-t", a.pane.ID},
		argv,
	)...); err != nil {
		return
	}
	b.met(a.pane.ID)
	m.agents = append(m.agents, b)
}

// send types to one of the newest agents, running or not.
func (m *moves) send(n int) {
	m.t.Helper()
	recent := m.agents[max(0, len(m.agents)-10):]
	if live := m.live(); m.random.IntN(2) == 0 && len(live) > 0 {
		recent = live
	}
	a := m.pick(recent)
	if m.random.IntN(4) == 0 {
		a = &agent{
			r:      a.r,
			dir:    a.dir,
			client: a.client,
			pane:   Pane{a.pane.Socket, 0, a.pane.ID},
		}
	}
	text := fmt.Sprintf("[sm test] for %s #%06x", a.dir[strings.LastIndex(a.dir, "/")+1:], n)
	for _, known := range m.agents {
		if known.dir == a.dir {
			m.sent[known] = append(m.sent[known], text)
		}
	}
	err := a.typed(text)
	m.refused[ReasonOf(err)]++
	if err != nil {
		return
	}
	a.r.until(
		"what was sent is read",
		func() bool { return slices.Contains(a.submitted(), text) },
	)
	m.done[text]++
}

// TestMoves kills, renames and moves panes, and sends after each change; SM_MOVES is their
// number. Each simulated client logs its input: none may get text for another.
func TestMoves(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	m := &moves{
		rig:     newRig(t, pace{echo: 500 * time.Millisecond}),
		random:  rand.New(rand.NewPCG(2, 3)),
		sent:    map[*agent][]string{},
		done:    map[string]int{},
		refused: map[Reason]int{},
	}
	m.window()
	n := count(t, "SM_MOVES", 60)
	kinds := map[string]int{}
	for i := range n {
		kinds[m.move()]++
		m.send(i)
	}
	wrong := 0
	received := 0
	for _, a := range m.agents {
		for _, kind := range []string{"paste", "submit"} {
			for _, e := range a.events(kind) {
				if !slices.Contains(m.sent[a], e.Text) {
					wrong++
					t.Errorf("%s got %q", a.dir, e.Text)
				}
			}
		}
		for _, text := range a.submitted() {
			received++
			if m.done[text]--; m.done[text] < 0 {
				t.Errorf("%q was submitted, but Type failed or it was submitted twice", text)
			}
		}
		if len(a.events("approve")) > 0 {
			t.Errorf("%s: a dialog was approved", a.dir)
		}
		if strings.Contains(string(a.bytes()), "[sm") && len(m.sent[a]) == 0 {
			t.Errorf("%s got input", a.dir)
		}
	}
	m.bystanders()
	if received < n/10 {
		t.Errorf("only %d of %d texts arrived", received, n)
	}
	t.Logf(
		"%d moves of %d kinds, %d clients, %d arrived, %d at the wrong one; refused: %v",
		n,
		len(kinds),
		len(m.agents),
		received,
		wrong,
		m.refused,
	)
}

// bystanders looks for texts in the panes of shells and other programs.
func (m *moves) bystanders() {
	m.t.Helper()
	for id := range strings.FieldsSeq(m.tmux("list-panes", "-a", "-F", "#{pane_id}")) {
		if slices.ContainsFunc(m.live(), func(a *agent) bool { return a.pane.ID == id }) {
			continue
		}
		if screen := m.tmux("capture-pane", "-p", "-t", id); strings.Contains(screen, "[sm") {
			m.t.Errorf("%s shows %q", id, screen)
		}
	}
	m.noBuffers()
}
