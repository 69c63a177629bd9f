package observer

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLiveTail: a transcript that is written line by line gives the notices in their
// order, each at its record.
func TestLiveTail(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t).start()
	r.joins("boss", "")
	r.joins("em", `,"parent_session_id":"boss","claude_session_id":"`+uuid(1)+`"`)
	begin, n := time.Now().Add(-5*time.Minute), 0
	at := func() string { n++; return stamp(begin.Add(time.Duration(n) * time.Second)) }
	for cycle := 1; cycle <= 3; cycle++ {
		r.write(uuid(1), prompt(at(), fmt.Sprint("p", cycle), "Go."))
		for tokens := 20_000; tokens <= 160_000; tokens += 10_000 {
			r.write(uuid(1), reply(at(), fmt.Sprint("m", cycle, "-", tokens), tokens, 10))
		}
		r.write(uuid(1), boundary(at(), fmt.Sprint("b", cycle), "manual", 160_000))
	}
	r.write(uuid(1), reply(at(), "last", 100_000, 10))
	r.untilMail("all is read",
		"em/1/warning withdrawn", "em/1/critical withdrawn", "em/2/compacted waiting to boss",
		"em/2/warning withdrawn", "em/2/critical withdrawn", "em/3/compacted waiting to boss",
		"em/3/warning withdrawn", "em/3/critical withdrawn", "em/4/compacted waiting to boss", "em/4/warning waiting")
	for kind, want := range map[string]float64{"warning": 4, "critical": 3, "compacted": 3, "storm": 0} {
		if got := r.scrape()[`sm_notices_total{kind="`+kind+`"}`]; got != want {
			t.Errorf("%v notices of kind %s, want %v", got, kind, want)
		}
	}
	for _, want := range []string{"key=em/1/warning to=self mode=sequential at=" + stamp(begin.Add(10 * time.Second))[:19], "key=em/1/critical to=self mode=urgent at=" + stamp(begin.Add(13 * time.Second))[:19]} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, r.log)
		}
	}
	r.stop()
}

// TestWholeFileConfirms: a session's file may appear with lines in it already. What these
// show to have been heard is confirmed, whatever the agent is known by.
func TestWholeFileConfirms(t *testing.T) {
	for name, agent := range map[string]string{"a named agent": "em", "one that is its session": ""} {
		t.Run(name, func(t *testing.T) {
			checkAppLeaks(t)
			r := newWatched(t).start()
			r.fire(agent, uuid(1), "SessionStart", `,"source":"startup"`)
			r.sends(uuid(1), "sequential", "text")
			line := r.fire(agent, uuid(1), "SessionStart", `,"source":"compact"`)
			r.checkMail("offered", "text offered")
			r.write(uuid(1), prompt(ago(0), "p1", "Go."), attachment(ago(0), line), reply(ago(0), "m1", 20_000, 10))
			r.untilMail("heard", "text confirmed")
			r.stop()
		})
	}
}

// TestHeardWhileAway: what was heard while no observer ran is confirmed at the next start,
// before anything is offered again.
func TestHeardWhileAway(t *testing.T) {
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			checkAppLeaks(t)
			r := newWatched(t)
			r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "Go."), reply(ago(8*time.Minute), "m1", 60_000, 10))
			r.start()
			r.fire("em", uuid(1), "UserPromptSubmit", "")
			r.sends("em", "urgent", "text")
			line := r.fire("em", uuid(1), "PostToolUse", "")
			end(r)
			r.write(uuid(1), attachment(ago(0), line), reply(ago(0), "m2", 104_000, 10))
			r.start()
			r.checkMail("at the start", "text confirmed", "em/1/warning waiting")
			if again := r.fire("em", uuid(1), "PostToolUse", ""); again != "" {
				t.Errorf("heard again: %q", again)
			}
			r.stop()
		})
	}
}

// TestQuotedIsNotHeard: an id that the agent or its user mentions is no proof.
func TestQuotedIsNotHeard(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "Go."))
	r.start()
	r.fire("em", uuid(1), "UserPromptSubmit", "")
	r.sends("em", "urgent", "text")
	line := r.fire("em", uuid(1), "PostToolUse", "")
	r.write(uuid(1), prompt(ago(0), "p2", "What was #"+idOf(line)+"?"), strings.Replace(attachment(ago(0), line), "{", `{"isSidechain":true,`, 1),
		attachment(ago(time.Hour), line+"0"), reply(ago(0), "m1", 104_000, 10))
	r.untilMail("all is read", "text offered", "em/1/warning waiting")
	r.stop()
}

// TestParentByAnyName: a parent is found by whatever names an agent.
func TestParentByAnyName(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t).start()
	r.joins("em-7", `,"name":"boss","claude_session_id":"`+uuid(1)+`"`)
	for i, parent := range []string{"em-7", "boss", uuid(1)} {
		child := fmt.Sprint("child", i)
		r.joins(child, `,"parent_session_id":"`+parent+`"`)
		r.uses(child, 40)
		r.happens(child, "compaction_complete")
	}
	r.checkMail("", "child0/2/compacted waiting to em-7", "child1/2/compacted waiting to em-7", "child2/2/compacted waiting to em-7")
	r.stop()
}
