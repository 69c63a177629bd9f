package observer

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// untilMail waits until the queue has the expected content.
func (r *rig) untilMail(what string, want ...string) {
	r.t.Helper()
	var got []string
	end := time.Now().Add(patience - time.Second) // so that the difference is shown
	r.until(what, func() bool {
		got = r.mail()
		return slices.Equal(want, got) || time.Now().After(end)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Fatalf("messages: %s (-want +got):\n%s\n%s", what, diff, r.log)
	}
}

// chapter is one part of an agent's life, and the queue after it.
type chapter struct {
	name string
	do   func(*rig)
	want []string
}

// life is the life of an agent with all rules of the policy, each part reported by its real
// source.
func life() []chapter {
	var answer string
	hook := func(event, session, fields string) func(*rig) {
		return func(r *rig) { answer = r.fire("em", session, event, fields) }
	}
	writes := func(session string, lines ...func() string) func(*rig) {
		return func(r *rig) {
			for _, line := range lines {
				r.write(session, line())
			}
		}
	}
	replies := func(msg string, tokens int) func() string {
		return func() string { return reply(ago(0), msg, tokens, 10) }
	}
	one := uuid(1)
	two := uuid(2)
	const warned, critical, parent = "em/1/warning confirmed", "em/1/critical withdrawn", "em/2/compacted offered to boss"
	return []chapter{
		{"known", func(r *rig) {
			r.joins("boss", "")
			r.joins("em", `,"parent_session_id":"boss"`)
			r.fire("em", one, "SessionStart", `,"source":"startup"`)
		}, nil},
		{
			"warned",
			writes(
				one,
				func() string { return prompt(ago(0), "p1", "Go.") },
				replies("m1", 104_000),
			),
			[]string{"em/1/warning waiting"},
		},
		{"the warning is offered", hook("Stop", one, ""), []string{"em/1/warning offered"}},
		{
			"the warning is received",
			writes(one, func() string { return attachment(ago(0), answer) }),
			[]string{warned},
		},
		{
			"critical",
			writes(one, replies("m2", 132_000)),
			[]string{warned, "em/1/critical waiting"},
		},
		{
			"the second warning is offered",
			hook("PostToolUse", one, ""),
			[]string{warned, "em/1/critical offered"},
		},
		{
			"compacting",
			hook("PreCompact", one, `,"trigger":"auto"`),
			[]string{warned, "em/1/critical offered"},
		},
		{
			"compacted",
			writes(one, func() string { return boundary(ago(0), "b1", "auto", 160_000) }),
			[]string{warned, critical, "em/2/compacted waiting to boss"},
		},
		{
			"reports its own usage",
			hook("SessionStart", one, `,"source":"compact"`),
			[]string{warned, critical, "em/2/compacted waiting to boss"},
		},
		{
			"and again",
			hook("PostCompact", one, `,"trigger":"auto"`),
			[]string{warned, critical, "em/2/compacted waiting to boss"},
		},
		{
			"its parent gets the notices",
			func(r *rig) { r.fire("boss", uuid(9), "Stop", "") },
			[]string{warned, critical, parent},
		},
		{
			"grown again",
			writes(one, replies("m3", 30_000), replies("m4", 110_000)),
			[]string{warned, critical, parent, "em/2/warning waiting"},
		},
		{
			"cleared",
			hook("SessionStart", two, `,"source":"clear","agent_id":null`),
			[]string{
				warned,
				critical,
				"em/2/compacted withdrawn to boss",
				"em/2/warning withdrawn",
			},
		},
		{
			"warned in the next session", writes(
				two,
				func() string { return prompt(ago(0), "p2", "Go on.") },
				replies("m5", 104_000),
			),
			[]string{
				warned,
				critical,
				"em/2/compacted withdrawn to boss",
				"em/2/warning withdrawn",
				"em/3/warning waiting",
			},
		},
	}
}

// TestNothingTwiceOverRestarts tests that an observer that ends and starts after each part of
// an agent's life, by a stop or a kill, sends the notices of one that runs throughout.
func TestNothingTwiceOverRestarts(t *testing.T) {
	t.Parallel()
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t).start()
			for _, c := range life() {
				c.do(r)
				r.untilMail(c.name, c.want...)
				end(r)
				r.start()
				r.checkMail(c.name+", after a restart", c.want...)
			}
			r.checkLife()
		})
	}
}

// checkLife checks the counters after life.
func (r *rig) checkLife() {
	r.t.Helper()
	want := map[string]float64{
		`agent_compactions_total{client="claude",trigger="auto"}`: 1, `agent_compaction_attempts_total{client="claude",trigger="auto"}`: 1,
		`agent_session_compactions_total{session="em",trigger="auto"}`: 1, `agent_compaction_pre_tokens_sum{client="claude"}`: 160_000,
		`sm_notices_total{kind="warning"}`: 3, `sm_notices_total{kind="critical"}`: 1, `sm_notices_total{kind="compacted"}`: 1,
		`sm_messages_total{outcome="confirmed",via="hook"}`: 1, `sm_messages_total{outcome="withdrawn",via="hook"}`: 2, `sm_messages_total{outcome="withdrawn",via="none"}`: 1,
		`sm_hook_events_total{event="SessionStart"}`: 3, `sm_hook_events_total{event="Stop"}`: 2, `sm_hook_events_total{event="PostToolUse"}`: 1,
		`sm_hook_events_total{event="PreCompact"}`: 1, `sm_hook_events_total{event="PostCompact"}`: 1,
		`sm_queue_messages`: 1, `agent_tokens_total{client="claude",kind="output"}`: 50, `sm_transcript_lines_total{result="ok"}`: 9,
	}
	got := r.scrape()
	maps.DeleteFunc(got, func(name string, v float64) bool {
		_, asked := want[name]
		counter := strings.Contains(name, "_total{") && v > 0 &&
			!strings.HasPrefix(name, "process_") &&
			!strings.HasPrefix(name, "go_") &&
			!strings.HasPrefix(name, "agent_tokens")
		return !asked && !counter
	})
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("counted (-want +got):\n%s", diff)
	}
	if s := r.session("em"); s.SessionID != uuid(2) || s.Cycle != 3 || s.IsCompacting ||
		s.TokensUsed == nil ||
		*s.TokensUsed != 104_000 {
		r.t.Errorf("at the end: %+v", s)
	}
}
