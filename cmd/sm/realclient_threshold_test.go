//go:build realclient

package main

import (
	"cmp"
	"fmt"
	"os"
	"testing"

	"sm/transcript/claude"
	"sm/transcript/claude/hook"
)

// TestRealClientThreshold compares the sizes at which a client is assumed to compact with the
// real client: a little below, it does not; at the size, it does. A client from 2.1.197 on
// without a configured window, with a model that has none either, waits until the API refuses
// a request: then the size is the least at which it may compact.
func TestRealClientThreshold(t *testing.T) {
	version := cmp.Or(os.Getenv("CLIENT_VERSION"), realClientVersion)
	waits := hook.AtLeast(version, 2, 1, 197)
	const plain, tuned, large = "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-sonnet-4-5[1m]"
	type client struct {
		model       string
		variable    string
		settings    map[string]any
		autoCompact claude.AutoCompact
		waits       bool
		off         bool
	}
	tests := map[string]client{
		"default":            {model: plain, waits: waits},
		"tuned model":        {model: tuned},
		"large window":       {model: large, waits: waits},
		"off by environment": {model: tuned, variable: "DISABLE_AUTO_COMPACT=1", off: true},
		"off altogether":     {model: tuned, variable: "DISABLE_COMPACT=true", off: true},
		"shorter answers": {
			model:       tuned,
			variable:    "CLAUDE_CODE_MAX_OUTPUT_TOKENS=8000",
			autoCompact: claude.AutoCompact{Output: "8000"},
		},
	}
	for _, n := range []int64{120_000, 60_000} {
		tests[fmt.Sprint("setting of ", n)] = client{
			model:       tuned,
			settings:    map[string]any{"autoCompactWindow": n},
			autoCompact: claude.AutoCompact{Setting: n},
		}
	}
	for _, p := range []string{"50", "99"} {
		tests[p+" percent"] = client{
			model:       tuned,
			variable:    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=" + p,
			autoCompact: claude.AutoCompact{Percent: p},
		}
	}
	for _, n := range []string{"100000", "140000", "60000", "150k", "400000", "1000000"} {
		model := plain
		if n == "1000000" {
			model = large
		}
		tests["window of "+n] = client{
			model:       model,
			variable:    "CLAUDE_CODE_AUTO_COMPACT_WINDOW=" + n,
			autoCompact: claude.AutoCompact{Window: n},
		}
	}
	if waits { // 2.1.100 has the setting in ~/.claude.json
		tests["off by settings"] = client{
			model:    tuned,
			settings: map[string]any{"autoCompactEnabled": false},
			off:      true,
		}
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			full := int64(200_000)
			if test.model == large {
				full = 1_000_000
			}
			at := test.autoCompact.CompactsAt(full, test.model, version)
			const margin = 1500 // answer and tool result come on top of the usage, by the client's estimate
			wants := map[int64]int{at - margin: 0, at: 1}
			if test.waits || test.off {
				wants[at] = 0
			}
			for size, want := range wants {
				if got := compactionsAt(
					t,
					test.model,
					size,
					test.variable,
					test.settings,
				); got != want {
					t.Errorf(
						"%d automatic compactions at %d, want %d: assumed is %d",
						got,
						size,
						want,
						at,
					)
				}
			}
		})
	}
}

// compactionsAt continues after an answer that brings the context to size, and counts how
// often the client compacts before its next request.
func compactionsAt(
	t *testing.T,
	model string,
	size int64,
	variable string,
	settings map[string]any,
) int {
	t.Helper()
	stub := newModelStub(t)
	stub.spare = true
	h := newClientHome(t, stub)
	if variable != "" {
		h.extra = []string{variable}
	}
	h.model = model
	all := map[string]any{"permissions": map[string]any{"allow": []string{"Bash"}}}
	for k, v := range settings {
		all[k] = v
	}
	h.writeJSON(h.home+"/.claude/settings.json", all)
	// The first answer's size counts as system prompt and tools, which no compaction makes
	// smaller.
	stub.script(modelStep{
		grow:  20_000,
		tools: 1,
	}, modelStep{
		grow:  size - 20_000,
		tools: 1,
	}, modelStep{
		grow: 100,
	})
	h.headless()
	said, _, wrong := stub.said()
	if len(wrong) > 0 {
		t.Fatalf("errors of the model: %q", wrong)
	}
	return said.Compactions
}
