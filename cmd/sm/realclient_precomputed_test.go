//go:build realclient

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// precomputes makes the client write summaries in advance when its context comes near the
// size at which it compacts.
func (h *clientHome) precomputes() {
	h.t.Helper()
	path := h.home + "/.claude.json"
	config := map[string]any{}
	readJSONFile(h.t, path, &config)
	flags := map[string]bool{"tengu_sepia_moth": true}
	now := time.Now().UnixMilli()
	config["cachedFeatureFlags"] = flags
	config["cachedFeatureFlagsAt"] = now
	config["cachedGrowthBookFeatures"] = flags
	config["cachedGrowthBookFeaturesAt"] = now
	h.writeJSON(path, config)
	h.extra = append(h.extra, "CLAUDE_CODE_GB_DISK_CACHE_WHEN_TELEMETRY_OFF=1")
}

// soon is the time limit for what sm does at once; most of it is for a busy machine.
const soon = 30 * time.Second

// touchesAtSubagentStop makes the client create a file when a subagent ends, which includes
// the writer of a summary.
func (h *clientHome) touchesAtSubagentStop(file string) {
	h.t.Helper()
	path := h.home + "/.claude/settings.json"
	var settings map[string]any
	readJSONFile(h.t, path, &settings)
	hook := map[string]any{"type": "command", "command": "touch " + file}
	hooks := settings["hooks"].(map[string]any)
	hooks["SubagentStop"] = []any{map[string]any{"hooks": []any{hook}}}
	h.writeJSON(path, settings)
}

// TestRealClientPrecomputedCompaction makes a client write a summary in advance and use it.
func TestRealClientPrecomputedCompaction(t *testing.T) {
	t.Setenv("SM_TMUX", "1")
	r := newPolicyRunOf(
		t,
		installClient(t, "", newestClient),
		"CLAUDE_SESSION_MANAGER_ID=worker",
	)
	written := r.home.dir + "/written"
	r.home.precomputes()
	r.home.touchesAtSubagentStop(written)
	r.stub.early = true
	r.begin(20_000)
	r.turn("to 66 %", modelStep{grow: 112_000, tools: 1}, modelStep{grow: 100})
	r.receives("a1 critical")

	r.stub.holdSummary()
	r.prompt(modelStep{grow: 150_000 - r.context()})
	r.held()
	r.sm.called("PreCompact", 1)
	began := time.Now()
	eventually(t, "the turn ends", r.home.busy)
	eventually(t, "compacting ends", func() string {
		if r.me().IsCompacting {
			return "it compacts"
		}
		return ""
	})
	compacting := time.Since(began)

	turns := r.home.turns()
	sent := time.Now()
	r.typed(r.sends("Look at CI."), turns)
	waited := time.Since(sent)
	if compacting > soon || waited > soon {
		t.Errorf(
			"compacting for %v, a message waited %v; want at most %v",
			compacting,
			waited,
			soon,
		)
	}
	r.swaps("a summary is being written", 0)

	r.stub.letGo()
	eventually(t, "the summary is written", func() string {
		if _, err := os.Stat(written); err != nil {
			return err.Error()
		}
		return ""
	})
	r.swaps("a summary is written", 0)
	r.prompt(
		modelStep{refuse: true},
		modelStep{grow: afterCompaction - r.context(), tools: 1},
		modelStep{grow: 100},
	)
	r.ended("the summary is used")
	r.sm.called("PostCompact", 1)
	r.agree("the summary is used")
	r.swaps("the summary is used", 1)
	knownNames(t, r.home.projects)
	t.Logf("FIGURES: compacting for %v, a message answered after %v", compacting, waited)
}

// swaps compares what sm shows with a number of compactions by summaries written in advance.
func (r *policyRun) swaps(what string, n int) {
	r.t.Helper()
	r.compacted(what, api.Compactions{Auto: n}, api.Compactions{})
	precomputed := 0
	for _, b := range boundaries(r.t, r.home.projects, r.current) {
		if b.Metadata.Precomputed {
			precomputed++
		}
	}
	if precomputed != n {
		r.t.Errorf("%s: %d precomputed boundaries, want %d", what, precomputed, n)
	}

	const durations = `agent_compaction_duration_seconds_count{client="claude"}`
	if got := r.sm.series()[durations]; got != 0 {
		r.t.Errorf("%s: %v durations, want none", what, got)
	}
	log := r.sm.log(1 << 28)
	notices := strings.Count(log, " was compacted, ")
	auto := strings.Count(log, " was compacted, auto, ")
	if notices != n || auto != n {
		r.t.Errorf(
			"%s: %d notices of compactions, %d of them auto; want %d",
			what,
			notices,
			auto,
			n,
		)
	}
}

// compacted compares the agent, its transcript and the counters with the compactions and
// attempted compactions, by trigger.
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
		r.t.Errorf(
			"%s: cycle %d, compacting %t; want cycle %d",
			what,
			s.Cycle,
			s.IsCompacting,
			want,
		)
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
