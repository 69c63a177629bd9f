//go:build realclient

package main_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sm/observer/api"
)

// codexHandoffs is how many handoffs the observer is killed in, twice each, by each of the two ways.
const codexHandoffs = 10

// untiring lets an observer hand over as often as it is asked to, and say all in its log.
func untiring(t *testing.T) func(*observerProcess) {
	return func(o *observerProcess) {
		path := filepath.Join(filepath.Dir(o.state), ".config", "sm", "config.yaml")
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil {
			err = os.WriteFile(path, []byte("handoff: {breaker_count: 1000}\nlog: {level: debug}\n"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// handoffOf is the newest handoff of a document.
func (r *codexRun) handoffOf(doc string) (h api.Handoff) {
	r.t.Helper()
	all, err := r.sm.client.Handoffs(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range all.Handoffs {
		if x.Path == doc {
			h = x
		}
	}
	return h
}

// soon kills the observer within so long, and starts it again within a second.
func (r *codexRun) soon(within time.Duration, seen map[string]int, doc string) {
	r.t.Helper()
	<-time.After(rand.N(within)) // not to wait for something, but to hit any moment
	h := r.handoffOf(doc)
	seen[h.State+" "+h.Waiting]++
	r.sm.kill()
	<-time.After(rand.N(time.Second))
	r.sm.start()
}

// settledAgent is the agent once the observer knows its pane, by which it is called.
func (r *codexRun) settledAgent() (s api.Session) {
	r.t.Helper()
	eventually(r.t, "the client's process is known", func() string {
		if s = r.agent(); s.Pane == "" {
			return fmt.Sprintf("%+v", s)
		}
		return ""
	})
	return s
}

// handsOverKilled lets the agent hand over again and again, while the observer is killed at random moments: each document
// reaches one new thread, once, and the agent stays the same.
func (r *codexRun) handsOverKilled(way string) {
	r.t.Helper()
	seen := map[string]int{}
	ends := map[string]int{}
	for i := range codexHandoffs {
		doc := filepath.Join(r.home.project, fmt.Sprintf("doc%d.md", i))
		prompt := "Read " + doc + " and continue from where you left off."
		before := r.settledAgent()
		files := len(r.home.rollouts(""))
		r.prompt(codexStep{
			grow:  100,
			tools: 1,
			bash:  fmt.Sprintf("echo work %d >%s && %s", i, doc, r.program("handoff", doc)),
		}, codexStep{
			grow: 100,
		})
		eventually(r.t, "the handoff is asked for", func() string {
			if r.handoffOf(doc).State == "" {
				return r.home.screen()
			}
			return ""
		})
		r.soon(6*time.Second, seen, doc)
		eventually(r.t, "the handoff is begun", func() string {
			if h := r.handoffOf(doc); h.State == "scheduled" {
				return "it waits " + h.Waiting
			}
			return ""
		})
		r.soon(5*time.Second, seen, doc)
		var h api.Handoff
		eventually(r.t, "the handoff ends", func() string {
			if h = r.handoffOf(doc); h.State != "confirmed" && h.State != "failed" {
				return fmt.Sprintf("%+v; the screen:\n%s", h, r.home.screen())
			}
			return ""
		})
		if ends[h.State+" "+h.Reason]++; h.State != "confirmed" || h.Way != way {
			r.t.Errorf("handoff %d: %+v", i, h)
		}
		r.goesOn(before, doc)
		if n := len(r.home.rollouts("")) - files; n != 1 {
			r.t.Errorf("handoff %d: %d new threads", i, n)
		}
		if n := r.home.records(prompt, `"type":"message"`, `"role":"user"`); n != 1 {
			r.t.Errorf("handoff %d: the prompt was said %d times", i, n)
		}
		if input, _ := r.home.input(); input != "" {
			r.t.Errorf("handoff %d leaves %q in the box", i, input)
		}
	}
	if n := r.home.records(`"type":"UserMessage"`, "/clear"); n != 0 {
		r.t.Errorf("%d times /clear was said to the model", n)
	}
	eventually(r.t, "the figures", r.wrong)
	log, err := os.ReadFile(r.sm.log)
	if err != nil {
		r.t.Fatal(err)
	}
	if bytes.Contains(log, []byte("level=ERROR")) {
		r.t.Error("its log has errors")
	}
	r.t.Logf(
		"FIGURES: %d handoffs by %s, the observer killed twice in each, in the states %v; they ended %v",
		codexHandoffs,
		way,
		seen,
		ends,
	)
}

// TestRealCodexHandoffKillsClear: kills in handoffs by /clear in tmux.
func TestRealCodexHandoffKillsClear(t *testing.T) {
	r := newCodexRun(t, untiring(t))
	r.begin()
	r.turn("the first turn", codexStep{grow: 50_000})
	r.handsOverKilled("clear")
}

// TestRealCodexHandoffKillsRestart: kills in handoffs of a client under sm run.
func TestRealCodexHandoffKillsRestart(t *testing.T) {
	r := newCodexRun(t, untiring(t))
	r.home.wrapper = []string{r.sm.program, "--socket", r.sm.socket, "run", "--name", "worker", "--"}
	r.begin()
	r.turn("the first turn", codexStep{grow: 50_000})
	r.handsOverKilled("restart")
	r.home.pid = r.home.native()
	r.home.quit()
}
