package observer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// notification returns what Alertmanager posts: one alert for each pair of a session and a
// kind.
func notification(status string, since time.Time, pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(
			`{"status":%q,"labels":{"alertname":"X","session":%q,"kind":%q,"severity":"warning"},"annotations":{},"startsAt":%q,"endsAt":"0001-01-01T00:00:00Z","fingerprint":"%d"}`,
			status, pairs[i], pairs[i+1], since.Format(time.RFC3339Nano), i))
	}
	return fmt.Sprintf(
		`{"version":"4","status":%q,"receiver":"observer","groupLabels":{},"alerts":[%s]}`,
		status,
		strings.Join(list, ","),
	)
}

// TestWebhookOnce tests that notices of the engine are not repeated, that others are sent
// once, and that alerts that are resolved or have no session are accepted.
func TestWebhookOnce(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.write(
		uuid(1),
		prompt(ago(9*time.Minute), "p1", "Go."),
		reply(ago(time.Minute), "m1", 110_000, 10),
	)
	r.start()
	r.fire("em", uuid(1), "UserPromptSubmit", "")
	label := r.session("em").Label
	post := func(status string, since time.Time, queued int, pairs ...string) {
		t.Helper()
		a := r.ask(http.MethodPost, "/alerts/webhook", notification(status, since, pairs...))
		if want := fmt.Sprintf(
			`{"status":"ok","alerts":%d,"told":%d}`,
			len(pairs)/2,
			queued,
		); a.Code != 200 ||
			strings.TrimSpace(a.Body) != want {
			t.Errorf("got %d %s, want %s", a.Code, a.Body, want)
		}
	}
	mail := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, r.mail()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	mail("em/1/warning waiting") // 55 %
	now := time.Now()
	post("firing", now, 0, label, "warning")
	post("resolved", now, 0, label, "critical")
	post("firing", now, 0, "nobody", "critical", label, "unknown kind", "", "critical")
	mail("em/1/warning waiting")
	post(
		"firing",
		now.Add(-time.Hour),
		1,
		label,
		"critical",
	) // it fires for as long as the context lasts
	post("firing", now, 0, label, "critical")
	mail("em/1/warning withdrawn", "em/1/critical waiting")

	// A compaction begins another cycle: alerts that fire since before it are of the old one.
	r.happens("em", "compaction")
	r.happens("em", "compaction_complete")
	r.write(
		uuid(1),
		boundary(stamp(time.Now()), "b1", "auto", 150_000),
		reply(stamp(time.Now().Add(10*time.Millisecond)), "m2", 40_000, 10),
	)
	r.until(
		"the next cycle is known",
		func() bool { s := r.session("em"); return s.Cycle == 2 && s.TokensUsed != nil },
	)
	post("firing", now, 0, label, "critical")
	mail("em/1/warning withdrawn", "em/1/critical withdrawn")
}
