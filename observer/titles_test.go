package observer

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sm/observer/api"
)

// TestTitlesAreShownAndKept: a title is shown to people, over a restart too, and never in metrics or above debug.
func TestTitlesAreShownAndKept(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	title := func(kind, name, text string) string {
		return fmt.Sprintf(`{"type":%q,%q:%q,"sessionId":%q}`, kind, name, text, uuid(1))
	}
	r.write(uuid(1), prompt(ago(2*time.Minute), "p1", "Title of words"), reply(ago(time.Minute), "m1", 50_000, 300), title("ai-title", "aiTitle", "Title\nmade up"))
	r.write(uuid(2), prompt(ago(3*time.Minute), "p2", "Title of words"), reply(ago(2*time.Minute), "m2", 50_000, 300))
	r.start()
	shown := func(want ...string) func() bool {
		return func() bool {
			all, err := api.NewClient([]string{r.o.Socket}).Sessions(t.Context())
			noErrors(t, err)
			var got []string
			for _, s := range all.Sessions {
				got = append(got, s.Title)
			}
			return strings.Join(got, "|") == strings.Join(want, "|")
		}
	}
	r.until("titles of the transcripts", shown("Title made up", "Title of words"))
	r.ask("POST", "/hooks/claude", fmt.Sprintf(`{"hook_event_name":"StatusLine","session_id":%q,"session_name":"Title of the status line"}`, uuid(1)))
	r.until("the name of the status line", shown("Title of the status line", "Title of words"))
	r.write(uuid(1), title("custom-title", "customTitle", "Title of my own"))
	r.until("the user's title", shown("Title of my own", "Title of words"))
	if body := r.get("/").Body; !strings.Contains(body, "Title of my own") {
		t.Error("the page lacks it")
	}
	silent := func() {
		t.Helper()
		if strings.Contains(r.get("/metrics").Body, "Title") {
			t.Error("a title is in the metrics")
		}
	}
	silent()
	r.stop()
	r.start()
	r.until("titles after a restart", shown("Title of my own", "Title of words"))
	silent()
	if strings.Contains(r.log.String(), "Title") {
		t.Errorf("a title is in the log:\n%s", r.log)
	}
}
