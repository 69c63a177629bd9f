package observer

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/handoff"
	"sm/observer/alertmanager"
	"sm/transcript"
)

// aroundApply looks, applies other settings and looks again.
func aroundApply(t *testing.T, r *rig, change func(*Settings), see func() string) (before, after string) {
	t.Helper()
	before = see()
	s := r.o.Settings
	change(&s)
	noErrors(t, r.app.Apply(t.Context(), s))
	return before, see()
}

// TestApply: each class of settings takes effect without a restart.
func TestApply(t *testing.T) {
	t.Parallel()
	percentages := func(s *Settings, warning, critical int) {
		s.Alerts.Thresholds.WarningPercentage, s.Alerts.Thresholds.CriticalPercentage = warning, critical
		s.Alerts.Thresholds.WarningOfThreshold, s.Alerts.Thresholds.CriticalOfThreshold = 0, 0
	}
	asked := "" // an Alertmanager
	for _, tt := range []struct {
		name          string
		start         func(r *rig) // before the observer runs
		begin         func(r *rig) // once it runs
		change        func(*Settings)
		see           func(r *rig) string
		before, after string
	}{
		{
			name:  "thresholds",
			start: func(r *rig) { percentages(&r.o.Settings, 50, 65) },
			begin: func(r *rig) { r.joins("em", ""); r.uses("em", 52) },
			change: func(s *Settings) {
				percentages(s, 60, 80)
			},
			see:    func(r *rig) string { return r.session("em").Level + " " + strings.Join(r.mail(), ",") },
			before: "warn em/1/warning waiting", after: "early_warn em/1/warning withdrawn",
		}, {
			name:   "context_monitor.enabled",
			begin:  func(r *rig) { r.joins("em", ""); r.uses("em", 52) },
			change: func(s *Settings) { s.Alerts.Disabled = true },
			see:    func(r *rig) string { return strings.Join(r.mail(), ",") },
			before: "em/1/warning waiting", after: "em/1/warning withdrawn",
		}, {
			name:   "messages",
			change: func(s *Settings) { s.Alerts.Messages.Warning = "custom {{.Percent}}" },
			see: func(r *rig) string {
				agent := fmt.Sprint("em", len(r.mail()))
				r.joins(agent, "")
				r.uses(agent, 52)
				return fmt.Sprint(strings.Contains(r.ask(http.MethodGet, "/sessions/"+agent+"/messages", "").Body, "custom 52"))
			},
			before: "false", after: "true",
		}, {
			name: "storm",
			start: func(r *rig) {
				r.o.Alerts.Storm.Count, r.o.Alerts.Storm.Turns = 100, 0
				r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(50*time.Second), "m1", 90_000, 10))
			},
			change: func(s *Settings) {
				s.Alerts.Storm.Count, s.Alerts.Storm.Within = 2, time.Hour
			},
			see: func(r *rig) string {
				const made = `agent_compactions_total{client="claude",trigger="auto"}`
				i := r.scrape()[made]
				at := time.Now().Add(-40*time.Second + time.Duration(i)*10*time.Second)
				r.write(uuid(1), boundary(stamp(at), fmt.Sprint("b", i), "auto", 160_000), reply(stamp(at.Add(time.Second)), fmt.Sprint("n", i), 32_000, 10))
				r.until("it compacts", func() bool { return r.scrape()[made] == i+1 })
				return fmt.Sprint(r.scrape()[`agent_compaction_storms_total{client="claude"}`])
			},
			before: "0", after: "1",
		}, {
			name:   "queue",
			begin:  func(r *rig) { r.joins("em", "") },
			change: func(s *Settings) { s.Queue.MessageBytes = 5 },
			see: func(r *rig) string {
				return fmt.Sprint(r.ask(http.MethodPost, "/sessions/em/messages", `{"text":"longer than five","delivery_mode":"urgent"}`).Code)
			},
			before: "202", after: "422",
		}, {
			name: "windows",
			start: func(r *rig) {
				r.write(uuid(1), prompt(ago(time.Minute), "p1", "Go."), reply(ago(time.Minute), "m1", 90_000, 10))
			},
			change: func(s *Settings) { s.Windows = []transcript.WindowRule{{Model: "claude", Tokens: 1_000_000}} },
			see:    func(r *rig) string { return fmt.Sprint(r.session(uuid(1)).WindowTokens) },
			before: "200000", after: "1000000",
		}, {
			name:   "channels",
			change: func(s *Settings) { s.Handoff.Channels = []handoff.Channel{{Name: "site", Path: "/home/dev/web"}} },
			see:    func(r *rig) string { return r.app.documents.Channel("/home/dev/web/src").Name },
			before: handoff.ChannelOf(nil, "/home/dev/web/src").Name, after: "site",
		}, {
			name:   "operator.notify",
			start:  func(r *rig) { r.o.Notify = []string{"tee", filepath.Join(r.dir, "first")} },
			change: func(s *Settings) { s.Notify[1] = filepath.Join(filepath.Dir(s.Notify[1]), "second") },
			see: func(r *rig) (names string) {
				noErrors(r.t, r.app.do(r.t.Context(), func(c *core) { c.operator(fmt.Sprint("k", time.Now()), "text") }))
				r.until("the operator hears", func() bool {
					list, _ := filepath.Glob(filepath.Join(r.dir, "*[td]"))
					names = ""
					for _, path := range list {
						if text, _ := os.ReadFile(path); string(text) == "text\n" {
							names += filepath.Base(path)
							noErrors(r.t, os.Remove(path))
						}
					}
					return names != ""
				})
				return names
			},
			before: "first", after: "second",
		}, {
			name:   "http.allowed_hosts",
			change: func(s *Settings) { s.AllowedHosts = []string{"box.lan"} },
			see: func(r *rig) string {
				req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.tcp().String()+"/-/healthy", nil)
				noErrors(r.t, err)
				req.Host = "box.lan"
				resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
				noErrors(r.t, err)
				noErrors(r.t, resp.Body.Close())
				return fmt.Sprint(resp.StatusCode)
			},
			before: "421", after: "200",
		}, {
			name:   "http.webhook_token_file",
			change: func(s *Settings) { s.WebhookToken = "correct-horse-battery" },
			see:    func(r *rig) string { return fmt.Sprint(r.askTCP(http.MethodPost, "/alerts/webhook", "{}").Code) },
			before: "404", after: "401",
		}, {
			name: "alertmanager.urls",
			start: func(r *rig) {
				web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }))
				r.t.Cleanup(web.Close)
				asked = web.URL
			},
			change: func(s *Settings) {
				s.Alertmanager = alertmanager.Options{URLs: []string{asked}, Host: "one", Interval: 10 * time.Millisecond}
			},
			see: func(r *rig) string {
				polls := `sm_alertmanager_polls_total{outcome="answered"}`
				if len(r.app.settings.Load().Alertmanager.URLs) > 0 {
					r.until("it asks", func() bool { return r.scrape()[polls] > 1 })
				}
				return fmt.Sprint(r.scrape()[polls] > 0)
			},
			before: "false", after: "true",
		}, {
			name: "metrics.max_sessions",
			start: func(r *rig) {
				for i := range 2 {
					r.write(uuid(i), prompt(ago(time.Minute), "p1", "Go."), reply(ago(time.Minute), fmt.Sprint("m", i), 90_000, 10))
				}
			},
			change: func(s *Settings) { s.MaxSessions = 1 },
			see:    func(r *rig) string { return fmt.Sprint(r.scrape()["sm_sessions_unexported"]) },
			before: "0", after: "1",
		}, {
			name:   "log.level",
			start:  func(r *rig) { r.o.Level = new(slog.LevelVar) },
			change: func(s *Settings) { s.LogLevel = slog.LevelDebug },
			see:    func(r *rig) string { return r.o.Level.Level().String() },
			before: "INFO", after: "DEBUG",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newWatched(t)
			if tt.start != nil {
				tt.start(r)
			}
			r.start()
			defer r.stop()
			if tt.begin != nil {
				tt.begin(r)
			}
			s := r.o.Settings
			s.Notify = slices.Clone(s.Notify)
			before, after := aroundApply(t, r, func(to *Settings) { tt.change(&s); *to = s }, func() string { return tt.see(r) })
			if diff := cmp.Diff([]string{tt.before, tt.after}, []string{before, after}); diff != "" {
				t.Errorf("before and after (-want +got):\n%s", diff)
			}
		})
	}
}

// TestApplyTypeTexts: a text that has waited for a hook is typed once it may be.
func TestApplyTypeTexts(t *testing.T) {
	t.Parallel()
	s := &stage{asks: true}
	r := hookless(t, s, func(*Options) {})
	r.send(uuid(1), "Look at CI.")
	if lines, _ := s.typed(); len(lines) > 0 {
		t.Fatalf("typed %q", lines)
	}
	to := r.o.Settings
	to.TypeTexts = true
	noErrors(t, r.app.Apply(t.Context(), to))
	r.until("typed", func() bool { lines, _ := s.typed(); return len(lines) > 0 })
	if lines, _ := s.typed(); !strings.HasPrefix(lines[0], "[sm message] Look at CI. #") {
		t.Errorf("typed %q", lines)
	}
}

// TestApplyRefused: settings that do not hold change nothing, the good ones among them neither.
func TestApplyRefused(t *testing.T) {
	t.Parallel()
	r := newWatched(t).start()
	defer r.stop()
	for want, spoil := range map[string]func(*Settings){
		"messages.warning": func(s *Settings) { s.Alerts.Messages.Warning = "{{.Nothing}}" },
		"alertmanager.http_config_file": func(s *Settings) {
			s.Alertmanager = alertmanager.Options{URLs: []string{"http://127.0.0.1:1"}, Host: "one", HTTPConfig: "/nowhere"}
		},
	} {
		s := r.o.Settings
		s.MaxSessions, s.Queue.MessageBytes = 1, 1
		spoil(&s)
		if err := r.app.Apply(t.Context(), s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	now := *r.app.settings.Load()
	if now.MaxSessions != 500 || now.Queue.MessageBytes != r.o.Queue.MessageBytes || now.Alerts.Messages.Warning != "" {
		t.Errorf("settings have changed: %+v", now)
	}
	r.joins("em", "")
	if a := r.ask(http.MethodPost, "/sessions/em/messages", `{"text":"more than one","delivery_mode":"urgent"}`); a.Code != http.StatusAccepted {
		t.Errorf("the queue takes other messages: %d %s", a.Code, a.Body)
	}
}

// TestReload: what the route answers, what the log says, and what /metrics tells.
func TestReload(t *testing.T) {
	t.Parallel()
	r := newWatched(t)
	var read Reloaded
	var bad error
	r.o.Reload = func() (Reloaded, error) { return read, bad }
	r.start()
	defer r.stop()
	read = Reloaded{Settings: r.o.Settings, Restart: []string{"listen", "state"}}
	read.MaxSessions = 7
	metrics := func() (successful, at float64) {
		all := r.scrape()
		return all["sm_config_last_reload_successful"], all["sm_config_last_reload_success_timestamp_seconds"]
	}
	ok, started := metrics()
	if age := time.Since(time.UnixMilli(int64(started * 1000))); ok != 1 || age < 0 || age > patience {
		t.Errorf("at the start %v, %v ago", ok, age)
	}
	if a := r.askTCP(http.MethodPost, "/-/reload", "{}"); a.Code != http.StatusNotFound && a.Code != http.StatusMethodNotAllowed {
		t.Errorf("over TCP: %d %s", a.Code, a.Body)
	}
	if got := r.app.settings.Load().MaxSessions; got != 500 {
		t.Errorf("TCP has it reloaded: %d", got)
	}
	a := r.ask(http.MethodPost, "/-/reload", "{}")
	if a.Code != http.StatusOK || a.Body != `{"status":"reloaded"}`+"\n" || r.app.settings.Load().MaxSessions != 7 {
		t.Errorf("over the socket: %d %s %d", a.Code, a.Body, r.app.settings.Load().MaxSessions)
	}
	if log := r.log.String(); !strings.Contains(log, `level=WARN msg="changed keys that need a restart" keys=listen,state`) {
		t.Errorf("its log:\n%s", log)
	}
	ok, applied := metrics()
	if ok != 1 || applied < started {
		t.Errorf("after a reload %v at %v; it was started at %v", ok, applied, started)
	}
	bad = errors.New("sm.yaml:3: that is wrong; correct it")
	if a := r.ask(http.MethodPost, "/-/reload", "{}"); a.Code != http.StatusUnprocessableEntity || a.Body != `{"error":"sm.yaml:3: that is wrong; correct it"}`+"\n" {
		t.Errorf("a bad file: %d %s", a.Code, a.Body)
	}
	if log := r.log.String(); !strings.Contains(log, `level=ERROR msg="configuration not reloaded: the old one stays in effect" err="sm.yaml:3: that is wrong; correct it"`) {
		t.Errorf("its log:\n%s", log)
	}
	if ok, at := metrics(); ok != 0 || at != applied {
		t.Errorf("after a bad file %v at %v, want 0 at %v", ok, at, applied)
	}
	bad, read.Alerts.Messages.Storm = nil, "{{"
	if a := r.ask(http.MethodPost, "/-/reload", "{}"); a.Code != http.StatusUnprocessableEntity {
		t.Errorf("a bad text: %d %s", a.Code, a.Body)
	}
}
