package observer

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"sm/handoff"
	"sm/observer/alertmanager"
	"sm/transcript"
)

// TestApplyRefused tests that invalid settings change nothing, including the valid ones among
// them.
func TestApplyRefused(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	defer r.stop()
	for want, spoil := range map[string]func(*Settings){
		"messages.warning": func(s *Settings) { s.Alerts.Messages.Warning = "{{.Nothing}}" },
		"alertmanager.http_config_file": func(s *Settings) {
			s.Alertmanager = alertmanager.Options{
				URLs:       []string{"http://127.0.0.1:1"},
				Host:       "one",
				HTTPConfig: "/nowhere",
			}
		},
	} {
		s := r.o.Settings
		s.MaxSessions = 1
		s.Queue.MessageBytes = 1
		spoil(&s)
		if err := r.app.Apply(
			t.Context(),
			s,
		); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	now := *r.app.settings.Load()
	if now.MaxSessions != 500 || now.Queue.MessageBytes != r.o.Queue.MessageBytes ||
		now.Alerts.Messages.Warning != "" {
		t.Errorf("settings have changed: %+v", now)
	}
	r.joins("em", `,"pane":"%1"`)
	if a := r.ask(
		http.MethodPost,
		"/sessions/em/messages",
		`{"text":"more than one","delivery_mode":"urgent"}`,
	); a.Code != http.StatusAccepted {
		t.Errorf("the queue's limits have changed: %d %s", a.Code, a.Body)
	}
}

// TestApply tests that settings of each class take effect without a restart.
func TestApply(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	r.o.Level = new(slog.LevelVar)
	for i := range 2 {
		r.write(
			uuid(i),
			prompt(ago(time.Minute), "p", "Go."),
			reply(ago(time.Minute), fmt.Sprint("m", i), 30_000, 10),
		)
	}
	r.start()
	r.joins("em", `,"pane":"%1"`)
	r.uses("em", 52)
	post := func(path, body string) string {
		return fmt.Sprint(r.ask(http.MethodPost, path, body).Code)
	}

	s := r.o.Settings
	limits := &s.Alerts.Thresholds
	limits.WarningPercentage = 60
	limits.CriticalPercentage = 80
	limits.WarningOfThreshold = 0
	limits.CriticalOfThreshold = 0
	s.Queue.MessageBytes = 5
	s.Windows = []transcript.WindowRule{{Model: "claude", Tokens: 1_000_000}}
	s.Handoff.Channels = []handoff.Channel{{Name: "site", Path: "/home/dev/web"}}
	s.AllowedHosts = []string{"box.lan"}
	s.WebhookToken = "correct-horse-battery"
	s.MaxSessions = 1
	s.LogLevel = slog.LevelDebug
	checks := []struct {
		name          string
		see           func() string
		before, after string
	}{
		{"level", func() string { return r.session("em").Level }, "warn", "early_warn"},
		{
			"notices",
			func() string { return r.mail()[0] },
			"em/1/warning waiting",
			"em/1/warning withdrawn",
		},
		{
			"queue",
			func() string {
				return post(
					"/sessions/em/messages",
					`{"text":"longer than five"}`,
				)
			},
			"202",
			"422",
		},
		{
			"windows",
			func() string { return fmt.Sprint(r.session(uuid(1)).WindowTokens) },
			"200000",
			"1000000",
		},
		{
			"channels",
			func() string {
				return handoff.ChannelOf(
					r.app.handoffs().Channels,
					"/home/dev/web/src",
				).Name
			},
			"-home-dev-web-src",
			"site",
		},
		{"hosts", func() string {
			return fmt.Sprint(sendRaw(
				t,
				r.tcp(),
				"GET /-/healthy HTTP/1.1\r\nHost: box.lan\r\n\r\n",
			).Code)
		}, "421", "200"},
		{
			"webhook",
			func() string {
				return fmt.Sprint(r.askTCP(
					http.MethodPost,
					"/alerts/webhook",
					"{}",
				).Code)
			},
			"404",
			"401",
		},
		{
			"metrics",
			func() string { return fmt.Sprint(r.scrape()["sm_sessions_unexported"]) },
			"0",
			"2",
		},
		{"log", func() string { return r.o.Level.Level().String() }, "INFO", "DEBUG"},
	}
	for _, c := range checks {
		if got := c.see(); got != c.before {
			t.Errorf("%s before: %q, want %q", c.name, got, c.before)
		}
	}
	noErrors(t, r.app.Apply(t.Context(), s))
	for _, c := range checks {
		if got := c.see(); got != c.after {
			t.Errorf("%s after: %q, want %q", c.name, got, c.after)
		}
	}
}
