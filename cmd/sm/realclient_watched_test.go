//go:build realclient

package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/transcript"
)

// watchedRun is a run with the figures that are expected by the model's answers.
type watchedRun struct {
	*clientRun
	known  map[string]*knownSession
	order  []string          // of the sessions' starts
	label  map[string]string // of a session's agent: the first session that it was in
	sits   map[string]string // the session that an agent is in, by its label
	spent  truth             // what has been assigned to sessions
	auto   int               // compactions that the client was made to do by itself
	manual int
	byHand bool // the next compaction is manual
}

// knownSession is the expected state of a session.
type knownSession struct {
	context              int64 // 0: unknown
	messages, side       int
	tokens, sideTokens   transcript.Usage
	auto, manual, copied int // compactions
}

func newWatchedRun(t *testing.T) *watchedRun {
	t.Helper()
	return &watchedRun{
		clientRun: newClientRun(t, realClient(t), ""),
		known:     map[string]*knownSession{},
		label:     map[string]string{},
		sits:      map[string]string{},
	}
}

// begin starts the client, which continues a known session or starts another, with a context
// of that size.
func (r *watchedRun) begin(tokens int64, args ...string) {
	r.t.Helper()
	r.enter(r.home.start(args...).SessionID)
	r.stub.resize(tokens)
}

// enter continues a session: as the agent that was in it before, or as a new agent.
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

// follow continues a session that the client has started in place of the present one: the
// agent is the same.
func (r *watchedRun) follow(id string) {
	r.label[id] = r.label[r.current]
	r.enter(id)
}

// turn runs a prompt to its end and compares all figures.
func (r *watchedRun) turn(what string, steps ...modelStep) {
	r.t.Helper()
	r.prompt(steps...)
	r.finish(what)
}

// held waits for a request that is held back, and assigns the answers before it.
func (r *watchedRun) held() {
	r.t.Helper()
	r.clientRun.held()
	r.put()
	r.state("busy")
}

// finish waits for the end of a turn and compares all figures.
func (r *watchedRun) finish(what string) {
	r.t.Helper()
	r.ended(what)
	r.agree(what)
	r.state("idle")
}

// state waits until the observer shows the client's state.
func (r *watchedRun) state(want string) {
	r.t.Helper()
	eventually(r.t, "the session is "+want, func() string {
		if state := r.sm.byID()[r.current].State; state != want {
			return "it is " + state
		}
		return ""
	})
}

// ended waits for the end of a turn.
func (r *watchedRun) ended(what string) {
	r.t.Helper()
	r.clientRun.ended(what)
	r.put()
}

// put assigns the answers of the model since the last call to the current session.
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

// headless runs a prompt in a client without a terminal, and so without a status line.
func (r *watchedRun) headless(what string, tokens int64, steps []modelStep, args ...string) {
	r.t.Helper()
	r.stub.resize(tokens)
	r.stub.script(steps...)
	r.enter(r.home.headless(args...))
	r.turns[r.current]++
	if unsaid := r.unsaid(); unsaid != "" {
		r.t.Errorf("%s: %s", what, unsaid)
	}
	r.put()
	r.show(what)
}

// compact compacts by hand.
func (r *watchedRun) compact(what string) {
	r.t.Helper()
	before, _, _ := r.stub.said()
	r.home.say("/compact")
	eventually(r.t, what+": the client compacts", func() string {
		if said, _, _ := r.stub.said(); said.Compactions == before.Compactions {
			return "no summary; " + r.unsaid()
		}
		return ""
	})
	r.byHand = true
	r.put()
	r.byHand = false
	r.agree(what)
}

// agree waits until the observer shows the figures of the client's status line and of the
// model for each session, and compares the other ways to request them.
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
	m := r.sm.series()
	gauge, ok := m[r.series("agent_session_context_tokens")]
	if drift := int64(gauge) - last.total(); drift != 0 || ok != (last.total() > 0) {
		r.t.Errorf("%s: drift of %d tokens", what, drift)
	}
	used := r.sm.byID()[r.current].UsedPercentage
	want := last.Window.Used
	if (want == nil || *want == 0) != (used == nil) || used != nil && *used != *want {
		r.t.Errorf(
			"%s: used_percentage is %s, in the status line %s",
			what,
			orNone(used),
			orNone(want),
		)
	}
	if size := m[r.series("agent_session_context_window_tokens")]; int64(size) != last.Window.Size {
		r.t.Errorf(
			"%s: a window of %v tokens, in the status line %d",
			what,
			size,
			last.Window.Size,
		)
	}
}

// series returns the series of a metric of the current agent; its label is the beginning of
// its first session's id, which is unique here.
func (r *watchedRun) series(name string) string {
	return sessionSeries(
		name,
		r.label[r.current],
		"",
	)
}

func sessionSeries(name, id, more string) string {
	return fmt.Sprintf("%s{session=%q%s}", name, id[:8], more)
}

// show waits until the observer shows the expected figures in /metrics, in /sessions and in a
// scan.
func (r *watchedRun) show(what string) {
	r.t.Helper()
	r.measure(what)
	eventually(r.t, what+": sm status against sm scan", func() string {
		scan := r.sm.scan()
		status := map[string]scanned{}
		for id, s := range r.sm.byID() {
			status[id] = scannedOf(s)
		}
		return cmp.Diff(scan, status)
	})
	eventually(r.t, what+": the last activity", r.activity)
	r.sums(what)
}

// measure waits until /metrics has the expected figures.
func (r *watchedRun) measure(what string) {
	r.t.Helper()
	eventually(r.t, what+": /metrics", func() string {
		want := r.wanted()
		return cmp.Diff(want, like(r.sm.series(), want))
	})
}

// activity compares the time of the current session's last activity with that of its
// transcript, which is examined each second: the time of what was written between the last
// look and a kill is that in its records.
func (r *watchedRun) activity() string {
	s := r.sm.byID()[r.current]
	info, err := os.Stat(s.TranscriptPath)
	if err != nil {
		return err.Error()
	}
	want := info.ModTime().UnixMilli()
	if s.LastActive != nil { // not all records have a time
		want = max(want, s.LastActive.UnixMilli())
	}
	if got := r.sm.series()[r.series("agent_session_last_activity_timestamp_seconds")]; math.Abs(got*1000-float64(want)) > 2000 {
		return fmt.Sprintf("it is %.3f, of the transcript %d", got, want)
	}
	return ""
}

// restart kills the observer without warning, runs meanwhile, and starts it again. Without
// changes, all must be as before.
func (r *watchedRun) restart(what string, meanwhile func()) {
	r.t.Helper()
	before := r.sm.lasting()
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
		func() string { return cmp.Diff(before, r.sm.lasting()) },
	)
}

// late starts another observer when all is over: it shows the same sessions and has counted
// nothing.
func (r *watchedRun) late() {
	r.t.Helper()
	late := r.home.watched(r.sm.bin)
	late.start()
	defer late.stop()
	status := map[string]scanned{}
	for id, s := range late.byID() {
		status[id] = scannedOf(s)
	}
	if diff := cmp.Diff(r.sm.scan(), status); diff != "" {
		r.t.Errorf("an observer started at the end (-scan +observer):\n%s", diff)
	}
	for series, v := range late.series() {
		if name, _, _ := strings.Cut(
			series,
			"{",
		); strings.HasPrefix(name, "agent_") && strings.HasSuffix(name, "_total") &&
			v != 0 {
			r.t.Errorf("an observer started at the end has counted %s: %v", series, v)
		}
	}
}

// exactMetrics are the metrics whose series are all in r.wanted.
var exactMetrics = []string{
	"agent_session_context_tokens", "agent_session_transcript_compactions", "agent_session_compactions_total",
	"agent_compactions_total", "agent_tokens_total",
}

// wanted returns what /metrics must show according to the model's answers.
func (r *watchedRun) wanted() map[string]float64 {
	sum := transcript.Usage{}
	m := map[string]float64{
		`agent_compactions_total{client="claude",trigger="auto"}`:    float64(r.auto),
		`agent_compactions_total{client="claude",trigger="idle"}`:    0,
		`agent_compactions_total{client="claude",trigger="manual"}`:  float64(r.manual),
		`agent_compactions_total{client="claude",trigger="unknown"}`: 0,
		`agent_compaction_pre_tokens_count{client="claude"}`:         float64(r.auto + r.manual),
		`sm_transcript_lines_total{result="bad"}`:                    0,
	}
	m[`sm_transcript_lines_total{result="ok"}`], m["sm_transcript_bytes_total"] = volume(
		r.t,
		r.home.projects,
	)
	for id, k := range r.known {
		sum = sum.Plus(k.tokens).Plus(k.sideTokens)
		label := r.label[id]
		m[sessionSeries(
			"agent_session_compactions_total",
			label,
			`,trigger="auto"`,
		)] += float64(k.auto)
		m[sessionSeries(
			"agent_session_compactions_total",
			label,
			`,trigger="manual"`,
		)] += float64(k.manual)
		m[sessionSeries("agent_session_compactions_total", label, `,trigger="idle"`)] = 0
		m[sessionSeries("agent_session_compactions_total", label, `,trigger="unknown"`)] = 0
		if r.sits[label] != id {
			continue // the agent has left it
		}
		if k.context > 0 {
			m[sessionSeries("agent_session_context_tokens", label, "")] = float64(k.context)
		}
		m[sessionSeries(
			"agent_session_transcript_compactions",
			label,
			`,trigger="auto"`,
		)] = float64(k.auto)
		m[sessionSeries(
			"agent_session_transcript_compactions",
			label,
			`,trigger="manual"`,
		)] = float64(k.manual)
		m[sessionSeries("agent_session_transcript_compactions", label, `,trigger="idle"`)] = 0
		m[sessionSeries(
			"agent_session_transcript_compactions",
			label,
			`,trigger="unknown"`,
		)] = 0
	}
	m[`agent_tokens_total{client="claude",kind="input"}`] = float64(sum.Input)
	m[`agent_tokens_total{client="claude",kind="cache_creation"}`] = float64(sum.CacheCreation)
	m[`agent_tokens_total{client="claude",kind="cache_read"}`] = float64(sum.CacheRead)
	m[`agent_tokens_total{client="claude",kind="output"}`] = float64(sum.Output)
	return m
}

// like selects the series in want, and those of exactMetrics.
func like(m, want map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for series, v := range m {
		name, _, _ := strings.Cut(series, "{")
		if _, there := want[series]; there || slices.Contains(exactMetrics, name) {
			out[series] = v
		}
	}
	return out
}

// sums compares each session's figures with the model, and its compactions with a plain
// reading of its transcript.
func (r *watchedRun) sums(what string) {
	r.t.Helper()
	counted := map[string]bool{}
	for id, s := range r.sm.byID() {
		k := r.known[id]
		if k == nil {
			r.t.Errorf("%s: session %s is not known", what, id)
			continue
		}
		want := scanned{
			Turns:       r.turns[id],
			Messages:    k.messages,
			Tokens:      api.Tokens(k.tokens),
			Compactions: api.Compactions{Auto: k.auto, Manual: k.manual},
			Inherited:   k.copied,
			Subagents: api.Subagents{
				Files:    s.Subagents.Files,
				Messages: k.side,
				Tokens:   api.Tokens(k.sideTokens),
			},
		}
		got := scanned{
			Turns:       s.Turns,
			Messages:    s.Messages,
			Tokens:      s.Tokens,
			Compactions: s.Compactions,
			Inherited:   s.Inherited,
			Subagents:   s.Subagents,
		}
		if k.copied > 0 {
			got.Turns = want.Turns // some were copied
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.t.Errorf("%s: session %s (-want +got):\n%s", what, id, diff)
		}
	}
	for _, id := range r.order {
		k := r.known[id]
		triggers := map[string]int{}
		copied := 0
		for _, b := range boundaries(r.t, r.home.projects, id) {
			if counted[b.UUID] {
				copied++
			} else {
				triggers[b.Metadata.Trigger]++
			}
			counted[b.UUID] = true
		}
		want := map[string]int{"auto": k.auto, "manual": k.manual}
		maps.DeleteFunc(want, func(_ string, n int) bool { return n == 0 })
		if diff := cmp.Diff(want, triggers); diff != "" || copied != k.copied {
			r.t.Errorf(
				"%s: the transcript of %s has %d copied boundaries, wanted %d, and these of its own (-want +got):\n%s",
				what,
				id,
				copied,
				k.copied,
				diff,
			)
		}
	}
}
