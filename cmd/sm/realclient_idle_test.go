//go:build realclient

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// clientClock moves the clocks of a client and of all that it starts, but for
// programs in Go, which ask the kernel.
type clientClock struct {
	t      *testing.T
	path   string // of the file with the offset
	offset time.Duration
	vars   []string // of the client
}

// newClientClock compiles the library that a client with a moved clock loads.
func newClientClock(t *testing.T, dir string) *clientClock {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, need(t, "go"), "env", "CC").Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		t.Fatalf("go env CC: %q, %v", out, err)
	}

	library := dir + "/clock.so"
	args := append(words[1:], "-shared", "-fPIC", "-o", library, "testdata/clock.c")
	compile := exec.CommandContext(ctx, need(t, words[0]), args...)
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", compile, err, out)
	}

	c := &clientClock{t: t, path: dir + "/offset"}
	c.vars = []string{"LD_PRELOAD=" + library, "CLOCK_OFFSET=" + c.path}
	c.move(0)
	return c
}

// move sets the clock forward.
func (c *clientClock) move(by time.Duration) {
	c.t.Helper()
	c.offset += by
	seconds := uint64(c.offset / time.Second)
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_WRONLY, 0o600) // it is mapped
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(binary.NativeEndian.AppendUint64(nil, seconds)); err != nil {
		c.t.Fatal(err)
	}
}

// idleFor is how long after its last request a client compacts an idle
// conversation, less the time that the last steps of a test may take.
const idleFor = 54*time.Minute - 10*time.Second

// TestRealClientIdleCompaction lets a client with a large context idle for three
// nights.
func TestRealClientIdleCompaction(t *testing.T) {
	r := newPolicyRunOf(t, installClient(t, "", newestClient), "CLAUDE_SESSION_MANAGER_ID=worker")
	clock := newClientClock(t, r.home.dir)
	r.stub.hourly = true
	r.home.model = "claude-opus-4-8[1m]"
	r.home.extra = append(r.home.extra, clock.vars...)
	r.home.extra = append(r.home.extra, "CLAUDE_CODE_PROMPT_CACHE_TTL=1h")
	r.begin(20_000)
	r.turn("to 2 %", modelStep{grow: 500, tools: 1}, modelStep{grow: 500})

	const nights = 3
	for night := 1; night <= nights; night++ {
		r.turn("to 25 %", modelStep{grow: 250_000 - r.context(), tools: 1}, modelStep{grow: 500})
		r.stub.holdSummary()
		began := time.Now()
		clock.move(idleFor)
		r.held()
		if s := r.me(); !s.IsCompacting {
			t.Errorf("night %d: not compacting while the summary is written", night)
		}

		r.stub.letGo()
		r.sm.called("PostCompact", float64(night))
		t.Logf("FIGURES: night %d: compacted after %v more", night, time.Since(began))
		eventually(t, "the boundary is read", func() string {
			if n := r.me().Compactions.Total(); n < night {
				return fmt.Sprintf("%d compactions, want %d", n, night)
			}
			return ""
		})
		r.agree("compacted while idle")
		r.idle(night)
	}
	r.turn("the morning", modelStep{grow: 500, tools: 1}, modelStep{grow: 500})
	r.idle(nights)
	knownNames(t, r.home.projects)
}

// idle holds what sm shows against a number of idle compactions.
func (r *policyRun) idle(n int) {
	r.t.Helper()
	made := api.Compactions{Idle: n}
	r.compacted("idle", made, made)
	if s := r.me(); s.ThresholdSource == "seen" {
		r.t.Errorf("%s tokens are taken for the threshold", orNone(s.ThresholdTokens))
	}
	if n := r.sm.series()[`agent_compaction_storms_total{client="claude"}`]; n != 0 {
		r.t.Errorf("%v storms", n)
	}
	r.once("idle")
	if all := r.messages(nil); len(all) != 0 {
		r.t.Errorf("messages: %+v", all)
	}
}

// compacted holds what sm shows of the agent, of its transcript and in the
// counters against the compactions and the attempts at one, by trigger.
func (r *policyRun) compacted(what string, made, attempts api.Compactions) {
	r.t.Helper()
	s := r.me()
	if s.Compactions != made {
		r.t.Errorf("%s: %+v compactions, want %+v", what, s.Compactions, made)
	}
	if got := r.sm.scan()[r.current].Compactions; got != made {
		r.t.Errorf("%s: sm scan: %+v compactions, want %+v", what, got, made)
	}
	if want := made.Total() + 1; s.Cycle != want || s.IsCompacting {
		r.t.Errorf("%s: cycle %d, compacting %t; want cycle %d", what, s.Cycle, s.IsCompacting, want)
	}

	all := r.sm.series()
	counted := func(name string) (c api.Compactions) {
		series := func(trigger string) int {
			return int(all[fmt.Sprintf("%s{client=%q,trigger=%q}", name, "claude", trigger)])
		}
		c.Auto = series("auto")
		c.Manual = series("manual")
		c.Idle = series("idle")
		c.Unknown = series("unknown")
		return c
	}
	if got := counted("agent_compactions_total"); got != made {
		r.t.Errorf("%s: %+v compactions are counted, want %+v", what, got, made)
	}
	if got := counted("agent_compaction_attempts_total"); got != attempts {
		r.t.Errorf("%s: %+v attempts are counted, want %+v", what, got, attempts)
	}
}
