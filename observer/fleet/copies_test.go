package fleet

import (
	"testing"

	"sm/transcript"
)

func one(trigger int) (n transcript.TriggerCounts) {
	n[trigger] = 1
	return n
}

const (
	auto    = int(transcript.Auto)
	manual  = int(transcript.Manual)
	unknown = int(transcript.Unknown)
)

// labelled returns the label of uuid(n).
func labelled(n int) string { return uuid(n)[:8] }

func TestSubagentAlone(t *testing.T) {
	p := newTestFile(
		"/p/-x/"+uuid(1)+"/subagents/agent-a.jsonl",
		reply(after(1), "m1", 9_000, 5),
		boundary(after(2), "b1", "auto", 9_000),
	)
	c := p.whole()
	c.Alone = true
	f := unsettled()
	f.Apply(c)
	f.Settle(created)
	diff(
		t,
		"figures",
		map[string]figures{"agent-a": {one(auto), transcript.TriggerCounts{}, 1, 5, 0, 0}},
		figuresOf(f),
	)
}
