package observer

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file are bugs that others had in the same features, by their numbers
// in the survey of them, where it takes the whole observer to have them.

func TestResetWithdrawsTheNewsOfACompactionFromTheParentsQueue(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 40)
	r.happens("em", "compaction_complete")
	r.happens("em", "context_reset")
	r.checkMail("", "em/2/compacted withdrawn to boss")
	if line := r.fire("boss", uuid(9), "Stop", ""); line != "" {
		t.Errorf("the parent hears %q", line)
	}
	r.stop()
}

func TestReportsFromBeforeTheClearChangeNothing(t *testing.T) {
	r := newSeed(t)
	begin := time.Now().Add(-time.Minute)
	tell := func(event, session string, second float64, fields string) {
		at := begin.Add(time.Duration(second * float64(time.Second))).UTC().Format(time.RFC3339Nano)
		body := fmt.Sprintf(`{"hook_event_name":%q,"session_id":%q,"sm":{"agent":"em","at":%q}%s}`, event, session, at, fields)
		if a := r.ask(http.MethodPost, "/hooks/claude", body); a.Code != http.StatusNoContent {
			t.Errorf("%s: %d %s", body, a.Code, a.Body)
		}
	}
	report := func(tokens int) string {
		return fmt.Sprintf(`,"context_window":{"context_window_size":200000,"used_percentage":%d,"current_usage":{"input_tokens":%d}}`, tokens/2000, tokens)
	}
	low, high := report(20_000), report(160_000)
	tell("StatusLine", uuid(1), 1, low)
	tell("SessionStart", uuid(2), 10, `,"source":"clear"`)
	tell("StatusLine", uuid(1), 9.9, high) // detached renders come in any order
	tell("StatusLine", uuid(2), 11, report(14_000))
	tell("StatusLine", uuid(1), 11.5, high)
	tell("StatusLine", uuid(2), 10.5, high)
	r.checkMail("")
	if s := r.session("em"); s.SessionID != uuid(2) || s.TokensUsed == nil || *s.TokensUsed != 14_000 || s.Cycle != 2 {
		t.Errorf("%+v", s)
	}
	r.stop()
}

func TestCompactingEndsWithAFreshReportAndStaysEnded(t *testing.T) {
	for name, end := range restarts() {
		t.Run(name, func(t *testing.T) {
			r := newSeed(t)
			r.uses("em", 80)
			r.happens("em", "compaction")
			end(r)
			r.start()
			if s := r.session("em"); !s.IsCompacting {
				t.Errorf("compacting was forgotten: %+v", s)
			}
			r.uses("em", 30) // the end of the compaction was lost
			r.happens("em", "context_reset")
			end(r)
			r.start()
			if s := r.session("em"); s.IsCompacting || s.Cycle != 3 {
				t.Errorf("%+v", s)
			}
			r.stop()
		})
	}
}

func TestSilenceOfAnAgentAtWorkIsToldToTheOperator(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t).start()
	r.client(4711, uuid(1), `,"status":"busy"`)
	r.fire("em", uuid(1), "UserPromptSubmit", "")
	r.until("the client is known", func() bool { return r.session("em").State == "busy" })
	for _, minutes := range []int{1, 9, 12, 20} { // the clock runs, and nothing is heard
		noErrors(t, r.app.do(t.Context(), func(c *core) { c.pass(time.Now().Add(time.Duration(minutes) * time.Minute)) }))
	}
	r.until("it is told", func() bool { return strings.Contains(r.log.String(), "notice for the operator") })
	if n := r.scrape()[`sm_notices_total{kind="no_data"}`]; n != 1 || strings.Count(r.log.String(), "notice for the operator") != 1 {
		t.Errorf("%v notices:\n%s", n, r.log)
	}
	r.stop()
}

func TestOtherThresholdsWithdrawWhatWaits(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 52)
	r.stop()
	limits := &r.o.Alerts.Thresholds
	limits.WarningPercentage, limits.CriticalPercentage, limits.WarningOfThreshold, limits.CriticalOfThreshold = 80, 90, 0, 0
	r.start()
	r.checkMail("above the threshold no more", "em/1/warning withdrawn")
	r.stop()
}

func TestDisablingWithdrawsAndEnablingSaysWhatIsHighAlready(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 52)
	r.stop()
	r.o.Alerts.Disabled = true
	r.start()
	r.uses("em", 70)
	r.checkMail("disabled", "em/1/warning withdrawn")
	if s := r.session("em"); s.Enabled || s.Level != "critical" {
		t.Errorf("%+v", s)
	}
	r.stop()
	r.o.Alerts.Disabled = false
	r.start()
	r.checkMail("enabled again", "em/1/warning withdrawn", "em/1/critical waiting")
	r.stop()
}

func TestWhatIsAcceptedHasAReader(t *testing.T) {
	r := newSeed(t)
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	r.write(uuid(1), prompt(ago(0), "p1", "Go."))
	r.fire("em", uuid(2), "SessionStart", `,"source":"clear"`)
	r.until("the session that was left is known", func() bool { return strings.Contains(r.ask(http.MethodGet, "/sessions", "").Body, `"state":"left"`) })
	// Who knows an agent by a session that it has left means the agent.
	r.sends(uuid(1), "urgent", "text")
	if line := r.fire("em", uuid(2), "PostToolUse", ""); !strings.HasPrefix(line, "[sm message] text #") {
		t.Errorf("the agent hears %q", line)
	}
	r.stop()
}

func TestALateStopBelongsToTheSessionThatWasLeft(t *testing.T) {
	r := newSeed(t)
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	r.fire("em", uuid(2), "SessionStart", `,"source":"clear"`)
	r.fire("em", uuid(1), "Stop", "")
	r.fire("em", uuid(1), "SessionEnd", `,"reason":"clear"`)
	if s := r.session("em"); s.SessionID != uuid(2) || s.Cycle != 1 {
		t.Errorf("%+v", s)
	}
	r.stop()
}

// TestNotifyRunsNoShell: what the operator's command gets is on its standard
// input, whatever names stand in it.
func TestNotifyRunsNoShell(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	out, trap := filepath.Join(r.dir, "told"), filepath.Join(r.dir, "trap")
	r.o.Notify = []string{"tee", "-a", out}
	hostile := "$(touch " + trap + ");`touch " + trap + "`|touch " + trap
	r.o.Alerts.Messages.Storm = hostile + " {{.Name}}"
	r.start()
	r.joins("em", fmt.Sprintf(`,"name":%q,"claude_session_id":%q`, "$(touch x)", uuid(1)))
	begin := time.Now().Add(-time.Minute)
	for i := range 3 {
		at := begin.Add(time.Duration(10*i) * time.Second)
		r.write(uuid(1), reply(stamp(at), fmt.Sprint("m", i), 90_000, 10), boundary(stamp(at.Add(time.Second)), fmt.Sprint("b", i), "auto", 160_000))
	}
	var told string
	r.until("the operator is told", func() bool {
		b, _ := os.ReadFile(out)
		told = string(b)
		return told != ""
	})
	if want := hostile + " __touch_x_\n"; told != want {
		t.Errorf("told %q, want %q", told, want)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("a shell has run")
	}
	r.stop()
}

func TestSubagentsMoveNothing(t *testing.T) {
	r := newSeed(t)
	r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
	r.sends("em", "urgent", "text")
	before := r.session("em")
	for _, event := range []string{"PreCompact", "PostCompact", "SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "SessionEnd"} {
		if line := r.fire("em", uuid(7), event, `,"agent_id":"abf77f2542a28b344","source":"compact","trigger":"auto"`); line != "" {
			t.Errorf("%s is answered with %q", event, line)
		}
	}
	if diff := cmp.Diff(before, r.session("em")); diff != "" {
		t.Errorf("the agent (-before +after):\n%s", diff)
	}
	r.checkMail("", "text waiting")
	r.stop()
}
