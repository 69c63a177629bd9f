package observer

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The tests of this file hold that a notice is given once a cycle, through the routes; those of
// layer 3 are with clients that hand over.

// newSeed is an observer with an agent "em" whose parent is "boss".
func newSeed(t *testing.T) *rig {
	checkAppLeaks(t)
	r := newWatched(t).start()
	r.joins("boss", "")
	r.joins("em", `,"parent_session_id":"boss","name":"web"`)
	return r
}

func (r *rig) checkMail(what string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.mail()); diff != "" {
		r.t.Errorf("messages %s (-want +got):\n%s", what, diff)
	}
}

func TestNotices_WarningFiresOnceAtFiftySuppressedOnRepeat(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 49)
	r.checkMail("below")
	for _, percent := range []int{50, 50, 51, 50, 64} {
		r.uses("em", percent)
	}
	r.checkMail("above", "em/1/warning waiting")
	r.stop()
}

func TestNotices_CriticalFiresOnceAtSixtyFiveSuppressedOnRepeat(t *testing.T) {
	r := newSeed(t)
	for _, percent := range []int{50, 65, 65, 66, 99} {
		r.uses("em", percent)
	}
	r.checkMail("", "em/1/warning withdrawn", "em/1/critical waiting")
	r.stop()
}

func TestNotices_BothAgainAfterACompactionThatLandsAtFiftyFive(t *testing.T) {
	for name, after := range map[string]func(*rig){
		"the end is posted": func(r *rig) { r.happens("em", "compaction_complete") },
		"it is not":         func(*rig) {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newSeed(t)
			r.uses("em", 52)
			r.uses("em", 80)
			r.happens("em", "compaction")
			after(r)
			r.uses("em", 55)
			r.uses("em", 55)
			r.uses("em", 66)
			r.uses("em", 67)
			r.checkMail("", "em/1/warning withdrawn", "em/1/critical withdrawn", "em/2/compacted waiting to boss",
				"em/2/warning withdrawn", "em/2/critical waiting")
			r.stop()
		})
	}
}

// A rotation ends with /clear, and the seed's own scripts post an event for it.
func TestNotices_BothAgainAfterAContextReset(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 70)
	r.happens("em", "context_reset")
	r.uses("em", 52)
	r.checkMail("", "em/1/critical withdrawn", "em/2/warning waiting")
	r.stop()
}

func TestNotices_AFallBelowTheWarningOpensNothing(t *testing.T) {
	r := newSeed(t)
	for _, percent := range []int{50, 65, 49, 10, 50, 65, 3, 70} {
		r.uses("em", percent)
	}
	r.checkMail("", "em/1/warning withdrawn", "em/1/critical waiting")
	if s := r.session("em"); s.Cycle != 1 {
		t.Errorf("cycle %d", s.Cycle)
	}
	r.stop()
}

func TestNotices_TokensUsedFollow(t *testing.T) {
	r := newSeed(t)
	if s := r.session("em"); s.TokensUsed != nil || s.UsedPercentage != nil || s.Level != "" {
		t.Errorf("known before anything was told: %+v", s)
	}
	for _, percent := range []int{8, 45, 61} {
		r.uses("em", percent)
		s := r.session("em")
		if s.TokensUsed == nil || *s.TokensUsed != int64(2000*percent) || *s.UsedPercentage != percent || s.ContextSource != "statusline" || s.WindowTokens != 200_000 {
			t.Errorf("%d%%: %+v", percent, s)
		}
	}
	r.status("em", uuid(1), `"current_usage":{"input_tokens":8500,"output_tokens":1200,"cache_creation_input_tokens":5000,"cache_read_input_tokens":2000},"context_window_size":200000,"used_percentage":8`)
	if s := r.session("em"); *s.TokensUsed != 15_500 || *s.UsedPercentage != 8 || s.SessionID != uuid(1) || s.Level != "ok" {
		t.Errorf("after the client's own report: %+v", s)
	}
	r.stop()
}

// status posts what the client pipes into its status line.
func (r *rig) status(agent, session, window string) {
	r.t.Helper()
	body := fmt.Sprintf(`{"hook_event_name":"StatusLine","session_id":%q,"version":"2.1.197","context_window":{%s},"sm":{"agent":%q}}`, session, window, agent)
	if a := r.ask(http.MethodPost, "/hooks/claude", body); a.Code != http.StatusNoContent || a.Body != "" {
		r.t.Fatalf("%s: %d %s", body, a.Code, a.Body)
	}
}

func TestNotices_TheParentHearsOnceThatItStillRuns(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 30)
	for _, event := range []string{"compaction", "compaction", "compaction_complete", "compaction_complete"} {
		r.happens("em", event)
	}
	r.checkMail("", "em/2/compacted waiting to boss")
	line := r.fire("boss", uuid(2), "Stop", "")
	if want := "[sm context] web was compacted, auto, 60,000 tokens, and is still running. #" + idOf(line); line != want {
		t.Errorf("the parent hears %q, want %q", line, want)
	}
	if s := r.session("em"); s.IsCompacting || s.Cycle != 2 {
		t.Errorf("%+v", s)
	}
	if n := r.scrape()[`agent_compaction_attempts_total{client="claude",trigger="auto"}`]; n != 1 {
		t.Errorf("%v attempts counted, want 1", n)
	}
	r.stop()
}

func TestNotices_TextsAndModes(t *testing.T) {
	r := newSeed(t)
	r.uses("em", 52)
	line := r.fire("em", uuid(1), "Stop", "")
	want := []string{"[sm context] Context at 52%, 104,000 tokens. A good time to write a handoff document and run sm handoff PATH. #" + idOf(line)}
	r.uses("em", 66)
	got := []string{line, r.fire("em", uuid(1), "PostToolUse", "")} // urgent: it does not wait for the end of the turn
	want = append(want, "[sm context] Context at 66%, critically high. Write your handoff document now and run sm handoff PATH. Compaction is near. #"+idOf(got[1]))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.stop()
}

// TestNotices_Answers: the route's bodies and answers are promises to scripts.
func TestNotices_Answers(t *testing.T) {
	r := newSeed(t)
	for _, c := range []struct {
		body, want string
		code       int
	}{
		{`{"session_id":"em","used_percentage":8,"total_input_tokens":15234,"total_output_tokens":4521,"context_window_size":200000}`, `{"status":"ok","used_percentage":8}`, 200},
		{`{"session_id":"web","used_percentage":8.5}`, `{"status":"ok","used_percentage":8.5}`, 200},
		{`{"session_id":"em","used_percentage":null,"total_input_tokens":0}`, `{"status":"ok","used_percentage":null}`, 200},
		{`{"session_id":"em"}`, `{"status":"ok","used_percentage":null}`, 200},
		{`{"session_id":"em","used_percentage":"much"}`, `{"status":"ok","used_percentage":null}`, 200},
		{`{"session_id":"em","event":"compaction","trigger":"auto"}`, `{"status":"compaction_logged"}`, 200},
		{`{"session_id":"em","event":"compaction","trigger":"unknown"}`, `{"status":"compaction_logged"}`, 200},
		{`{"session_id":"em","event":"compaction"}`, `{"status":"compaction_logged"}`, 200},
		{`{"session_id":"em","event":"compaction_complete"}`, `{"status":"compaction_complete_logged"}`, 200},
		{`{"session_id":"em","event":"context_reset"}`, `{"status":"context_reset_logged"}`, 200},
		{`{"session_id":"nobody","used_percentage":99}`, `{"status":"unknown_session"}`, 200},
		{`{"session_id":"nobody","event":"compaction"}`, `{"status":"unknown_session"}`, 200},
		{`{"session_id":"","used_percentage":99}`, `{"status":"unknown_session"}`, 200},
		{`{"used_percentage":99}`, `{"status":"unknown_session"}`, 200},
		{`{}`, `{"status":"unknown_session"}`, 200},
		{`{"session_id":"em","event":"compacted"}`, `{"error":"unknown event: \"compacted\"; post compaction, compaction_complete or context_reset"}`, 400},
		{`not JSON`, `{"error":"context usage: not a JSON object; send a JSON object"}`, 400},
		{`{"session_id":"em"`, `{"error":"context usage: the JSON object is not complete; send a JSON object"}`, 400},
	} {
		for way, ask := range map[string]func(string, string, string) answer{"socket": r.ask, "TCP": r.askTCP} {
			a := ask(http.MethodPost, "/hooks/context-usage", c.body)
			if got := strings.TrimSuffix(a.Body, "\n"); got != c.want || a.Code != c.code {
				t.Errorf("%s, over %s: %d %s, want %d %s", c.body, way, a.Code, got, c.code, c.want)
			}
		}
	}
	if a := r.ask(http.MethodGet, "/hooks/context-usage", ""); a.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", a.Code)
	}
	r.stop()
}

func TestNotices_Edge_NullSaysNothingAndForgetsNothing(t *testing.T) {
	r := newSeed(t)
	null := `{"session_id":"em","used_percentage":null,"total_input_tokens":150000,"context_window_size":200000}`
	r.usage(null)
	if s := r.session("em"); s.TokensUsed != nil {
		t.Errorf("known by null: %+v", s)
	}
	r.uses("em", 52)
	r.usage(null)
	if s := r.session("em"); s.TokensUsed == nil || *s.TokensUsed != 104_000 {
		t.Errorf("forgotten by null: %+v", s)
	}
	r.checkMail("", "em/1/warning waiting")
	r.stop()
}

func TestNotices_Edge_ASessionThatIsNotTrackedLeavesNoTrace(t *testing.T) {
	r := newSeed(t)
	before := r.ask(http.MethodGet, "/sessions", "").Body
	r.uses("nobody", 99)
	r.happens("nobody", "compaction")
	r.uses("../../etc/passwd", 99)
	r.checkMail("")
	if diff := cmp.Diff(before, r.ask(http.MethodGet, "/sessions", "").Body); diff != "" {
		t.Errorf("sessions (-before +after):\n%s", diff)
	}
	r.stop()
}

func TestNotices_Edge_RapidUpdatesSayNothingTwice(t *testing.T) {
	r := newSeed(t)
	var scripts sync.WaitGroup
	for i := range 8 {
		scripts.Go(func() {
			for percent := 40 + i; percent < 80; percent += 4 {
				a, err := r.try(http.MethodPost, "/hooks/context-usage", fmt.Sprintf(`{"session_id":"em","used_percentage":%d,"context_window_size":200000}`, percent))
				if want := fmt.Sprintf(`{"status":"ok","used_percentage":%d}`, percent); err != nil || strings.TrimSpace(a.Body) != want {
					t.Errorf("%s, %v; want %s", a.Body, err, want)
				}
			}
		})
	}
	scripts.Wait()
	got := r.mail()
	if n := len(got); got[n-1] != "em/1/critical waiting" || n > 2 || n == 2 && got[0] != "em/1/warning withdrawn" {
		t.Errorf("messages: %q", got)
	}
	r.stop()
}

// Nothing has been handed off: a script that asks for the path gets null.
func TestNotices_NoHandoffIsNull(t *testing.T) {
	r := newSeed(t)
	if a := r.askTCP(http.MethodGet, "/sessions/em", ""); a.Code != 200 || !strings.Contains(a.Body, `"last_handoff_path":null`) {
		t.Errorf("%d %s", a.Code, a.Body)
	}
	r.stop()
}

// TestPostSession: an agent becomes known by name, and what is no name is refused.
func TestPostSession(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t).start()
	for _, c := range []struct {
		body, want string
		code       int
	}{
		{`{"id":"em","parent_session_id":"boss","name":"web","provider":"claude","claude_session_id":"` + uuid(1) + `","pane":"%3"}`, "em boss web claude " + uuid(1) + " %3", 201},
		{`{"id":"em"}`, "em boss web claude " + uuid(1) + " %3", 201}, // again, with less
		{`{"id":"b","transcript_path":"/home/dev/.claude/projects/-x/` + uuid(2) + `.jsonl"}`, "b   claude " + uuid(2) + " ", 201},
		{`{"id":"c","provider":"codex-app"}`, "c   codex-app  ", 201},
		{`{"id":"` + strings.Repeat("x", 128) + `"}`, strings.Repeat("x", 128) + "   claude  ", 201},
		{`{"id":"d/../e"}`, "d/../e   claude  ", 201},
		{`{}`, "id", 422}, {`{"id":""}`, "id", 422}, {`{"id":"a b"}`, "id", 422}, {`{"id":"a\u0000b"}`, "id", 422},
		{`{"id":"` + strings.Repeat("x", 129) + `"}`, "id", 422},
		{`{"id":"x","parent_session_id":"a b"}`, "parent_session_id", 422},
		{`{"id":"x","claude_session_id":"abc123"}`, "claude_session_id", 422},
		{`{"id":"x","transcript_path":"/tmp/notes.jsonl"}`, "claude_session_id", 422},
		{`{"id":"x","pane":"3"}`, "pane", 422}, {`{"id":"x","pane":"%;kill-server"}`, "pane", 422},
		{`{"id":7}`, "not a registration", 400}, {`nonsense`, "not a registration", 400},
	} {
		a := r.askTCP(http.MethodPost, "/sessions", c.body)
		if a.Code != c.code {
			t.Errorf("%.80s: %d %s", c.body, a.Code, a.Body)
			continue
		}
		if c.code != 201 {
			if !strings.Contains(a.Body, c.want) || !strings.Contains(a.Body, `"error"`) {
				t.Errorf("%.80s: %s does not say %q", c.body, a.Body, c.want)
			}
			continue
		}
		id, _, _ := strings.Cut(c.want, " ")
		s := r.session(strings.ReplaceAll(id, "/", "%2F"))
		if got := strings.Join([]string{s.ID, s.ParentID, s.Name, s.Provider, s.SessionID, s.Pane}, " "); got != c.want {
			t.Errorf("%.80s: %q, want %q", c.body, got, c.want)
		}
	}
	if a := r.askTCP(http.MethodPost, "/sessions", ""); a.Code != http.StatusUnsupportedMediaType {
		t.Errorf("without a content type: %d", a.Code)
	}
	var ids []string
	for _, s := range r.sessions() {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	if diff := cmp.Diff([]string{"b", "c", "d/../e", "em", strings.Repeat("x", 128)}, ids); diff != "" {
		t.Errorf("agents (-want +got):\n%s", diff)
	}
	r.stop()
	r.start()
	if s := r.session("web"); s.ID != "em" || s.SessionID != uuid(1) {
		t.Errorf("after a restart: %+v", s)
	}
	r.stop()
}

// TestNotices_TheLastHandoffAfterACompaction: the seed's script asks for
// last_handoff_path and reads the file; the hook's answer gives the document itself, as it
// was handed over, with its age. Both do so after each compaction.
func TestNotices_TheLastHandoffAfterACompaction(t *testing.T) {
	r, c, a := newHandoffRig(t)
	doc := c.doc("doc.md", "Next: CI.\n")
	if text := a.hook("SessionStart", `,"source":"compact"`); text != "" {
		t.Errorf("with no prior handoff it hears %q", text)
	}
	id := a.hands(doc)
	a.ends()
	h := r.handoffIs(id, "confirmed")
	noErrors(t, os.WriteFile(doc, []byte("Written over since."), 0o600))
	for range 2 {
		a.hook("PreCompact", `,"trigger":"auto"`)
		a.record(`"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":160000,"durationMs":81}`)
		text := a.hook("SessionStart", `,"source":"compact"`)
		for _, want := range []string{"=== HANDOFF LOADED (ID: " + h.Document + ") ===", "Origin: " + doc, "Age: ", "\nNext: CI.\n=== END HANDOFF ==="} {
			if !strings.Contains(text, want) {
				t.Errorf("told %q, which lacks %q", text, want)
			}
		}
		if answer := r.askTCP(http.MethodGet, "/sessions/w1", ""); answer.Code != 200 || !strings.Contains(answer.Body, fmt.Sprintf(`"last_handoff_path":%q`, doc)) {
			t.Errorf("%d %s", answer.Code, answer.Body)
		}
	}
	r.kill()
	r.start()
	a.dir = "/home/dev/web/deep/below" // a cd in a tool call
	a.works("Go on.")
	for _, when := range []string{"after a restart of the observer", "once that is known"} {
		if text := a.hook("SessionStart", `,"source":"compact"`); !strings.Contains(text, h.Document) {
			t.Errorf("%s it hears %q", when, text)
		}
		r.until("the transcript is read", func() bool { return r.session("w1").CWD == a.dir })
	}
	r.ends()
}

// TestNotices_BothAgainAfterAHandoff: the flags are re-armed by the rotation.
func TestNotices_BothAgainAfterAHandoff(t *testing.T) {
	r, c, a := newHandoffRig(t)
	a.context = 131_000
	a.works("Grow.")
	r.untilMail("critical", "w1/1/critical waiting")
	a.context = 20_000
	id := a.hands(c.doc("doc.md", "Next: CI."))
	a.ends()
	r.handoffIs(id, "confirmed")
	a.context = 104_000
	a.works("Grow.")
	r.untilMail("warned again", "w1/1/critical withdrawn", "w1/2/warning waiting")
	a.context = 132_000
	a.works("Grow.")
	r.untilMail("critical again", "w1/1/critical withdrawn", "w1/2/warning withdrawn", "w1/2/critical waiting")
	r.ends()
}
