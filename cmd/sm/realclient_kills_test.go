//go:build realclient

package main_test

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"sm/observer/api"
)

// TestRealClientPolicyKills kills the observer, each time in another moment of a cycle. Both notices of each cycle are
// heard all the same, and once.
func TestRealClientPolicyKills(t *testing.T) {
	r := newPolicyRun(t, "CLAUDE_SESSION_MANAGER_ID=worker", "SM_PARENT_ID=em")
	r.post("/sessions", api.Registration{ID: "em"}, 201)
	r.begin(afterCompaction)
	var cycle int
	var want []string
	end := modelStep{grow: 500}
	warned := func() string { return fmt.Sprintf("a%d warning", cycle) }
	critical := func() string { return fmt.Sprintf("a%d critical", cycle) }
	toWarning := func() modelStep { return modelStep{grow: 103_000 - r.context(), tools: 1} }
	toCritical := func() modelStep { return modelStep{grow: 132_000 - r.context(), tools: 1} }
	tool := modelStep{grow: 500, tools: 1}
	held := modelStep{grow: 500, tools: 1, hold: true}
	warn := func() {
		r.turn("to the warning", toWarning(), end)
		r.heardOf(warned())
	}
	urge := func() {
		r.turn("to the critical notice", toCritical(), tool, end)
		r.heardOf(warned(), critical())
	}
	atOffer := func(after time.Duration) func() {
		return func() {
			stop := r.killAtOffer(after)
			r.prompt(toWarning(), end)
			stop()
			r.ended("a warning on its way")
			r.heardOf(warned())
			stop = r.killAtOffer(after)
			r.prompt(toCritical(), tool, tool, end)
			stop()
			r.ended("a critical notice on its way")
			r.heardOf(warned(), critical())
		}
	}
	for _, p := range []struct {
		name string
		run  func()
	}{
		{"before the prompt", func() { r.restart(nil); warn(); r.restart(nil); urge() }},
		{"between tools, while they wait", func() {
			r.prompt(toWarning(), held, end)
			r.held()
			r.noticed("warning", "waiting")
			r.restart(nil)
			r.noticed("warning", "waiting")
			r.stub.letGo()
			r.ended("a warning waits")
			r.heardOf(warned())
			r.prompt(toCritical(), held, tool, end)
			r.held()
			r.noticed("critical", "waiting", "offered", "confirmed")
			r.restart(nil)
			r.stub.letGo()
			r.ended("a critical notice waits")
			r.heardOf(warned(), critical())
		}},
		{"at the prompt, after an interruption", func() {
			warn()
			r.torn(modelStep{grow: 132_000 - r.context(), cut: true})
			r.home.interrupt()
			r.noticed("critical", "waiting")
			r.restart(nil)
			r.heardOf(warned(), critical())
		}},
		{"for a whole turn", func() {
			r.restart(func() {
				r.prompt(toWarning(), end)
				r.ended("a turn without observer")
			})
			r.noticed("warning", "waiting")
			r.heardOf(warned())
			r.restart(func() {
				r.prompt(toCritical(), tool, end)
				r.ended("another turn without observer")
			})
			r.heardOf(warned(), critical())
		}},
		{"twice, as it begins", func() {
			for _, fill := range []func(){warn, urge} {
				for range 2 {
					r.sm.kill()
					r.kills++
					r.sm.launch()
				}
				r.restart(nil)
				fill()
			}
		}},
		{"at an offer", atOffer(0)},
		{"1 ms after an offer", atOffer(time.Millisecond)},
		{"3 ms after an offer", atOffer(3 * time.Millisecond)},
		{"6 ms after an offer", atOffer(6 * time.Millisecond)},
		{"15 ms after an offer", atOffer(15 * time.Millisecond)},
		{"when the transcript shows it", func() {
			for _, kind := range []string{warned(), critical()} {
				step := toWarning()
				if kind == critical() {
					step = toCritical()
				}
				r.prompt(step, tool, end)
				eventually(t, kind+" is heard", func() string {
					if r.tally()[kind] == 0 {
						return "it is not"
					}
					return ""
				})
				r.restart(nil)
				r.ended(kind)
				r.heardOf(kind)
			}
		}},
		{"in the middle of the compaction, before it and after it", func() {
			warn()
			urge()
			r.prompt(modelStep{refuse: true, hold: true}, modelStep{grow: 500, tools: 1, hold: true}, end)
			r.held()
			eventually(t, "the agent compacts", func() string {
				if !r.me().IsCompacting {
					return "it does not"
				}
				return ""
			})
			r.restart(nil)
			if s := r.me(); !s.IsCompacting || s.Cycle != cycle {
				t.Errorf("after the restart: compacting %v, cycle %d of %d", s.IsCompacting, s.Cycle, cycle)
			}
			r.stub.letGo()
			r.held()
			r.restart(nil)
			r.stub.letGo()
			r.ended("compaction")
		}},
		{"for the whole compaction", func() {
			warn()
			urge()
			r.restart(func() {
				r.prompt(modelStep{refuse: true}, tool, end)
				r.ended("compaction without observer")
			})
		}},
	} {
		cycle++
		want = append(want, warned(), critical())
		p.run()
		if r.me().Cycle == cycle {
			r.compact()
		}
		r.agree(p.name)
		if s := r.me(); s.Cycle != cycle+1 || s.IsCompacting {
			t.Errorf("%s: cycle %d, compacting %v, after %d compactions", p.name, s.Cycle, s.IsCompacting, cycle)
		}
		r.once(p.name, want...)
		told := r.messages(func(m api.Message) bool { return m.To == "em" && m.Kind == "compacted" })
		if len(told) != cycle {
			t.Errorf("%s: the parent is told %d times of %d compactions", p.name, len(told), cycle)
		}
	}
	again := 0
	for _, m := range r.messages(nil) {
		again += max(0, m.Offers-1)
	}
	t.Logf("FIGURES: %d messages were lost on their way and offered again", again)
	r.report()
}

// killAtOffer kills the observer as it offers the next message, or a moment later; stop waits for that and starts it
// again.
func (r *policyRun) killAtOffer(after time.Duration) (stop func()) {
	count := func() int {
		text, _ := os.ReadFile(r.sm.log)
		return bytes.Count(text, []byte("message offered"))
	}
	before := count()
	pid := r.sm.cmd.Process.Pid
	done := make(chan bool)
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Microsecond)
		defer tick.Stop()
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); <-tick.C {
			if count() > before {
				<-time.After(after) // not to wait for something, but to hit another moment
				_ = syscall.Kill(pid, syscall.SIGKILL)
				done <- true
				return
			}
		}
	}()
	return func() {
		r.t.Helper()
		if !<-done {
			r.t.Fatal("nothing is offered")
		}
		r.restart(nil)
	}
}
