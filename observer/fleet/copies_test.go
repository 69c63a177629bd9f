package fleet

import (
	"fmt"
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/clients/clientstest"
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

// labelled is the label of uuid(n).
func labelled(n int) string { return uuid(n)[:8] }

// copied changes what a copy changes: uuids, so that they differ.
func copied(lines ...string) []string {
	var out []string
	for i, line := range lines {
		out = append(out, strings.Replace(line, `"uuid":"`, fmt.Sprintf(`"uuid":"copy-%d-`, i), 1))
	}
	return out
}

// TestCopies finds each group of files in all orders.
func TestCopies(t *testing.T) {
	first := []string{prompt(
		before(60),
		"p1",
	), reply(
		before(59),
		"m1",
		100_000,
		10,
	), boundary(
		before(58),
		"b1",
		"auto",
		100_010,
	),
		summary(before(58), "s1", "b1", "one"), reply(before(57), "m2", 30_000, 20)}
	legacy := []string{summary(before(50), "s2", "", "two"), reply(before(49), "m3", 20_000, 30)}
	for _, c := range []struct {
		name   string
		papers []*paper
		want   map[string]figures
	}{
		{"alone", []*paper{ofSession(1, first...)}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0},
		}},
		{"resumed into a new file", []*paper{
			ofSession(1, first...), ofSession(2, first...).add(reply(before(40), "m9", 31_000, 5)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, one(auto), 1, 5, 0, 0},
		}},
		{"a fork that names its origin and is older", []*paper{
			ofSession(1, first...).add(reply(before(30), "m8", 31_000, 7)),
			ofSession(2, origin(
				"p1",
				prompt(before(60), "q1"),
			), origin(
				"x1",
				replyAs(before(59), "m1", "y1", 100_000, 10),
			),
				origin(
					"b1",
					boundary(before(58), "c1", "auto", 100_010),
				), origin(
					"s1",
					summary(before(58), "t1", "c1", "one"),
				)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 3, 37, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, one(auto), 0, 0, 0, 0},
		}},
		{"restamped: other uuids, the compaction at its time", []*paper{
			ofSession(1, first...), ofSession(2, copied(first...)...).add(reply(before(40), "m9", 31_000, 5)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, one(auto), 1, 5, 0, 0},
		}},
		{"summaries without a boundary, other uuids", []*paper{
			ofSession(1, legacy...), ofSession(2, copied(legacy...)...).add(reply(before(40), "m9", 31_000, 5)),
		}, map[string]figures{
			labelled(1): {one(unknown), transcript.TriggerCounts{}, 1, 30, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, one(unknown), 1, 5, 0, 0},
		}},
		{"a summary goes on in a file of its own", []*paper{
			ofSession(
				1,
				first...,
			), ofSession(
				2,
				summary(before(50), "s7", "", "one"),
				reply(before(40), "m9", 31_000, 5),
			),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, one(unknown), 1, 5, 0, 0},
		}},
		{"two boundaries with one summary", []*paper{
			ofSession(1, first...),
			ofSession(
				2,
				boundary(before(48), "b5", "auto", 50_000),
				summary(before(48), "s5", "b5", "one"),
				reply(before(40), "m9", 31_000, 5),
			),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0},
			labelled(2): {one(auto), transcript.TriggerCounts{}, 1, 5, 0, 0},
		}},
		{"one summary all the time", []*paper{
			ofSession(1, summary(
				before(50),
				"s1",
				"",
				"one",
			), boundary(
				before(48),
				"b5",
				"auto",
				50_000,
			), summary(
				before(48),
				"s5",
				"b5",
				"one",
			),
				boundary(
					before(47),
					"b6",
					"manual",
					50_000,
				), summary(
					before(47),
					"s6",
					"b6",
					"one",
				), reply(
					before(46),
					"m1",
					9_000,
					1,
				), summary(
					before(45),
					"s7",
					"",
					"one",
				)),
		}, map[string]figures{
			labelled(1): {transcript.TriggerCounts{1, 1, 2}, transcript.TriggerCounts{}, 1, 1, 0, 0},
		}},
		{"a copy of a copy", []*paper{
			ofSession(1, boundary(before(58), "b1", "auto", 100_010), reply(before(57), "m2", 30_000, 20)),
			// The second has the first's time but its own uuid, the third that uuid but its own time.
			ofSession(2, boundary(before(58), "b2", "auto", 100_010), reply(before(56), "m3", 30_000, 20)),
			ofSession(3, boundary(before(55), "b2", "auto", 100_010), reply(before(54), "m4", 30_000, 20)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 1, 20, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, one(auto), 1, 20, 0, 0},
			labelled(3): {transcript.TriggerCounts{}, one(auto), 1, 20, 0, 0},
		}},
		{"one session in two files", []*paper{
			ofSession(
				1,
				first...,
			), newPaper(
				"/p/-other/"+uuid(1)+".jsonl",
				first...,
			).add(reply(
				before(30),
				"m8",
				31_000,
				7,
			)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 3, 37, 0, 0},
		}},
		{"files called alike", []*paper{
			newPaper(
				"/p/a/full.jsonl",
				first...,
			), newPaper(
				"/p/b/full.jsonl",
				legacy...,
			), newPaper(
				"/p/c/full.jsonl",
				legacy...,
			),
		}, map[string]figures{
			"full":   {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0},
			"full-2": {one(unknown), transcript.TriggerCounts{}, 1, 30, 0, 0},
			"full-3": {transcript.TriggerCounts{}, one(unknown), 0, 0, 0, 0},
		}},
		{"subagents", []*paper{
			ofSession(1, first...).add(sidechain(reply(before(56), "m4", 9_000, 40))),
			newPaper(
				"/p/-home-dev-web/"+uuid(1)+"/subagents/agent-a.jsonl",
				reply(before(56), "m5", 9_000, 50),
				boundary(before(55), "b7", "auto", 9_000),
			),
			newPaper("/p/-home-dev-web/"+uuid(1)+"/subagents/agent-acompact-b.jsonl", copied(first[1], first[4])...),
			// Before 2.1.2 they lay next to the session's file and named it in their records.
			newPaper(
				"/p/-home-dev-web/agent-c.jsonl",
				`{"sessionId":"`+uuid(1)+`",`+reply(before(55), "m6", 9_000, 60)[1:],
			),
			newPaper("/p/-home-dev-web/"+uuid(7)+"/subagents/agent-a.jsonl", reply(before(56), "m7", 9_000, 70)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 3, 3},
		}},
		{"a copy takes its subagents along", []*paper{
			ofSession(
				1,
				first...,
			), newPaper(
				"/p/-home-dev-web/"+uuid(1)+"/subagents/agent-a.jsonl",
				reply(before(56), "m5", 9_000, 50),
			),
			ofSession(
				2,
				first...,
			).add(prompt(
				before(20),
				"p8",
			)), newPaper(
				"/p/-home-dev-web/"+uuid(2)+"/subagents/agent-a.jsonl",
				reply(before(56), "m5", 9_000, 50),
			),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 1, 1},
			labelled(2): {transcript.TriggerCounts{}, one(auto), 0, 0, 1, 0},
		}},
		{"one that tells no time is a copy of one that does", []*paper{
			ofSession(1, reply(before(59), "m1", 9_000, 10)), ofSession(2, reply("", "m1", 9_000, 10)),
		}, map[string]figures{
			labelled(1): {transcript.TriggerCounts{}, transcript.TriggerCounts{}, 1, 10, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, transcript.TriggerCounts{}, 0, 0, 0, 0},
		}},
		{"subagents in two files", []*paper{
			ofSession(1, first...),
			newPaper("/p/-a/"+uuid(1)+"/subagents/agent-a.jsonl", reply(before(56), "m5", 9_000, 50)),
			newPaper(
				"/p/-b/"+uuid(1)+"/subagents/agent-a.jsonl",
				reply(before(56), "m5", 9_000, 50),
				reply(before(55), "m6", 9_000, 60),
			),
			newPaper("/p/-c/" + uuid(1) + "/subagents/agent-a.jsonl"),
			newPaper("/p/-c/"+uuid(1)+"/subagents/agent-b.jsonl", reply(before(56), "m7", 9_000, 70)),
		}, map[string]figures{
			labelled(1): {one(auto), transcript.TriggerCounts{}, 2, 30, 2, 3},
		}},
		{"a message whose lines stand apart", []*paper{
			ofSession(
				1,
				reply(before(9), "m1", 9_000, 1),
				reply(before(8), "m2", 9_000, 2),
				reply(before(7), "m1", 9_000, 100),
			),
			ofSession(
				2,
				reply(before(9), "m1", 9_000, 1),
				reply(before(8), "m2", 9_000, 2),
				reply(before(7), "m1", 9_000, 100),
				reply(before(6), "m3", 9_000, 4),
			),
		}, map[string]figures{
			labelled(1): {transcript.TriggerCounts{}, transcript.TriggerCounts{}, 2, 102, 0, 0},
			labelled(2): {transcript.TriggerCounts{}, transcript.TriggerCounts{}, 1, 4, 0, 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			diff(t, "figures", c.want, figuresOf(inAllOrders(t, c.papers)))
		})
	}
}

// One file after the other, so that each is known when the next is found.
func TestCopiesAfterSettle(t *testing.T) {
	lines := []string{
		reply(before(59), "m1", 100_000, 10),
		sidechain(reply(before(59), "m0", 100_000, 3)),
		boundary(before(58), "b1", "auto", 100_010),
	}
	f := settled(ofSession(1, lines...))
	fork := ofSession(2, lines[0])
	f.Apply(fork.whole())
	f.Apply(fork.add(lines[1], lines[2]).grown()) // the client is still copying
	f.Apply(fork.add(summary(before(58), "s1", "b1", "one")).grown())
	f.Apply(fork.add(reply(after(1), "m2", 40_000, 20)).grown())
	f.Apply(fork.add(reply(after(1), "m2", 40_000, 25)).grown())
	f.Apply(fork.add(reply(after(1), "m1", 100_000, 17)).grown())
	want := map[string]figures{
		labelled(1): {one(auto), transcript.TriggerCounts{}, 1, 10, 0, 1},
		labelled(2): {transcript.TriggerCounts{}, one(auto), 1, 25, 0, 0},
	}
	diff(t, "while it is copied", want, figuresOf(f))
	f.Apply(fork.whole())
	diff(t, "read again", want, figuresOf(f))
	if c := f.Counters(); c.Tokens.Output != 25 || c.Compactions != [4]uint64{} {
		t.Errorf("a copy moved counters: %+v", c)
	}
	f.Apply(ofSession(1).gone())
	delete(want, labelled(1))
	diff(t, "without its origin", want, figuresOf(f))
}

// The summary is there, then its boundary: one compaction, of another trigger than
// it was counted for at first. Short summaries have no digest.
func TestSummaryBeforeBoundary(t *testing.T) {
	for _, text := range []string{"one", ""} {
		s := strings.Replace(
			summary(after(2), "s1", "b1", text),
			strings.Repeat("This session is being continued: . ", 8),
			"short",
			1,
		)
		f := settled()
		p := ofSession(1, reply(after(1), "m1", 100_000, 10))
		f.Apply(p.whole())
		f.Apply(p.add(s).grown())
		f.Apply(p.add(boundary(after(2), "b1", "manual", 100_010)).grown())
		diff(
			t,
			"figures",
			map[string]figures{labelled(1): {one(manual), transcript.TriggerCounts{}, 1, 10, 0, 0}},
			figuresOf(f),
		)
		if c := f.Counters().Compactions; c != [4]uint64{0, 0, 1} {
			t.Errorf("counted %v", c)
		}
		f.Apply(p.add(boundary(after(3), "b2", "manual", 100_010)).grown())
		if c := f.Counters().Compactions; c != [4]uint64{0, 1, 1} {
			t.Errorf("counted %v after another one", c)
		}
	}
}

func TestSummaryBeforeBoundaryTogether(t *testing.T) {
	f := settled()
	p := ofSession(
		1,
		`{"type":"user","isCompactSummary":true,"uuid":"s1","parentUuid":"b1","message":{"content":"short"}}`,
	)
	f.Apply(p.whole())
	f.Apply(p.add(boundary(after(2), "b1", "auto", 100_010), boundary(after(3), "b2", "auto", 100_010)).grown())
	if c := f.Counters().Compactions; c != [4]uint64{1, 0, 1} {
		t.Errorf("counted %v", c)
	}
}

// Clients of 2.1.197 write what is new in a fork before what they copy.
func TestForkNewestFirst(t *testing.T) {
	b := boundary(before(2), "b1", "auto", 100_010)
	s := summary(before(2), "s1", "b1", "one")
	f := settled(ofSession(1, b, s))
	fork := ofSession(2, boundary(after(1), "b2", "auto", 50_000), summary(after(1), "s2", "b2", "two"))
	f.Apply(fork.whole())
	f.Apply(fork.add(b).grown())
	f.Apply(fork.add(s).grown())
	diff(t, "figures", map[string]figures{
		labelled(1): {Compactions: one(auto)}, labelled(2): {Compactions: one(auto), Inherited: one(auto)},
	}, figuresOf(f))
}

func TestSummaryBeforeBoundaryCopied(t *testing.T) {
	b := boundary(before(2), "b1", "auto", 100_010)
	s := summary(before(2), "s1", "b1", "one")
	f := settled(ofSession(1, b, s))
	fork := ofSession(2, s)
	f.Apply(fork.whole())
	f.Apply(fork.add(b).grown())
	diff(t, "figures", map[string]figures{
		labelled(1): {Compactions: one(auto)}, labelled(2): {Inherited: one(auto)},
	}, figuresOf(f))
}

// What subagents' files claim first stays theirs in the counters, but the session
// shows its own messages whole.
func TestSubagentReadFirst(t *testing.T) {
	f := settled()
	f.Apply(newPaper("/p/-x/"+uuid(1)+"/subagents/agent-a.jsonl", reply(after(1), "m1", 9_000, 5)).whole())
	if n := len(f.Views(created)); n != 0 {
		t.Errorf("an orphan has %d views", n)
	}
	p := ofSession(1, reply(after(1), "m1", 9_000, 5))
	f.Apply(p.whole())
	f.Apply(p.add(reply(after(2), "m2", 9_000, 6)).grown())
	diff(
		t,
		"figures",
		map[string]figures{labelled(1): {transcript.TriggerCounts{}, transcript.TriggerCounts{}, 2, 11, 1, 1}},
		figuresOf(f),
	)
	if n := f.Counters().Tokens.Output; n != 11 {
		t.Errorf("counted %d", n)
	}
}

func TestSubagentAlone(t *testing.T) {
	p := newPaper(
		"/p/-x/"+uuid(1)+"/subagents/agent-a.jsonl",
		reply(after(1), "m1", 9_000, 5),
		boundary(after(2), "b1", "auto", 9_000),
	)
	c := p.whole()
	c.Alone = true
	f := New(Options{Clients: clientstest.Table()}, Stored{})
	f.Apply(c)
	f.Apply(transcript.Change{CaughtUp: true})
	f.Settle(created)
	diff(t, "figures", map[string]figures{"agent-a": {one(auto), transcript.TriggerCounts{}, 1, 5, 0, 0}}, figuresOf(f))
}
