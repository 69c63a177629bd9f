package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

// moment is when an observer is killed: a file has a certain content for the first time.
type moment struct {
	name  string
	files []string
	parts []string // of a line; none: the file is another
}

// moments are those of a handoff, in their order.
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
		{"document stored", []string{filepath.Join(p.d.state(), "handoff", "-home-dev-web.manifest.json")}, nil},
		state("clearing"),
		{
			"/clear pasted",
			journals,
			[]string{`"pasted"`, `/clear`},
		}, {
			"/clear entered",
			journals,
			[]string{`"entered"`, `/clear`},
		},
		state("cleared"), state("resuming"),
		{
			"prompt pasted",
			journals,
			[]string{`"pasted"`, `"Read `},
		}, {
			"prompt entered",
			journals,
			[]string{`"entered"`, `"Read `},
		},
		state("confirmed"),
	}
}

// comes waits for a moment to come again; false when it does not in time.
func (m *moment) comes(timeout <-chan time.Time) bool {
	from := map[string]int64{}
	var before os.FileInfo
	for _, path := range m.files {
		if info, err := os.Stat(path); err == nil {
			from[path] = info.Size()
			before = info
		}
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		for _, path := range m.files {
			info, err := os.Stat(path)
			if len(m.parts) == 0 && err == nil && (before == nil || !os.SameFile(before, info)) {
				return true
			}
			if len(m.parts) > 0 && err == nil && info.Size() > from[path] && m.stands(path, from[path]) {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-timeout:
			return false
		}
	}
}

func (m *moment) stands(path string, from int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var text bytes.Buffer
	if _, err := f.Seek(from, 0); err != nil {
		return false
	}
	if _, err := text.ReadFrom(f); err != nil {
		return false
	}
	for line := range bytes.Lines(text.Bytes()) {
		if !slices.ContainsFunc(m.parts, func(part string) bool { return !bytes.Contains(line, []byte(part)) }) {
			return true
		}
	}
	return false
}

// killNow kills the observer, at once, a moment later, or after a pause in which it is
// stopped and all else goes on.
func (d *daemon) killNow(i int) (how string) {
	how = []string{"at once", "a moment later", "stopped before", "paused"}[i%4]
	switch how {
	case "a moment later":
		<-time.After(rand.N(30 * time.Millisecond))
	case "stopped before", "paused":
		_ = d.cmd.Process.Signal(syscall.SIGSTOP) // it runs
		<-time.After(rand.N(300 * time.Millisecond))
	}
	if how == "paused" {
		_ = d.cmd.Process.Signal(syscall.SIGCONT)
		<-time.After(rand.N(100 * time.Millisecond))
	}
	if !d.kill() {
		d.t.Fatalf("kill %d: it had ended by itself", i)
	}
	return how
}

// known is all that observers have said about handoffs and messages: of an agent with many the
// oldest are forgotten.
type known struct {
	mu       sync.Mutex
	handoffs map[string]api.Handoff
	refs     map[string]string // the text of each message by its ref
}

// asks learns until ctx ends.
func (k *known) asks(ctx context.Context, d *daemon) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for ; ctx.Err() == nil; <-tick.C {
		k.learn(ctx, d)
	}
}

func (k *known) learn(ctx context.Context, d *daemon) {
	list, err := d.api.Handoffs(ctx)
	messages, odd := d.api.Messages(ctx, "")
	if err != nil || odd != nil {
		return // no observer
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, h := range list.Handoffs {
		k.handoffs[h.ID] = h
	}
	for _, m := range messages.Messages {
		if m.Ref != "" {
			k.refs[m.Ref] = m.Text
		}
	}
}

// of is the handoff with a document. A call was repeated until it was answered: an earlier
// one was replaced, or was seen before it was stored, and never answered.
func (k *known) of(path string) (h api.Handoff, ok bool) {
	for x := range maps.Values(k.handoffs) {
		if x.Path == path && (!ok || x.MadeAt.After(h.MadeAt)) {
			h = x
			ok = true
		}
	}
	return h, ok
}

// replacement reports whether a handoff is known that replaced h: the observer
// schedules it at the time at which it cancels h.
func (k *known) replacement(h api.Handoff) bool {
	for _, x := range k.handoffs {
		if x.ID != h.ID && x.Agent == h.Agent && x.MadeAt.Equal(h.ChangedAt) {
			return true
		}
	}
	return false
}

// killRound is a seat's journal of one handoff.
type killRound struct {
	path            string
	accepted        bool // the call was answered; else it may have been stored all the same
	clears, prompts int
	between         []string // heard after /clear and before the prompt
}

// read takes a journal apart. What comes before the first handoff is a killRound without path.
func readJournal(t *testing.T, path string) (list []killRound) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
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
				t.Errorf("after %s was handed over %q is typed", c.path, e.Text)
			}
			c.prompts++
		case (e.Kind == "entered" || e.Kind == "told") && c.clears > 0 && c.prompts == 0:
			c.between = append(c.between, e.Text)
		}
	}
	return list
}

// judge returns the error of one handoff, "" for none, and how it ended.
func (k *known) judge(c killRound) (state, problem string) {
	h, ok := k.of(c.path)
	if !c.accepted && (!ok || h.State == "scheduled") && c.clears+c.prompts == 0 {
		return "not accepted", ""
	}
	if !ok {
		return "lost", "it was accepted, and no observer knows of it"
	}
	state = cmp.Or(h.Reason, h.State)
	_, reported := k.refs["handoff/"+h.ID+"/failed"]
	if _, lost := k.refs["handoff/"+h.ID+"/lost"]; lost {
		reported = true
	}
	switch {
	case h.Reason == "replaced" && c.clears+c.prompts == 0 && k.replacement(h):
		// A message began another turn before the handoff could begin, and the
		// agent handed over again at its end. The later handoff is judged itself.
	case h.State == "cancelled", h.State != "confirmed" && h.State != "failed":
		problem = "it was not carried out"
	case c.clears > 1:
		problem = fmt.Sprintf("/clear was typed %d times", c.clears)
	case c.prompts > 1:
		problem = fmt.Sprintf("the prompt was typed %d times", c.prompts)
	case h.State == "confirmed" && (c.clears != 1 || c.prompts != 1):
		problem = fmt.Sprintf("it is confirmed after %d clears and %d prompts", c.clears, c.prompts)
	case h.State == "failed" && !reported:
		problem = "nobody is told of the failure " + h.Reason
	case h.State == "confirmed" && len(c.between) > 0:
		problem = fmt.Sprintf("between /clear and the prompt it hears %q", c.between)
	}
	return state, problem
}

// TestHandoffKills guards the promise of handoffs where it is hardest to keep: clients in
// real tmux hand over turn after turn, others send them messages, and the observer is killed
// at each state of a handoff, between paste and Enter, and before and after each of them.
// SM_KILLS_HANDOFF says how often at each of these moments, by default at some.
func TestHandoffKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	t.Parallel()
	n := killsOf(t, "SM_KILLS_HANDOFF", 0)
	d := newDaemon(t)
	d.as = []string{quickName}
	d.vars = append(slices.Clone(plentiful), "SM_LOG_LEVEL=debug", "SM_HANDOFF_BREAKER_COUNT=1000000")
	p := newPanesOf(d, 8, seatName)
	d.start()
	k := &known{handoffs: map[string]api.Handoff{}, refs: map[string]string{}}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	defer others.Wait()
	defer stop()
	others.Go(func() { k.asks(ctx, d) })
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
	quiet, hush := context.WithCancel(ctx)
	defer hush()
	others.Go(func() { s.work(quiet, 1500*time.Millisecond) })

	came := map[string]int{}
	moments := p.moments()
	kills := n * len(moments)
	first := 0
	each := 1
	if n == 0 {
		kills, first, each = 5, rand.IntN(len(moments)), 2
	}
	for i := range kills {
		m := &moments[(first+each*i)%len(moments)]
		if !m.comes(time.After(20 * time.Second)) {
			came["never: "+m.name]++
		} else {
			came[m.name]++
		}
		came["killed "+d.killNow(i/len(moments)+i)]++
		d.start()
	}
	hush()
	if err := os.WriteFile(calm(d.dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d.within(2*time.Minute, "all handoffs have ended", func() string {
		list, err := d.api.Handoffs(t.Context())
		for _, h := range list.Handoffs {
			if h.State != "confirmed" && h.State != "failed" && h.State != "cancelled" {
				return fmt.Sprintf("%+v", h)
			}
		}
		return message(err)
	})
	stop()
	others.Wait()
	k.learn(t.Context(), d)
	handoffReport(t, p, k, came, n)
}

// linesWith are the lines of a log that hold a word.
func linesWith(log, word string) (found string) {
	for line := range strings.Lines(log) {
		if strings.Contains(line, word) {
			found += line
		}
	}
	return found
}

func handoffReport(t *testing.T, p *panes, k *known, came map[string]int, n int) {
	t.Helper()
	ended := map[string]int{}
	clears := 0
	prompts := 0
	problems := 0
	log := p.d.log(1 << 28)
	for i, agent := range p.agents {
		for _, c := range readJournal(t, journalOf(p.d.dir, agent)) {
			clears = clears + c.clears
			prompts = prompts + c.prompts
			if c.path == "" {
				if c.clears > 0 {
					t.Errorf("%s: /clear before any handoff", agent)
				}
				continue
			}
			state, problem := k.judge(c)
			ended[state]++
			if problem != "" {
				if problems++; problems <= 20 {
					h, _ := k.of(c.path)
					t.Errorf("%s: %s: %s: %+v\n%s", agent, c.path, problem, h, linesWith(log, h.ID))
				}
			}
		}
		if t.Failed() {
			screen, _ := p.tmux("capture-pane", "-p", "-t", fmt.Sprintf("keep:%d", i+1))
			t.Logf("%s shows:\n%s", agent, strings.TrimSpace(screen))
		}
	}
	t.Logf("kills by their moment: %v", came)
	t.Logf("handoffs by their end: %v; /clear typed %d times, prompts %d times, finished by Enter %d times; problems %d",
		ended, clears, prompts, strings.Count(log, "finish=true typed=true"), problems)
	if ended["confirmed"] <= n {
		t.Error("too little was shown")
	}
	if strings.Contains(log, "level=ERROR") || strings.Contains(log, "panic") {
		t.Error("its log has errors")
	}
}
