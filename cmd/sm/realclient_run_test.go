//go:build realclient

package main_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// watchedRun is a client at work, an observer that watches it, and what both must come to.
type watchedRun struct {
	t       *testing.T
	stub    *modelStub
	home    *clientHome
	sm      *observerProcess
	current string // the session that the client is in
	known   map[string]*knownSession
	order   []string          // of the sessions' beginnings
	label   map[string]string // of a session's agent: the first session that it was in
	sits    map[string]string // the session that an agent is in, by its label
	spent   truth             // what has been put down to sessions
	auto    int               // compactions that the client was made to do by itself
	manual  int
	byHand  bool // the next one is asked for
}

// knownSession is what must be true of a session, by what the model has said.
type knownSession struct {
	context              int64 // 0: unknown
	turns                int
	messages, side       int
	tokens, sideTokens   transcript.Usage
	auto, manual, copied int // compactions
}

func newWatchedRun(t *testing.T) *watchedRun {
	t.Helper()
	stub := newModelStub(t)
	home := newClientHome(t, stub)
	r := &watchedRun{
		t:     t,
		stub:  stub,
		home:  home,
		known: map[string]*knownSession{},
		label: map[string]string{},
		sits:  map[string]string{},
	}
	r.sm = newObserverProcess(t, buildProgram(t, home.dir), home.dir+"/watch", home.projects)
	return r
}

// begin starts the client, which goes on in a session that is known or begins one, whose context has that size.
func (r *watchedRun) begin(tokens int64, args ...string) {
	r.t.Helper()
	r.enter(r.home.start(args...).SessionID)
	r.stub.resize(tokens)
}

// enter goes on in a session: in the one that its agent was in before, or as an agent of its own.
func (r *watchedRun) enter(id string) {
	r.current = id
	if r.label[id] == "" {
		r.label[id] = id
	}
	r.sits[r.label[id]] = id
	if r.known[id] == nil {
		r.known[id] = &knownSession{}
		r.order = append(r.order, id)
	}
}

// follow goes on in a session that the client has begun in the place of the present one: the agent is the same.
func (r *watchedRun) follow(id string) {
	r.label[id] = r.label[r.current]
	r.enter(id)
}

// turn lets the client take a prompt to its end, and holds all against each other.
func (r *watchedRun) turn(what string, steps ...modelStep) {
	r.t.Helper()
	r.prompt(steps...)
	r.finish(what)
}

func (r *watchedRun) prompt(steps ...modelStep) {
	r.t.Helper()
	r.stub.script(steps...)
	r.home.say("Go on.")
	r.known[r.current].turns++
}

// held waits for a request that is held back, and puts down what was said before it.
func (r *watchedRun) held() {
	r.t.Helper()
	select {
	case <-r.stub.started:
	case <-time.After(patience):
		r.t.Fatalf("no request to hold: %s", r.unsaid())
	}
	r.put()
	r.state("busy")
}

func (r *watchedRun) unsaid() string {
	said, left, wrong := r.stub.said()
	return fmt.Sprintf("%d answers are planned; wrong: %q; said: %+v", left, wrong, said)
}

// finish waits for the end of a turn and holds all against each other.
func (r *watchedRun) finish(what string) {
	r.t.Helper()
	r.ended(what)
	r.agree(what)
	r.state("idle")
}

// state waits until the observer knows what the client is at.
func (r *watchedRun) state(want string) {
	r.t.Helper()
	eventually(r.t, "the session is "+want, func() string {
		if state := r.sm.sessions()[r.current].State; state != want {
			return "it is " + state
		}
		return ""
	})
}

// ended waits for the end of a turn.
func (r *watchedRun) ended(what string) {
	r.t.Helper()
	eventually(r.t, what+": the turn ends", func() string {
		said, left, wrong := r.stub.said()
		if left > 0 || said.Busy > 0 || len(wrong) > 0 {
			return r.unsaid()
		}
		return r.home.busy()
	})
	r.put()
}

// put puts down to the current session what the model has said since.
func (r *watchedRun) put() {
	said, _, _ := r.stub.said()
	k := r.known[r.current]
	k.messages += said.Messages - r.spent.Messages
	k.side += said.SideMessages - r.spent.SideMessages
	k.tokens = k.tokens.Plus(said.Tokens.Minus(r.spent.Tokens))
	k.sideTokens = k.sideTokens.Plus(said.SideTokens.Minus(r.spent.SideTokens))
	n := said.Compactions - r.spent.Compactions
	if r.byHand {
		k.manual = k.manual + n
		r.manual = r.manual + n
	} else {
		k.auto = k.auto + n
		r.auto = r.auto + n
	}
	switch {
	case said.Blank && n > 0:
		k.context = 0
	case said.Messages > r.spent.Messages:
		k.context = said.Context
	}
	r.spent = said
}

// headless lets a client without a terminal, and so without a status line, take a prompt.
func (r *watchedRun) headless(what string, tokens int64, steps []modelStep, args ...string) {
	r.t.Helper()
	r.stub.resize(tokens)
	r.stub.script(steps...)
	r.enter(r.home.headless(args...))
	r.known[r.current].turns++
	if said, left, wrong := r.stub.said(); left > 0 || said.Busy > 0 || len(wrong) > 0 {
		r.t.Errorf("%s: %s", what, r.unsaid())
	}
	r.put()
	r.show(what)
	r.t.Logf(
		"%-40s %s  no status line       gauge %6.0f",
		what,
		r.current[:8],
		r.sm.metrics()[r.series("agent_session_context_tokens")],
	)
}

// compact compacts by hand.
func (r *watchedRun) compact(what string) {
	r.t.Helper()
	before, _, _ := r.stub.said()
	r.home.say("/compact")
	eventually(r.t, what+": the client compacts", func() string {
		if said, _, _ := r.stub.said(); said.Compactions == before.Compactions {
			return r.unsaid()
		}
		return ""
	})
	r.byHand = true
	r.put()
	r.byHand = false
	r.agree(what)
}

// torn begins a turn with an answer that does not come to its end, and waits until the client has taken note of it.
// (What the client has not shown yet when it is interrupted it takes back, and may write down or not.)
func (r *watchedRun) torn(what string, steps ...modelStep) {
	r.t.Helper()
	before, _, _ := r.stub.said()
	r.prompt(steps...)
	eventually(r.t, what+": the client takes note of what it has", func() string {
		said, _, _ := r.stub.said()
		if last := r.home.lastOf(r.current); said.Cuts == before.Cuts || last.total() != said.Context {
			return r.unsaid()
		}
		return ""
	})
}

// agree waits until the observer shows what the client's status line and the model say of each session, and holds the
// other ways to ask against it.
func (r *watchedRun) agree(what string) {
	r.t.Helper()
	k := r.known[r.current]
	var last sample
	eventually(r.t, what+": the status line", func() string {
		last = r.home.lastOf(r.current)
		if k.context != last.total() {
			return fmt.Sprintf("it says %d tokens, the model %d", last.total(), k.context)
		}
		return ""
	})
	r.show(what)
	m := r.sm.metrics()
	gauge, ok := m[r.series("agent_session_context_tokens")]
	if drift := int64(gauge) - last.total(); drift != 0 || ok != (last.total() > 0) {
		r.t.Errorf("%s: drift of %d tokens", what, drift)
	}
	used := r.sm.sessions()[r.current].UsedPercentage
	want := last.Window.Used
	if (want == nil || *want == 0) != (used == nil) || used != nil && *used != *want {
		r.t.Errorf("%s: used_percentage is %s, in the status line %s", what, text(used), text(want))
	}
	if size := m[r.series("agent_session_context_window_tokens")]; int64(size) != last.Window.Size {
		r.t.Errorf("%s: a window of %v tokens, in the status line %d", what, size, last.Window.Size)
	}
	shown := "absent"
	if ok {
		shown = fmt.Sprint(gauge)
	}
	r.t.Logf("%-40s %s  status line %6d (%3s %%)  gauge %6s (%3s %%)  compactions: auto %.0f, manual %.0f", what, r.current[:8],
		last.total(), text(want), shown, text(used), m[`agent_compactions_total{client="claude",trigger="auto"}`], m[`agent_compactions_total{client="claude",trigger="manual"}`])
}

func text[T any](p *T) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// series names a metric of the current agent; its label is the beginning of its first session's id, for none here are alike.
func (r *watchedRun) series(name string) string { return sessionSeries(name, r.label[r.current], "") }

func sessionSeries(name, id, more string) string {
	return fmt.Sprintf("%s{session=%q%s}", name, id[:8], more)
}

// show waits until the observer shows what it must, in /metrics, in /sessions and in a scan.
func (r *watchedRun) show(what string) {
	r.t.Helper()
	r.measure(what)
	eventually(r.t, what+": sm status against sm scan", func() string {
		scan := r.sm.scan()
		status := map[string]scanned{}
		for id, s := range r.sm.sessions() {
			status[id] = asScanned(s)
		}
		return cmp.Diff(scan, status)
	})
	eventually(r.t, what+": the last activity", r.activity)
	r.sums(what)
}

// measure waits until /metrics shows what it must.
func (r *watchedRun) measure(what string) {
	r.t.Helper()
	eventually(r.t, what+": /metrics", func() string {
		want := r.wanted()
		return cmp.Diff(want, r.sm.metrics().like(want))
	})
}

// activity compares the time of the current session's last activity with that of its transcript, which is looked at
// each second: what was written between the last look and a kill is known by the time in its records.
func (r *watchedRun) activity() string {
	s := r.sm.sessions()[r.current]
	info, err := os.Stat(s.TranscriptPath)
	if err != nil {
		return err.Error()
	}
	want := info.ModTime().UnixMilli()
	if s.LastActive != nil { // not all records tell the time
		want = max(want, s.LastActive.UnixMilli())
	}
	if got := r.sm.metrics()[r.series("agent_session_last_activity_timestamp_seconds")]; math.Abs(got*1000-float64(want)) > 2000 {
		return fmt.Sprintf("it is %.3f, of the transcript %d", got, want)
	}
	return ""
}

// restart kills the observer without warning, lets meanwhile happen, and starts it again. Where nothing has happened
// all must be as it was.
func (r *watchedRun) restart(what string, meanwhile func()) {
	r.t.Helper()
	before := r.sm.metrics().lasting()
	r.sm.kill()
	if meanwhile != nil {
		meanwhile()
		r.sm.start()
		return
	}
	r.sm.start()
	eventually(
		r.t,
		what+": the same after the restart",
		func() string { return cmp.Diff(before, r.sm.metrics().lasting()) },
	)
}

// late lets another observer come when all is over: it shows the same sessions, and has counted nothing.
func (r *watchedRun) late() {
	r.t.Helper()
	late := newObserverProcess(r.t, r.sm.program, r.home.dir+"/late", r.home.projects)
	late.start()
	defer late.stop()
	// Which sessions followed each other in one client it cannot know: each is an agent of its own.
	all := *r
	all.label = map[string]string{}
	all.sits = map[string]string{}
	for id := range r.known {
		all.label[id] = id
		all.sits[id] = id
	}
	want := all.wanted()
	for series := range want {
		name, _, _ := strings.Cut(series, "{")
		if strings.HasPrefix(name, "agent_") &&
			(strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_count")) {
			want[series] = 0
		}
	}
	got := late.metrics().like(want)
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("an observer that comes late (-want +got):\n%s", diff)
	}
}
