package observer

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// notification is what Alertmanager posts: one alert for each pair of a session and a kind.
func notification(status string, since time.Time, pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(
			`{"status":%q,"labels":{"alertname":"X","session":%q,"kind":%q,"severity":"warning"},"annotations":{},"startsAt":%q,"endsAt":"0001-01-01T00:00:00Z","fingerprint":"%d"}`,
			status, pairs[i], pairs[i+1], since.Format(time.RFC3339Nano), i))
	}
	return fmt.Sprintf(`{"version":"4","status":%q,"receiver":"observer","groupLabels":{},"alerts":[%s]}`, status, strings.Join(list, ","))
}

// TestWebhookTellsOnce: what the engine has said is not said again, what it has not said
// is, once, and what is over or of nobody is taken all the same.
func TestWebhookTellsOnce(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.write(uuid(1), prompt(ago(9*time.Minute), "p1", "Go."), reply(ago(time.Minute), "m1", 110_000, 10))
	r.start()
	r.fire("em", uuid(1), "UserPromptSubmit", "")
	label := r.session("em").Label
	post := func(status string, since time.Time, told int, pairs ...string) {
		t.Helper()
		a := r.ask(http.MethodPost, "/alerts/webhook", notification(status, since, pairs...))
		if want := fmt.Sprintf(`{"status":"ok","alerts":%d,"told":%d}`, len(pairs)/2, told); a.Code != 200 || strings.TrimSpace(a.Body) != want {
			t.Errorf("%d %s, want %s", a.Code, a.Body, want)
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
	post("firing", now.Add(-time.Hour), 1, label, "critical") // it stands for as long as the context
	post("firing", now, 0, label, "critical")
	mail("em/1/warning withdrawn", "em/1/critical waiting")

	// A compaction begins another cycle: what fires since before it is of the old one.
	r.happens("em", "compaction")
	r.happens("em", "compaction_complete")
	r.write(uuid(1), boundary(stamp(time.Now()), "b1", "auto", 150_000), reply(stamp(time.Now().Add(10*time.Millisecond)), "m2", 40_000, 10))
	r.until("the next cycle is known", func() bool { s := r.session("em"); return s.Cycle == 2 && s.TokensUsed != nil })
	post("firing", now, 0, label, "critical")
	mail("em/1/warning withdrawn", "em/1/critical withdrawn")
	r.stop()
}

// TestWebhookDoor: over TCP it takes the token, and without one it is not there.
func TestWebhookDoor(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.start()
	body := notification("firing", time.Now())
	if a := r.askTCP(http.MethodPost, "/alerts/webhook", body); a.Code != http.StatusNotFound {
		t.Errorf("without a token in the configuration: %d", a.Code)
	}
	r.stop()
	r.o.WebhookToken = "correct-horse-battery"
	r.start()
	for _, c := range []struct {
		name, token, origin, host, kind string
		code                            int
	}{
		{"right", "correct-horse-battery", "", "", "application/json", 200},
		{"wrong", "correct-horse-batter", "", "", "application/json", 401},
		{"missing", "", "", "", "application/json", 401},
		{"from a page", "correct-horse-battery", "http://evil.example", "", "application/json", 403},
		{"another host", "correct-horse-battery", "", "evil.example", "application/json", 421},
		{"not JSON by its type", "correct-horse-battery", "", "", "text/plain", 415},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.tcp().String()+"/alerts/webhook", strings.NewReader(body))
		noErrors(t, err)
		req.Header.Set("Content-Type", c.kind)
		if c.token != "" {
			req.Header.Set("Authorization", "Bearer "+c.token)
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		if c.host != "" {
			req.Host = c.host
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
		resp, err := client.Do(req)
		noErrors(t, err)
		noErrors(t, resp.Body.Close())
		if resp.StatusCode != c.code {
			t.Errorf("%s: %d, want %d", c.name, resp.StatusCode, c.code)
		}
	}
	for _, bad := range []string{"", "[]", `{"alerts":7}`, "null"} {
		if a := r.ask(http.MethodPost, "/alerts/webhook", bad); a.Code/100 == 5 {
			t.Errorf("%q: %d %s", bad, a.Code, a.Body)
		}
	}
	r.stop()
}

// TestWebhookSize: a storm of alerts comes in one notification, which is larger than other requests may be.
func TestWebhookSize(t *testing.T) {
	checkAppLeaks(t)
	r := newWatched(t)
	r.o.WebhookToken = "correct-horse-battery"
	r.start()
	one := `{"status":"firing","labels":{"alertname":"a","session":"nobody","kind":"x"}}`
	many := `{"version":"4","alerts":[` + strings.Repeat(one+",", 999) + one + `]}`
	if len(many) <= 64<<10 {
		t.Fatalf("%d bytes fit everywhere", len(many))
	}
	full := many + strings.Repeat(" ", maxNotificationBytes-len(many))
	post := func(path, body string) (code int, answer string) {
		t.Helper()
		send := func() (*http.Response, error) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.tcp().String()+path, strings.NewReader(body))
			noErrors(t, err)
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", "Bearer correct-horse-battery")
			return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Do(req)
		}
		resp, err := send()
		// The server does not read all of what is too large. A client that has not sent it when the server closes the
		// connection, some time after its answer, may not get to see that.
		for began := time.Now(); (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) && time.Since(began) < patience; {
			resp, err = send()
		}
		noErrors(t, err)
		text, err := io.ReadAll(resp.Body)
		noErrors(t, err, resp.Body.Close())
		return resp.StatusCode, string(text)
	}
	for _, c := range []struct {
		name, path, body string
		code             int
		answer           string
	}{
		{"1 000 alerts", "/alerts/webhook", many, 200, `"alerts":1000`},
		{"1 MiB", "/alerts/webhook", full, 200, `"alerts":1000`},
		{"1 MiB and a byte", "/alerts/webhook", full + " ", 413, "send at most 1048576 bytes"},
		{"1 000 alerts elsewhere", "/hooks/context-usage", many, 413, "send at most 65536 bytes"},
	} {
		if code, answer := post(c.path, c.body); code != c.code || !strings.Contains(answer, c.answer) {
			t.Errorf("%s: %d %.200s; want %d with %q", c.name, code, answer, c.code, c.answer)
		}
	}
	r.stop()
}
