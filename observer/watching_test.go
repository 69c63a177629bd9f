package observer

import (
	"net/http"
	"strings"
	"testing"
)

// TestWatchingWithoutHooks: until the first hook no message is queued. With it the
// notice about the present context is given.
func TestWatchingWithoutHooks(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.start()
	r.write(uuid(1), prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 140_000, 10))
	r.until("the context is read", func() bool {
		return strings.Contains(
			r.ask(http.MethodGet, "/sessions", "").Body,
			`"level":"critical"`,
		)
	})

	wantMail(r)
	shown := func() bool {
		return strings.Contains(r.ask(http.MethodGet, "/?session="+uuid(1), "").Body, "notice: critical")
	}
	if shown() {
		t.Error("the page shows a notice")
	}
	answer := r.ask(
		http.MethodPost,
		"/sessions/"+uuid(1)+"/messages",
		`{"text":"Hi.","delivery_mode":"sequential"}`,
	)
	if answer.Code != http.StatusConflict ||
		!strings.Contains(answer.Body, "run sm install") {
		t.Errorf("a message is answered with %d %s", answer.Code, answer.Body)
	}
	if sessions := r.ask(
		http.MethodGet,
		"/sessions",
		"",
	).Body; !strings.Contains(
		sessions,
		`"agents_not_warned":true`,
	) {
		t.Errorf("GET /sessions has no agents_not_warned: %s", sessions)
	}

	r.fire("other", uuid(2), "SessionStart", `,"source":"startup"`)
	r.until("the notice is queued", func() bool { return len(r.mail()) > 0 })
	wantMail(r, uuid(1)+"/1/critical waiting")
	if !shown() {
		t.Error("the page does not show the notice")
	}
	if sessions := r.ask(
		http.MethodGet,
		"/sessions",
		"",
	).Body; strings.Contains(
		sessions,
		"agents_not_warned",
	) {
		t.Errorf("after a hook: %s", sessions)
	}
}
