//go:build realclient

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// codexRun is a running client of Codex, an observer that watches it, and the figures that
// both must show.
type codexRun struct {
	t       *testing.T
	stub    *codexStub
	home    *codexHome
	sm      *daemon
	current string // the thread that the client is in
	before  int    // turns that had ended when the last prompt was sent
	kills   int    // of the observer that remain
	shown   int    // compared displays of the client
}

func newCodexRun(t *testing.T, configure ...func(*daemon)) *codexRun {
	t.Helper()
	home := newCodexHome(t)
	r := &codexRun{t: t, stub: home.stub, home: home}
	noErrors(t, os.MkdirAll(home.projects, 0o700))
	r.sm = home.watched(buildProgram(t, home.dir), "CODEX_HOME="+home.codex)
	for _, f := range configure {
		f(r.sm)
	}
	r.sm.start()
	return r
}

// begin starts the client, in a thread that it continues or in a new one.
func (r *codexRun) begin(args ...string) {
	r.t.Helper()
	r.home.start(args...)
	r.current = r.home.status().Session
}

func (r *codexRun) prompt(steps ...modelStep) {
	r.t.Helper()
	r.stub.script(steps...)
	r.before = r.home.ends()
	r.home.enter("Go on.")
	r.killed()
}

// killed kills the observer and starts it again, as long as kills remain.
func (r *codexRun) killed() {
	r.t.Helper()
	if r.kills > 0 {
		r.kills--
		r.sm.kill()
		r.sm.start()
	}
}

// ended waits for the end of the turn.
func (r *codexRun) ended(what string) {
	r.t.Helper()
	eventually(r.t, what+": the turn ends", func() string {
		if _, unsaid := r.stub.said(); unsaid != "" {
			return unsaid
		}
		if r.home.ends() == r.before {
			return "no turn has ended"
		}
		if strings.Contains(
			r.home.screen(),
			"esc to interrupt",
		) { // the screen follows the transcript
			return "the client shows no end of the turn"
		}
		return ""
	})
}

// turn runs a prompt to its end and compares all figures.
func (r *codexRun) turn(what string, steps ...modelStep) {
	r.t.Helper()
	r.prompt(steps...)
	r.finish(what)
}

func (r *codexRun) finish(what string) {
	r.t.Helper()
	r.ended(what)
	r.killed()
	r.agree(what)
}

// held waits for a request that is held back.
func (r *codexRun) held() {
	r.t.Helper()
	r.stub.awaitHeld(r.t)
}

// agree waits until the observer shows the figures of the client and of the model. On a busy
// machine the client's screen follows its transcript late: then /status is repeated.
func (r *codexRun) agree(what string) {
	r.t.Helper()
	var status codexStatus
	var s api.Session
	asked := time.Time{}
	eventually(r.t, what, func() string {
		if time.Since(asked) > 5*time.Second {
			status, asked = r.home.status(), time.Now()
			r.current = status.Session
		}
		s = r.sm.byID()[r.current]
		used := "-"
		if status.Left >= 0 {
			used = fmt.Sprint(100 - status.Left)
		}
		if got := orNone(s.UsedPercentage); got != used {
			return fmt.Sprintf("%s %% used, by the client %s", got, used)
		}
		return r.wrong()
	})
	if status.Left >= 0 {
		r.shown++
	}
	r.t.Logf(
		"%-34s %s  /status %3d %% left  gauge %7s (%3s %% used)  compactions %+v",
		what,
		r.current[:13],
		status.Left,
		orNone(s.TokensUsed),
		orNone(s.UsedPercentage),
		s.Compactions,
	)
}

// wrong compares what the observer shows of all threads with the model's answers.
func (r *codexRun) wrong() string {
	threads, _ := r.stub.said()
	type figures struct {
		Context, Auto, Manual int64
		Side                  bool
	}
	want := map[string]figures{}
	got := map[string]figures{}
	output := 0.0
	compactions := 0.0
	for id, t := range threads {
		want[id] = figures{t.Context, int64(t.Auto), int64(t.Manual), t.Side}
		output += float64(t.Output)
		compactions += float64(t.Auto + t.Manual)
	}
	m := r.sm.series()
	for id, s := range r.sm.byID() {
		if _, known := want[id]; !known {
			continue // the client has opened it without a request so far
		}
		f := figures{
			Auto:   int64(s.Compactions.Auto),
			Manual: int64(s.Compactions.Manual),
			Side:   s.ParentID != "",
		}
		if s.Compactions.Unknown != 0 {
			return fmt.Sprintf(
				"%s has %d compactions of an unknown trigger",
				id,
				s.Compactions.Unknown,
			)
		}
		if s.TokensUsed != nil {
			f.Context = *s.TokensUsed
		}
		gauge := m[fmt.Sprintf("agent_session_context_tokens{session=%q}", s.Label)]
		if int64(gauge) != f.Context && s.State != "left" {
			return fmt.Sprintf(
				"%s: /metrics has %v tokens, /sessions %d",
				id,
				gauge,
				f.Context,
			)
		}
		got[id] = f
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return "(-by the model +observer):\n" + diff
	}
	counted := 0.0
	for series, v := range m {
		if strings.HasPrefix(series, `agent_compactions_total{client="codex"`) {
			counted += v
		}
	}
	if sum := m[`agent_tokens_total{client="codex",kind="output"}`]; counted != compactions ||
		sum != output {
		return fmt.Sprintf(
			"%v compactions and %v tokens of output are counted, want %v and %v",
			counted,
			sum,
			compactions,
			output,
		)
	}
	return ""
}

// fills runs turns until the client has compacted by itself.
func (r *codexRun) fills(what string, tokens int64) {
	r.t.Helper()
	threads, _ := r.stub.said()
	was := threads[r.current]
	r.turn(what+", full", modelStep{grow: tokens - was.Context})
	r.turn(what, modelStep{grow: 3000, tools: 1}, modelStep{grow: 1000})
	threads, _ = r.stub.said()
	if n := threads[r.current].Auto - was.Auto; n != 1 {
		r.t.Errorf("%s: got %d compactions, want 1", what, n)
	}
}

// TestRealCodex makes the real client work in the ways that change a context. After each turn
// the observer's figures are compared with the client's own /status and with the model's
// answers; meanwhile the observer is killed 20 times.
func TestRealCodex(t *testing.T) {
	r := newCodexRun(t)
	r.kills = 20
	r.begin()
	first := r.current
	r.turn("the first turn", modelStep{grow: 1000})
	r.turn("tools", modelStep{
		grow:  9000,
		tools: 1,
	}, modelStep{
		grow:  9000,
		tools: 2,
	}, modelStep{
		grow: 500,
	})
	r.prompt(modelStep{grow: 20_000, tools: 1}, modelStep{grow: 700, hold: true})
	r.held()
	r.agree("within a turn")
	r.stub.letGo()
	r.finish("the same turn")
	r.fills("automatic compaction", 245_000)
	r.compact("/compact")
	r.turn("after /compact", modelStep{grow: 900, tools: 1}, modelStep{grow: 300})
	r.turn("subagents", modelStep{grow: 2000, agents: make([][]int, 2)}, modelStep{grow: 500})

	r.prompt(modelStep{grow: 3000, tools: 1}, modelStep{grow: 100, hold: true})
	r.held()
	r.home.do("", "send-keys", "-t", "agent", "Escape")
	eventually(t, "the turn is interrupted", func() string {
		if r.home.ends() == r.before {
			return "the turn continues"
		}
		return ""
	})
	r.agree("interrupted")
	r.turn("after the interruption", modelStep{grow: 500, tools: 1}, modelStep{grow: 500})
	r.home.quit()

	r.begin("resume", first)
	if r.current != first {
		t.Errorf("resume: got thread %s, want %s", r.current, first)
	}
	r.turn("resumed", modelStep{grow: 900, tools: 1}, modelStep{grow: 500})
	threads, _ := r.stub.said()
	r.home.quit()

	r.begin("fork", first)
	fork := r.current
	r.stub.goOn(fork, threads[first].Context)
	r.turn("forked", modelStep{grow: 900, tools: 1}, modelStep{grow: 500})
	if fork == first {
		t.Error("fork: got the same thread")
	}
	r.fills("automatic compaction of the fork", 245_000)
	r.home.quit()
	for ; r.kills > 0; r.killed() {
	}
	eventually(t, "all figures at the end", r.wrong)
	t.Logf("FIGURES: %d displays of the client agree", r.shown)
}

// compact compacts by hand.
func (r *codexRun) compact(what string) {
	r.t.Helper()
	r.before = r.home.ends()
	r.home.enter("/compact")
	r.killed()
	r.finish(what)
}
