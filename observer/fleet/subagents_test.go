package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// subagentOf starts the transcript of a subagent of uuid(n).
func subagentOf(n int, id string, lines ...string) *testFile {
	return newTestFile("/p/-home-dev-web/"+uuid(n)+"/subagents/agent-"+id+".jsonl", lines...)
}

// TestSubagents tests that each subagent has separate figures, which are not the session's.
func TestSubagents(t *testing.T) {
	parent := ofSession(
		1,
		prompt(before(60), "p1"),
		reply(before(59), "m1", 100_000, 10),
		reply(before(1), "m2", 110_000, 20),
	)
	f := settled(parent,
		subagentOf(
			1,
			"a1",
			reply(before(50), "s1", 90_000, 1),
			boundary(before(49), "b1", "auto", 95_000),
			reply(before(48), "s2", 20_000, 1),
		),
		subagentOf(1, "a2", reply(before(1), "s3", 30_000, 1)),
		subagentOf(
			1,
			"a3",
			reply(before(0), "s4", 50_000, 1),
			boundary(before(0), "b2", "auto", 60_000),
		),
		subagentOf(1, "acompact-1", reply(before(0), "s5", 100_000, 1)),
		newTestFile(
			"/p/-copy/"+uuid(1)+"/subagents/agent-a2.jsonl",
			reply(before(30), "s6", 10_000, 1),
		),
		subagentOf(2, "a9", reply(before(0), "s7", 70_000, 1)),
	)
	path := func(id string) string { return "/p/-home-dev-web/" + uuid(1) + "/subagents/agent-" + id + ".jsonl" }
	want := []string{
		path("a3") + " a3: 50000 false, peak 50000, 1 compactions, read 0s and active 0s ago",
		path("a2") + " a2: 30000 true, peak 30000, 0 compactions, read 1m0s and active 1m0s ago",
		path("a1") + " a1: 20000 true, peak 90000, 1 compactions, read 48m0s and active 48m0s ago",
	}
	var got []string
	for _, a := range f.Subagents(labelled(1)) {
		tokens, known := a.Context()
		got = append(got, fmt.Sprintf(
			"%s %s: %d %t, peak %d, %d compactions, read %v and active %v ago",
			a.Path, a.ID, tokens, known, a.Peak, a.Total(),
			created.Sub(a.Reading.At.Time()), created.Sub(a.Active.Time()),
		))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v, err := f.View(labelled(1), created)
	if err != nil || v.Reading.Tokens != 110_000 || v.Peak != 110_000 ||
		v.Compactions != (transcript.TriggerCounts{}) ||
		v.SubagentFiles != 4 ||
		v.SubagentsAtWork != 2 ||
		v.SubagentContext != 30_000 {
		t.Errorf("the session: %+v, %v", v, err)
	}
	if v, _ := f.View(labelled(1), created.Add(5*time.Minute)); v.SubagentsAtWork != 0 {
		t.Errorf("%d still at work", v.SubagentsAtWork)
	}
	if all := f.Subagents("unknown"); all != nil {
		t.Errorf("of an unknown session: %+v", all)
	}
}

// TestSubagentsAreBounded tests that only the latest of many are shown.
func TestSubagentsAreBounded(t *testing.T) {
	files := []*testFile{ofSession(1, reply(before(59), "m1", 100_000, 10))}
	for i := range MaxSubagents + 5 {
		files = append(
			files,
			subagentOf(
				1,
				fmt.Sprintf("a%02d", i),
				reply(before(50-i), fmt.Sprint("s", i), 10_000+i, 1),
			),
		)
	}
	all := settled(files...).Subagents(uuid(1))
	if len(all) != MaxSubagents || all[0].ID != fmt.Sprintf("a%02d", MaxSubagents+4) ||
		all[MaxSubagents-1].ID != "a05" {
		t.Errorf("%d: %+v", len(all), all)
	}
}

// TestSubagentsOpenNoCycle tests that actions of subagents, even compactions, are no events
// of their agent.
func TestSubagentsOpenNoCycle(t *testing.T) {
	f := settled(ofSession(1, reply(before(59), "m1", 100_000, 10)))
	p := subagentOf(1, "a1", reply(after(1), "s1", 190_000, 1))
	if n := f.Apply(p.met()); len(n.Events) != 0 {
		t.Errorf("got %+v", n.Events)
	}
	if n := f.Apply(p.add(boundary(
		after(2),
		"b1",
		"auto",
		195_000,
	)).grown()); len(n.Events) != 0 {
		t.Errorf("got %+v", n.Events)
	}
	if v, _ := f.View(uuid(1), created); v.Reading.Tokens != 100_000 || 1+v.Total() != 1 {
		t.Errorf("got %+v", v)
	}
}
