package observer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript/claude/hook"
)

// ask sends a request over the socket, which serves all routes.
func (r *rig) ask(method, path, body string) answer {
	r.t.Helper()
	a, err := r.try(method, path, body)
	noErrors(r.t, err)
	return a
}

// try is ask for goroutines other than the test's own.
func (r *rig) try(method, path, body string) (answer, error) {
	return request(r.t.Context(), r.o.Socket, method, "http://localhost"+path, body)
}

// askTCP sends a request over TCP.
func (r *rig) askTCP(method, path, body string) answer {
	r.t.Helper()
	a, err := request(r.t.Context(), "", method, "http://"+r.tcp().String()+path, body)
	noErrors(r.t, err)
	return a
}

// usage posts a script's report or event, which the observer must accept.
func (r *rig) usage(body string) {
	r.t.Helper()
	a := r.ask(http.MethodPost, "/hooks/context-usage", body)
	if a.Code != http.StatusOK {
		r.t.Fatalf("%s: %d %s", body, a.Code, a.Body)
	}
}

// uses posts a report of an agent, in percent of 200,000 tokens.
func (r *rig) uses(agent string, percent int) {
	r.t.Helper()
	r.usage(fmt.Sprintf(
		`{"session_id":%q,"used_percentage":%d,"total_input_tokens":%d,"total_output_tokens":4521,"context_window_size":200000}`,
		agent,
		percent,
		2000*percent,
	))
}

// happens posts an event of an agent.
func (r *rig) happens(agent, event string) {
	r.t.Helper()
	r.usage(fmt.Sprintf(`{"session_id":%q,"event":%q,"trigger":"auto"}`, agent, event))
}

// joins registers an agent by name.
func (r *rig) joins(id, fields string) {
	r.t.Helper()
	if a := r.ask(
		http.MethodPost,
		"/sessions",
		fmt.Sprintf(`{"id":%q%s}`, id, fields),
	); a.Code != http.StatusCreated {
		r.t.Fatalf("%s: %d %s", id, a.Code, a.Body)
	}
}

// payload returns a hook's payload, with additional fields.
func payload(agent, session, event, fields string) string {
	return fmt.Sprintf(
		`{"session_id":%q,"hook_event_name":%q,"sm":{"agent":%q}%s}`,
		session,
		event,
		agent,
		fields,
	)
}

// fire posts a hook and returns the text in its answer, "" for none.
func (r *rig) fire(agent, session, event, fields string) string {
	r.t.Helper()
	a := r.ask(http.MethodPost, "/hooks/claude", payload(agent, session, event, fields))
	if a.Code == http.StatusNoContent && a.Body == "" {
		return ""
	}
	x, ok := hook.DecodeAnswer([]byte(a.Body))
	if !ok || a.Code != http.StatusOK || string(x.Event) != event {
		r.t.Fatalf("%s: %d %s", event, a.Code, a.Body)
	}
	return x.Context
}

// hookAt posts a hook of the agent em in session uuid(1) with this time.
func (r *rig) hookAt(at time.Time, event, fields string) {
	r.t.Helper()
	r.ask(http.MethodPost, "/hooks/claude", fmt.Sprintf(
		`{"session_id":%q,"hook_event_name":%q,"sm":{"agent":"em","at":%q}%s}`,
		uuid(1),
		event,
		at.UTC().Format(time.RFC3339Nano),
		fields,
	))
}

// sends puts a message into an agent's queue and returns its id.
func (r *rig) sends(to, mode, text string) string {
	r.t.Helper()
	a := r.ask(
		http.MethodPost,
		"/sessions/"+to+"/messages",
		fmt.Sprintf(`{"text":%q,"delivery_mode":%q}`, text, mode),
	)
	var m api.Message
	noErrors(r.t, json.Unmarshal([]byte(a.Body), &m))
	if a.Code != http.StatusAccepted {
		r.t.Fatalf("got %d %s", a.Code, a.Body)
	}
	return m.ID
}

// messages returns those of GET /messages.
func (r *rig) messages() []api.Message {
	r.t.Helper()
	var all api.Messages
	noErrors(r.t, json.Unmarshal([]byte(r.ask(http.MethodGet, "/messages", "").Body), &all))
	return all.Messages
}

// mail returns the content of the queue: the key of a notice or the text of a message, and
// the state.
func (r *rig) mail() (list []string) {
	r.t.Helper()
	for _, m := range r.messages() {
		what := m.Key
		if what == "" {
			what = m.Text
		}
		line := what + " " + m.Status
		if m.Offers > 1 {
			line += fmt.Sprintf(" x%d", m.Offers)
		}
		if !strings.HasPrefix(m.Key, m.To+"/") && m.Key != "" {
			line += " to " + m.To
		}
		list = append(list, line)
	}
	return list
}

// session returns the answer of GET /sessions/{id}.
func (r *rig) session(id string) (s api.Session) {
	r.t.Helper()
	a := r.ask(http.MethodGet, "/sessions/"+id, "")
	if a.Code != http.StatusOK {
		r.t.Fatalf("%s: %d %s", id, a.Code, a.Body)
	}
	noErrors(r.t, json.Unmarshal([]byte(a.Body), &s))
	return s
}

// idOf returns the message's id at the end of a text.
func idOf(line string) string {
	_, id, _ := strings.Cut(line[strings.LastIndexByte(line, ' ')+1:], "#")
	return id
}

// attachment returns the record by which a transcript shows that a hook's answer was
// received.
func attachment(at, text string) string {
	content, _ := json.Marshal([]string{text}) // a list of texts
	return fmt.Sprintf(`{"type":"attachment","uuid":"a-%s","timestamp":%q,"version":"2.1.197","attachment":{"type":"hook_additional_context","content":%s,"hookName":"x"}}`,
		idOf(text), at, content)
}

// kill stops the observer and leaves the state on the disk as a kill at this moment would,
// for the next start.
func (r *rig) kill() {
	r.t.Helper()
	dir := filepath.Join(r.dir, fmt.Sprintf("state%d", time.Now().UnixNano()))
	// The copy is made in the loop, after a running transaction: no state is written
	// meanwhile. Level files are written, and may be removed during the copy.
	var odd error
	err := r.app.do(r.t.Context(), func(*core) {
		odd = r.app.store.Save(fleet.Delta{})
		for range 100 {
			if odd == nil {
				odd = os.CopyFS(dir, os.DirFS(r.o.State))
			}
			if !errors.Is(odd, fs.ErrNotExist) {
				return
			}
			odd = os.RemoveAll(dir)
		}
	})
	noErrors(r.t, err, odd, os.Chmod(dir, 0o700))
	r.stop()
	r.o.State = dir
}

// restarts returns the ways in which an observer may end.
func restarts() map[string]func(*rig) {
	return map[string]func(*rig){"stopped": (*rig).stop, "killed": (*rig).kill}
}

// sessions returns all sessions of GET /sessions.
func (r *rig) sessions() []api.Session {
	r.t.Helper()
	var all api.Sessions
	noErrors(r.t, json.Unmarshal([]byte(r.ask(http.MethodGet, "/sessions", "").Body), &all))
	return all.Sessions
}

// newWatched is newRig with an existing folder of transcripts, so that new ones are found at
// once.
func newWatched(t testing.TB) *rig {
	t.Helper()
	r := newRig(t)
	noErrors(t, os.MkdirAll(filepath.Dir(r.transcript(uuid(0))), 0o700))
	return r
}
