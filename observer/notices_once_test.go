package observer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newSeed returns an observer with an agent "em" whose parent is "boss".
func newSeed(t *testing.T) *rig {
	r := newWatched(t).start()
	r.joins("boss", `,"pane":"%1"`)
	r.joins("em", `,"parent_session_id":"boss","name":"web","pane":"%2"`)
	return r
}

func (r *rig) checkMail(what string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.mail()); diff != "" {
		r.t.Errorf("messages %s (-want +got):\n%s", what, diff)
	}
}

// TestNotices_Answers tests the route's bodies and answers, which are a contract with
// scripts.
func TestNotices_Answers(t *testing.T) {
	t.Parallel()
	r := newSeed(t)
	for _, c := range []struct {
		body, want string
		code       int
	}{
		{
			`{"session_id":"em","used_percentage":8,"total_input_tokens":15234,"total_output_tokens":4521,"context_window_size":200000}`,
			`{"status":"ok","used_percentage":8}`,
			200,
		},
		{
			`{"session_id":"web","used_percentage":8.5}`,
			`{"status":"ok","used_percentage":8.5}`,
			200,
		},
		{
			`{"session_id":"em","used_percentage":null,"total_input_tokens":0}`,
			`{"status":"ok","used_percentage":null}`,
			200,
		},
		{
			`{"session_id":"em","used_percentage":"much"}`,
			`{"status":"ok","used_percentage":null}`,
			200,
		},
		{
			`{"session_id":"em","event":"compaction","trigger":"auto"}`,
			`{"status":"compaction_logged"}`,
			200,
		},
		{
			`{"session_id":"em","event":"compaction_complete"}`,
			`{"status":"compaction_complete_logged"}`,
			200,
		},
		{
			`{"session_id":"em","event":"context_reset"}`,
			`{"status":"context_reset_logged"}`,
			200,
		},
		{`{"session_id":"nobody","used_percentage":99}`, `{"status":"unknown_session"}`, 200},
		{`{"session_id":"nobody","event":"compaction"}`, `{"status":"unknown_session"}`, 200},
		{`{}`, `{"status":"unknown_session"}`, 200},
		{
			`{"session_id":"em","event":"compacted"}`,
			`{"error":"unknown event: \"compacted\"; post compaction, compaction_complete or context_reset"}`,
			400,
		},
		{`not JSON`, `{"error":"not a JSON object; send a JSON object"}`, 400},
	} {
		for way, ask := range map[string]func(string, string, string) answer{
			"socket": r.ask,
			"TCP":    r.askTCP,
		} {
			a := ask(http.MethodPost, "/hooks/context-usage", c.body)
			if got := strings.TrimSuffix(a.Body, "\n"); got != c.want || a.Code != c.code {
				t.Errorf(
					"%s, over %s: %d %s, want %d %s",
					c.body,
					way,
					a.Code,
					got,
					c.code,
					c.want,
				)
			}
		}
	}
	if a := r.ask(
		http.MethodGet,
		"/hooks/context-usage",
		"",
	); a.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", a.Code)
	}
}

// TestPostSession tests that an agent can be registered by name, and that invalid names are
// refused.
func TestPostSession(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	for _, c := range []struct {
		body, want string
		code       int
	}{
		{
			`{"id":"em","parent_session_id":"boss","name":"web","provider":"claude","claude_session_id":"` + uuid(1) + `","pane":"%3"}`,
			"em boss web claude " + uuid(1) + " %3",
			201,
		},
		{`{"id":"em"}`, "em boss web claude " + uuid(1) + " %3", 201}, // again, with fewer fields
		{
			`{"id":"b","transcript_path":"/home/dev/.claude/projects/-x/` + uuid(2) + `.jsonl"}`,
			"b   claude " + uuid(2) + " ",
			201,
		},
		{`{"id":"c","provider":"codex-app"}`, "c   codex-app  ", 201},
		{
			`{"id":"` + strings.Repeat("x", 128) + `"}`,
			strings.Repeat("x", 128) + "   claude  ",
			201,
		},
		{
			`{}`,
			"id",
			422,
		},
		{
			`{"id":"a\u0000b"}`,
			"id",
			422,
		},
		{`{"id":"` + strings.Repeat("x", 129) + `"}`, "id", 422},
		{`{"id":"x","parent_session_id":"a b"}`, "parent_session_id", 422},
		{`{"id":"x","claude_session_id":"abc123"}`, "claude_session_id", 422},
		{
			`{"id":"x","pane":"%;kill-server"}`,
			"pane",
			422,
		},
		{`nonsense`, "not a registration", 400},
	} {
		a := r.askTCP(http.MethodPost, "/sessions", c.body)
		if a.Code != c.code {
			t.Errorf("%.80s: %d %s", c.body, a.Code, a.Body)
			continue
		}
		if c.code != 201 {
			if !strings.Contains(a.Body, c.want) || !strings.Contains(a.Body, `"error"`) {
				t.Errorf("%.80s: %s does not contain %q", c.body, a.Body, c.want)
			}
			continue
		}
		id, _, _ := strings.Cut(c.want, " ")
		s := r.session(id)
		if got := strings.Join(
			[]string{s.ID, s.ParentID, s.Name, s.Provider, s.SessionID, s.Pane},
			" ",
		); got != c.want {
			t.Errorf("%.80s: got %q, want %q", c.body, got, c.want)
		}
	}
	if a := r.askTCP(
		http.MethodPost,
		"/sessions",
		"",
	); a.Code != http.StatusUnsupportedMediaType {
		t.Errorf("without a content type: %d", a.Code)
	}
	r.stop()
	r.start()
	if s := r.session("web"); s.ID != "em" || s.SessionID != uuid(1) {
		t.Errorf("after a restart: %+v", s)
	}
}

// TestNotices_End tests that a waiting report about a session is withdrawn when its client
// ends, and stays when the client clears it or resumes another. A warning waits for the client
// that resumes the session.
func TestNotices_End(t *testing.T) {
	t.Parallel()
	r := newSeed(t)
	id := uuid(7)
	r.joins(id, `,"claude_session_id":"`+id+`","parent_session_id":"boss","pane":"%4"`)
	r.happens(id, "compaction")
	r.happens(id, "compaction_complete")
	r.uses(id, 55)
	waiting := []string{id + "/2/compacted waiting to boss", id + "/2/warning waiting"}
	for _, reason := range []string{"clear", "resume"} {
		r.fire("", id, "SessionEnd", `,"reason":"`+reason+`"`)
		r.checkMail("after "+reason, waiting...)
	}
	r.sends(id, "sequential", "Hello")
	r.fire("", id, "SessionEnd", `,"reason":"logout"`)
	r.checkMail("at the end", id+"/2/compacted withdrawn to boss", id+"/2/warning waiting", "Hello waiting")
}
