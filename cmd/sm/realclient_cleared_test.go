//go:build realclient

package main_test

import "testing"

// TestRealClientCleared: where the API clears old tool results, the context shrinks without a compaction. The client
// writes down what was cleared only where it has asked for that, which its vendor turns on from afar.
func TestRealClientCleared(t *testing.T) {
	r := newPolicyRun(t)
	r.begin(20_000)
	r.turn("to 60 %", modelStep{grow: 99_000, tools: 2}, modelStep{grow: 1000})
	r.turn("70,000 cleared", modelStep{grow: 10_000, clear: 70_000, tools: 2}, modelStep{grow: 1000})
	r.turn("90,000 cleared", modelStep{grow: 90_000, tools: 2}, modelStep{grow: 30_000, clear: 90_000})
	r.turn("after that", modelStep{grow: 1000, tools: 1}, modelStep{grow: 500})
	r.compactionsCount(0)
	if s := r.me(); s.Cycle != 1 {
		t.Errorf("cycle %d without a compaction", s.Cycle)
	}
	r.saidSoFar("at the end", 1, 1)
	t.Logf("records that tell of clearing: %d", r.records("context_management", "applied_edits"))
	r.report()
}
