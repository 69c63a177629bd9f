package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// moment is when an observer is killed: when a file first has a certain content.
type moment struct {
	name  string
	files []string
	parts []string // of a line; without any, the file changes
}

// moments returns the moments of a handoff, in order.
func (p *panes) moments() (list []moment) {
	log := []string{filepath.Join(p.d.dir, "log")}
	var journals []string
	for _, agent := range p.agents {
		journals = append(journals, journalOf(p.d.dir, agent))
	}
	state := func(name string) moment {
		return moment{name, log, []string{`msg="handoff goes on"`, "state=" + name + " "}}
	}
	return []moment{
		state("scheduled"), state("reserved"),
		{
			"document stored",
			[]string{filepath.Join(p.d.state(), "handoff", "-home-dev-web.manifest.json")},
			nil,
		},
		state("clearing"),
		{
			"/clear pasted",
			journals,
			[]string{`"pasted"`, `/clear`},
		},
		{
			"/clear entered",
			journals,
			[]string{`"entered"`, `/clear`},
		},
		state("cleared"), state("resuming"),
		{
			"prompt pasted",
			journals,
			[]string{`"pasted"`, `"Read `},
		},
		{
			"prompt entered",
			journals,
			[]string{`"entered"`, `"Read `},
		},
		state("confirmed"),
	}
}

// comes waits until the moment comes again; it returns false on timeout.
func (m *moment) comes(timeout <-chan time.Time) bool {
	read := func() (all [][]byte) {
		for _, path := range m.files {
			text, _ := os.ReadFile(path) // none yet
			all = append(all, text)
		}
		return all
	}
	before := read()
	return comes(time.Millisecond, timeout, func() bool {
		for i, text := range read() {
			if len(m.parts) == 0 && !bytes.Equal(text, before[i]) {
				return true
			}
			for line := range bytes.Lines(text[min(len(text), len(before[i])):]) {
				missing := func(part string) bool {
					return !bytes.Contains(
						line,
						[]byte(part),
					)
				}
				if len(m.parts) > 0 && !slices.ContainsFunc(m.parts, missing) {
					return true
				}
			}
		}
		return false
	})
}

// killRound is one handoff in a client's journal.
type killRound struct {
	path            string
	accepted        bool // the call was answered; otherwise it may still have been stored
	clears, prompts int
	between         []string // received after /clear and before the prompt
}

// readJournal splits a journal by handoff. Events before the first one are a killRound
// without path.
func readJournal(t *testing.T, path string) (list []killRound) {
	t.Helper()
	text := readFile(t, path)
	list = []killRound{{}}
	for line := range bytes.Lines(text) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%s: %v: %s", path, err, line)
		}
		c := &list[len(list)-1]
		switch {
		case e.Kind == "called":
			list = append(list, killRound{path: e.Text})
		case e.Kind == "scheduled":
			c.accepted = true
		case e.Kind == "entered" && e.Text == "/clear":
			c.clears++
		case e.Kind == "entered" && strings.HasPrefix(e.Text, "Read "):
			if e.Text != "Read "+c.path+" and continue from where you left off." {
				t.Errorf("after the handoff of %s: %q is typed", c.path, e.Text)
			}
			c.prompts++
		case (e.Kind == "entered" || e.Kind == "answer") && c.clears > 0 && c.prompts == 0:
			c.between = append(c.between, e.Text)
		}
	}
	return list
}

// judge returns how a handoff ended, and an error or "". A call is repeated until it is
// answered: an earlier one was replaced, or was read before it was stored and never answered.
func (c *killRound) judge(all []api.Handoff, refs map[string]bool) (state, problem string) {
	var h api.Handoff
	for _, x := range all {
		if x.Path == c.path && x.MadeAt.After(h.MadeAt) {
			h = x
		}
	}
	if !c.accepted && (h.ID == "" || h.State == "scheduled") && c.clears+c.prompts == 0 {
		return "not accepted", ""
	}
	if h.ID == "" {
		return "lost", "it was accepted, and no observer has it"
	}
	// A message may begin another turn before the handoff begins, and the agent hands over
	// again at its end.
	replaced := h.Reason == "replaced" &&
		c.clears+c.prompts == 0 && slices.ContainsFunc(all, func(x api.Handoff) bool {
		return x.ID != h.ID && x.Agent == h.Agent && x.MadeAt.Equal(h.ChangedAt)
	})
	reported := refs["handoff/"+h.ID+"/failed"] || refs["handoff/"+h.ID+"/lost"]
	switch {
	case replaced:
	case h.State != "confirmed" && h.State != "failed":
		problem = "it was not carried out"
	case c.clears > 1 || c.prompts > 1 || h.State == "confirmed" && c.clears+c.prompts != 2:
		problem = fmt.Sprintf(
			"/clear was typed %d times, the prompt %d times",
			c.clears,
			c.prompts,
		)
	case h.State == "failed" && !reported:
		problem = "no message reports the failure " + h.Reason
	case h.State == "confirmed" && len(c.between) > 0:
		problem = fmt.Sprintf("between /clear and the prompt it received %q", c.between)
	}
	return cmp.Or(h.Reason, h.State), problem
}

// TestHandoffKills tests handoffs of clients in real tmux, turn after turn, with messages
// from senders, while the observer is killed at some states of a handoff, between paste and
// Enter, and before and after each of them. SM_KILLS_HANDOFF is the number of kills.
func TestHandoffKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	d := newDaemon(t)
	d.as = []string{quickName}
	d.vars = append(
		slices.Clone(plentiful),
		"SM_LOG_LEVEL=debug",
		"SM_HANDOFF_BREAKER_COUNT=1000000",
	)
	p := newPanesOf(d, 8, seatName)
	d.start()
	d.eventually("all have begun", func() string {
		for _, agent := range p.agents {
			if _, err := d.api.Session(t.Context(), agent); err != nil {
				return err.Error()
			}
		}
		return ""
	})
	s := newSender(d, "s", p.agents...)
	s.short = true
	quiet, stopSending := context.WithCancel(t.Context())
	var sending sync.WaitGroup
	defer sending.Wait()
	defer stopSending()
	sending.Go(func() { s.work(quiet, 1500*time.Millisecond) })

	moments := p.moments()
	first := rand.IntN(len(moments))
	for i := range killsOf(t, "SM_KILLS_HANDOFF", 5) {
		moments[(first+2*i)%len(moments)].comes(time.After(20 * time.Second))
		switch i % 3 {
		case 1:
			<-time.After(rand.N(30 * time.Millisecond))
		case 2: // the clients continue while it is stopped
			_ = d.cmd.Process.Signal(syscall.SIGSTOP)
			<-time.After(rand.N(300 * time.Millisecond))
		}
		if !d.kill() {
			t.Fatalf("kill %d: the observer had already ended", i)
		}
		d.start()
	}
	stopSending()
	noErrors(t, os.WriteFile(calm(d.dir), nil, 0o600))
	var list api.Handoffs
	d.within(2*time.Minute, "all handoffs have ended", func() (wrong string) {
		var err error
		list, err = d.api.Handoffs(t.Context())
		for _, h := range list.Handoffs {
			if h.State != "confirmed" && h.State != "failed" && h.State != "cancelled" {
				return fmt.Sprintf("%+v", h)
			}
		}
		return message(err)
	})
	messages, err := d.api.Messages(t.Context(), "")
	noErrors(t, err)
	refs := map[string]bool{}
	for _, m := range messages.Messages {
		refs[m.Ref] = true
	}

	ended := map[string]int{}
	log := d.log(1 << 28)
	for _, agent := range p.agents {
		for _, c := range readJournal(t, journalOf(d.dir, agent)) {
			if c.path == "" {
				if c.clears > 0 {
					t.Errorf("%s: /clear before any handoff", agent)
				}
				continue
			}
			state, problem := c.judge(list.Handoffs, refs)
			if ended[state]++; problem != "" {
				t.Errorf("%s: %s: %s", agent, c.path, problem)
			}
		}
	}
	t.Logf("handoffs by their end: %v", ended)
	if ended["confirmed"] == 0 {
		t.Error("no handoff was confirmed")
	}
	if strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Error("the log has errors")
	}
}
