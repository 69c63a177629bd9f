//go:build realclient

package main

import (
	"cmp"
	"os"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/claude/hook"
)

// TestRealClientThreshold holds the sizes at which a client is assumed to compact against the client: a little below it
// does not, at the size it does. A client from 2.1.197 on that was given no window, with a model that has none of its own
// either, waits until the API refuses a request: then the size is the least at which it may compact.
func TestRealClientThreshold(t *testing.T) {
	version := cmp.Or(os.Getenv("CLIENT_VERSION"), realClientVersion)
	waits := hook.AtLeast(version, 2, 1, 197)
	const plain, tuned, large = "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-sonnet-4-5[1m]"
	window := func(n string) (string, claude.AutoCompact) {
		return "CLAUDE_CODE_AUTO_COMPACT_WINDOW=" + n, claude.AutoCompact{Window: n}
	}
	type client struct {
		model    string
		vars     []string
		settings map[string]any
		told     claude.AutoCompact
		waits    bool
	}
	tests := map[string]client{
		"default":      {model: plain, waits: waits},
		"tuned model":  {model: tuned},
		"large window": {model: large, waits: waits},
		"setting": {
			model:    plain,
			settings: map[string]any{"autoCompactWindow": 120_000},
			told:     claude.AutoCompact{Setting: 120_000},
		},
		"setting below the least": {
			model:    tuned,
			settings: map[string]any{"autoCompactWindow": 60_000},
			told:     claude.AutoCompact{Setting: 60_000},
		},
		"percent": {
			model: tuned,
			vars:  []string{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50"},
			told:  claude.AutoCompact{Percent: "50"},
		},
		"percent above the buffer": {
			model: tuned, vars: []string{"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=99"}, told: claude.AutoCompact{Percent: "99"},
		},
		"shorter answers": {
			model: tuned,
			vars:  []string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS=8000"},
			told:  claude.AutoCompact{Output: "8000"},
		},
	}
	if hook.AtLeast(version, 2, 1, 300) {
		tests["setting for the model"] = client{
			model: plain,
			settings: map[string]any{"autoCompactWindow": 150_000, "modelSettings": map[string]any{
				plain: map[string]any{"autoCompactWindow": 110_000},
			}},
			told: claude.AutoCompact{
				Setting: 150_000,
				Models:  []transcript.WindowRule{{Model: plain, Tokens: 110_000}},
			},
		}
	}
	for _, n := range []string{"100000", "140000", "60000", "150k"} {
		v, told := window(n)
		tests["window of "+n] = client{model: plain, vars: []string{v}, told: told}
	}
	v, told := window("400000")
	tests["window larger than the model's"] = client{model: plain, vars: []string{v}, told: told}
	v, told = window("1000000")
	tests["window as large as a large one"] = client{model: large, vars: []string{v}, told: told}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			full := int64(200_000)
			if test.model == large {
				full = 1_000_000
			}
			at := test.told.CompactsAt(full, test.model, version)
			const margin = 1500 // answer and tool result come on top of the usage, by the client's estimate
			wants := map[int64]int{at - margin: 0, at: 1}
			if test.waits {
				wants[at] = 0
			}
			for size, want := range wants {
				if got := compactionsAt(t, test.model, size, test.vars, test.settings); got != want {
					t.Errorf("%d automatic compactions at %d, want %d: assumed is %d", got, size, want, at)
				}
			}
		})
	}
	off := map[string]client{
		"off by environment": {vars: []string{"DISABLE_AUTO_COMPACT=1"}},
		"off altogether":     {vars: []string{"DISABLE_COMPACT=true"}},
	}
	if waits { // 2.1.100 has the setting in ~/.claude.json
		off["off by settings"] = client{settings: map[string]any{"autoCompactEnabled": false}}
	}
	for name, test := range off {
		t.Run(name, func(t *testing.T) {
			if got := compactionsAt(t, tuned, 175_000, test.vars, test.settings); got != 0 {
				t.Errorf("%d automatic compactions", got)
			}
		})
	}
}

// compactionsAt lets a client go on after an answer that brings its context to size, and counts how often it compacts
// before it asks again.
func compactionsAt(t *testing.T, model string, size int64, vars []string, settings map[string]any) int {
	t.Helper()
	stub := newModelStub(t)
	stub.spare = true
	h := newClientHome(t, stub)
	h.extra = vars
	h.model = model
	all := map[string]any{"permissions": map[string]any{"allow": []string{"Bash"}}}
	for k, v := range settings {
		all[k] = v
	}
	h.writeJSON(h.home+"/.claude/settings.json", all)
	// What the first answer shows counts as system prompt and tools, which no compaction makes smaller.
	stub.script(modelStep{grow: 20_000, tools: 1}, modelStep{grow: size - 20_000, tools: 1}, modelStep{grow: 100})
	h.headless()
	said, _, wrong := stub.said()
	if len(wrong) > 0 {
		t.Fatalf("wrong: %q", wrong)
	}
	return said.Compactions
}
