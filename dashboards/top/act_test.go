package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"sm/handoff"
	"sm/observer/api"
)

func handoffsOfTest() []api.Handoff {
	failed := api.Handoff{Agent: "agent-asks", State: "failed", Reason: "no_pane"}
	failed.Path = "/home/dev/web/handoff-1.md"
	failed.ChangedAt = topNow.Add(-time.Hour)
	scheduled := api.Handoff{Agent: "agent-asks", State: "scheduled", Waiting: "draft"}
	scheduled.Path = "/home/dev/web/" + strings.Repeat("long-", 20) + "2.md"
	scheduled.ChangedAt = topNow.Add(-time.Minute)
	return []api.Handoff{failed, {
		Agent:     "agent-web",
		State:     "confirmed",
		ChangedAt: topNow,
	}, scheduled}
}

func documentsOfTest() (all []handoff.Document) {
	err := json.Unmarshal([]byte(`[
		{"id": "d1", "agent": "agent-web", "claimed_by": "agent-asks", "created_at": "2026-04-29T12:00:00Z",
			"type": "manual", "status": "consumed", "file": "/state/d1.md"},
		{"id": "d2", "agent": "agent-web", "created_at": "2026-05-01T12:00:00Z", "type": "manual", "status": "active"}
	]`), &all)
	if err != nil {
		panic(err)
	}
	return all
}

// TestActKeys checks the actions of keys, and the lowest line unless it is the footer: no
// message is sent without confirmation.
func TestActKeys(t *testing.T) {
	t.Parallel()
	verbs := map[verb]string{
		sendText:     "send",
		copyID:       "copy",
		openPage:     "page",
		attachPane:   "pane",
		readHandoffs: "handoffs",
	}
	for line := range strings.Lines(`s h i enter y → send agent-asks hi # a message, confirmed
s h i enter → send this to asks?  y sends, esc leaves # a message, not confirmed yet
s h i enter enter q n → send this to asks?  y sends, esc leaves # Enter twice sends nothing
s h i esc y → copy agent-asks # left while it is typed
s h i enter esc →  # left when asked
s space enter y → to asks: y▏  enter goes on, esc leaves # nothing typed is nothing to send
s h x backspace o enter y → send agent-asks ho # corrected
s h x ctrl+u n o enter y → send agent-asks no # begun anew
j s h i enter y → send agent-api hi # to the agent that was selected
enter s h i enter y → send agent-asks hi # from the detail
h h enter y → handoffs agent-asks; send agent-asks handoffRequest # a handoff is asked for by a message
y → copy agent-asks # the id
o → page agent-asks # the page
j a → pane agent-api # the pane
a → no tmux pane of asks is known; see 'sm register --help' # no pane
a k →  # a note goes with the next key
/ x x enter s → no agent is selected; choose one with j and k # no selection
z → no such key; ? shows help # an unknown key
enter / → no such key; ? shows help # a key of the list in the detail
? y →  # while the help is shown nothing is asked
/ a y →  # while a filter is typed neither
`) {
		line, name, _ := strings.Cut(line, " # ")
		keys, want, _ := strings.Cut(line, "→ ")
		x := topScene(80, 24, false)
		fleet := topFleet()
		fleet.Sessions[1].Pane = "%3" // api's
		x.poll(fleet, nil, topNow)
		var got []string
		for _, k := range strings.Fields(keys) {
			if k == "space" {
				k = " "
			}
			if x.keys(k) {
				t.Errorf("%s it ends", name)
			}
			if a := x.take(); a.does != nothing {
				got = append(
					got,
					strings.TrimSpace(fmt.Sprint(
						verbs[a.does],
						" ",
						a.about.ID,
						" ",
						a.text,
					)),
				)
			}
		}
		if bottom := x.bottom(); len(bottom) > 0 {
			got = append(got, ansi.Strip(bottom[len(bottom)-1]))
		}
		want = strings.Replace(want, "handoffRequest", handoffRequest, 1)
		if diff := cmp.Diff(want, strings.Join(got, "; ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		checkScreen(t, x, x.screen())
	}
}

// TestDraftWhileWatching checks that a message that no agent can get is refused before it is written.
func TestDraftWhileWatching(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{{"s"}, {"h", "h"}} {
		x := topScene(160, 24, false)
		x.All.NotWarned = true
		x.keys(keys...)
		for _, offer := range []string{"s send", "h asks"} {
			if strings.Contains(x.screen(), offer) {
				t.Errorf("%q: %q is offered", keys, offer)
			}
		}
		want := note{api.NoneReachable, true}
		if x.note != want || x.draft.stage != noMessage {
			t.Errorf("%q: %+v, %+v", keys, x.note, x.draft)
		}
	}
}

// TestDraftStaysWithItsAgent checks that a message goes to the agent for which it was
// started, wherever the selection has moved.
func TestDraftStaysWithItsAgent(t *testing.T) {
	t.Parallel()
	x := topScene(80, 24, false)
	x.keys("s", "h", "i", "enter")
	x.poll(api.Sessions{Sessions: []api.Session{topSession("other", 10, "{}")}}, nil, topNow)
	x.keys("y")
	if a := x.take(); a.about.ID != "agent-asks" || a.text != "hi" {
		t.Errorf("%q to %s", a.text, a.about.ID)
	}
}

// TestDraftText checks that typed and pasted text becomes one printable line of limited
// length.
func TestDraftText(t *testing.T) {
	t.Parallel()
	x := topScene(40, 10, false)
	x.keys("s")
	x.paste("a\r\nb\t\x1b[31m\u202ec ")
	x.paste(strings.Repeat("長", 3*maxText))
	if got := []rune(x.draft.text); len(got) != maxText ||
		!strings.HasPrefix(x.draft.text, "a  b [31mc 長") {
		t.Errorf("%d characters: %.40q", len(got), x.draft.text)
	}
	checkScreen(t, x, x.screen())
	x.keys("enter")
	checkScreen(t, x, x.screen())
}

// standIn is a simulated observer that records requests.
type standIn struct {
	*http.ServeMux
	asked []string
	sent  api.NewMessage
}

// newActor returns an actor with a simulated observer.
func newActor(t *testing.T) (actor, *standIn) {
	t.Helper()
	in := &standIn{ServeMux: http.NewServeMux()}
	answer := func(pattern string, code int, body string) {
		in.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			in.asked = append(in.asked, r.Method+" "+r.URL.Path)
			if b, err := io.ReadAll(r.Body); err == nil &&
				strings.HasSuffix(r.URL.Path, "/messages") {
				if err := json.Unmarshal(b, &in.sent); err != nil {
					t.Error(err)
				}
			}
			w.WriteHeader(code)
			if _, err := io.WriteString(w, body); err != nil {
				t.Error(err)
			}
		})
	}
	answer("POST /sessions/agent-web/messages", 202, `{"id":"a1"}`)
	answer(
		"POST /sessions/agent-unhooked/messages",
		202,
		`{"id":"a1","waits_for":"`+api.WaitsForHooks+`"}`,
	)
	answer(
		"POST /sessions/agent-full/messages",
		429,
		`{"error":"50 messages wait for it already; wait, or cancel some"}`,
	)
	answer("POST /sessions/agent-gone/messages", 404, `{"error":"no such session"}`)
	answer("POST /open", 201, `{"url":"http://127.0.0.1:8420/open?token=T","seconds":60}`)
	answer(
		"GET /handoffs",
		200,
		`{"handoffs":[{"id":"h1","session":"agent-web","state":"confirmed"},{"id":"h2","session":"agent-api"}]}`,
	)
	answer(
		"GET /documents",
		200,
		`{"documents":[{"id":"d1","agent":"agent-web","created_at":"2026-05-01T12:00:00Z"},{"id":"d2","agent":"agent-api"}]}`,
	)
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: in}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(
			server.Close(),
			<-served,
		); !errors.Is(
			err,
			http.ErrServerClosed,
		) {
			t.Error(err)
		}
	})
	return actor{ctx: t.Context(), client: api.NewClient([]string{path})}, in
}

// TestActs checks the requests to the observer and the notes about its answers.
func TestActs(t *testing.T) {
	t.Parallel()
	browsed := ""
	browse := func(_ context.Context, address string) error { browsed = address; return nil }
	handoffs := []api.Handoff{{ID: "h1", Agent: "agent-web", State: "confirmed"}}
	documents := []handoff.Document{{ID: "d1", Agent: "agent-web", CreatedAt: topNow}}
	for _, c := range []struct {
		does   verb
		agent  string
		browse func(context.Context, string) error
		want   tea.Msg
		asked  string
	}{
		{sendText, "web", nil, note{
			text: "queued for web; it arrives at the end of its turn",
		}, ""},
		{sendText, "unhooked", nil, note{
			text: "queued for unhooked; no hook of its session has come yet, see 'sm doctor'",
		}, ""},
		{
			sendText,
			"full",
			nil,
			note{"50 messages wait for it already; wait, or cancel some", true},
			"",
		},
		{
			sendText,
			"gone",
			nil,
			note{"the observer no longer has this agent; choose another", true},
			"",
		},
		{openPage, "web", browse, note{
			text: "the browser opens the page at web",
		}, "POST /open"},
		{openPage, "web", func(context.Context, string) error { return errors.New("none") }, note{
			"no browser can be started here; 'sm open web' prints the address", true,
		}, "POST /open"},
		{
			readHandoffs,
			"web",
			nil,
			handedOver{"agent-web", &handed{handoffs, documents}},
			"GET /handoffs GET /documents",
		},
	} {
		t.Run(fmt.Sprint(c.does, c.agent), func(t *testing.T) {
			d, in := newActor(t)
			d.o.Browse = c.browse
			d.o.From = "tmux-1"
			got := d.do(action{
				does:  c.does,
				about: topSession(c.agent, 0, "{}"),
				text:  "hi",
			})()
			if diff := cmp.Diff(
				c.want,
				got,
				cmp.AllowUnexported(note{}, handedOver{}, handed{}),
			); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.does == sendText {
				c.asked = "POST /sessions/agent-" + c.agent + "/messages"
			}
			if got := strings.Join(in.asked, " "); got != c.asked {
				t.Errorf("asked %s, want %s", got, c.asked)
			}
			if c.does == sendText &&
				(in.sent.Text != "hi" || in.sent.From != "tmux-1" ||
					in.sent.Mode != "sequential" ||
					in.sent.ID == "") {
				t.Errorf("sent %+v", in.sent)
			}
		})
	}
	if want := "http://127.0.0.1:8420/open?token=T&session=agent-web"; browsed != want {
		t.Errorf("the browser was shown %s, want %s", browsed, want)
	}
	d, _ := newActor(t)
	d.client = api.NewClient([]string{filepath.Join(t.TempDir(), "none")})
	if got, want := d.do(action{
		does: readHandoffs,
	})(), (note{api.ErrNoObserver.Error(), true}); got != want {
		t.Errorf("without an observer: %v", got)
	}
}

// TestAttachRefused checks the notes about a pane that cannot be shown.
func TestAttachRefused(t *testing.T) {
	t.Parallel()
	d := actor{ctx: t.Context()}
	s := topSession("web", 0, `{"pane": "%3", "tmux_socket": "/tmp/s"}`)
	var got [2]string
	d.o.Attach = func(socket, pane string) (*exec.Cmd, error) {
		got = [2]string{socket, pane}
		return nil, errors.New("there is no tmux here; install it")
	}
	if n := d.do(action{
		does:  attachPane,
		about: s,
	})(); n != (note{"there is no tmux here; install it", true}) ||
		got != [2]string{"/tmp/s", "%3"} {
		t.Errorf("%v, asked for %v", n, got)
	}
}
