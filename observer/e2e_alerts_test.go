package observer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/alerts"
	"sm/observer/alertmanager"
)

// shipped returns a shipped file with other values for keys, anywhere in it, and for texts.
// Each must be in the file.
func shipped(t *testing.T, path string, keys map[string]string, texts ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	noErrors(t, err)
	text := string(b)
	for key, value := range keys {
		line := regexp.MustCompile(`(?m)^( *` + key + `:) \S+$`)
		if !line.MatchString(text) {
			t.Fatalf("%s has no %s", path, key)
		}
		text = line.ReplaceAllString(text, "${1} "+value)
	}
	for i := 0; i < len(texts); i += 2 {
		if !strings.Contains(text, texts[i]) {
			t.Fatalf("%s has no %s", path, texts[i])
		}
		text = strings.ReplaceAll(text, texts[i], texts[i+1])
	}
	return []byte(text)
}

// relay is between Alertmanager and the observer's webhook and records notifications.
type relay struct {
	*httptest.Server
	to   string
	mu   sync.Mutex
	seen map[string]int // by the alert's name, its state, and what the observer answered
}

func newWire(t *testing.T, to string) *relay {
	t.Helper()
	w := &relay{to: to, seen: map[string]int{}}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

// ServeHTTP forwards a notification unchanged, with its headers.
func (w *relay) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	code := http.StatusBadGateway // Alertmanager tries again
	var all alertmanager.Notification
	body, err := io.ReadAll(in.Body)
	if err == nil {
		err = json.Unmarshal(body, &all)
	}
	if err == nil {
		code, err = w.pass(in, body, code)
	}
	if err != nil {
		w.note("", err.Error(), code)
	}
	for _, x := range all.Alerts {
		w.note(x.Labels["alertname"]+" "+x.Labels["session"], x.Status, code)
	}
	out.WriteHeader(code)
}

func (w *relay) pass(in *http.Request, body []byte, failed int) (code int, err error) {
	req, err := http.NewRequestWithContext(
		in.Context(),
		in.Method,
		"http://"+w.to+in.URL.RequestURI(),
		bytes.NewReader(body),
	)
	if err != nil {
		return failed, err
	}
	req.Header = in.Header
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return failed, nil // it is restarting
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}

func (w *relay) note(alert, what string, code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[fmt.Sprintf("%s %s %d", alert, what, code)]++
}

// passed counts the deliveries of an alert about a session that the observer accepted.
func (w *relay) passed(alert, session, status string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen[alert+" "+session+" "+status+" 200"]
}

// refused returns the notifications that the running observer did not accept.
func (w *relay) refused() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what := range w.seen {
		if !strings.HasSuffix(what, " 200") && !strings.HasSuffix(what, " 502") {
			list = append(list, what)
		}
	}
	return list
}

const webhookSecret = "correct-horse-battery"

// startAlerts runs Prometheus and Alertmanager with all shipped files, but with shorter waits
// and intervals.
func startAlerts(t *testing.T, r *rig) (*scraper, *relay) {
	t.Helper()
	w := newWire(t, r.tcp().String())
	dir := toolDir(t)
	noErrors(t, os.WriteFile(
		filepath.Join(dir, "webhook.token"),
		[]byte(webhookSecret+"\n"),
		0o644,
	),
		os.WriteFile(filepath.Join(
			dir,
			"alertmanager.yml",
		), shipped(t, "../deploy/alertmanager/alertmanager.yml",
			map[string]string{
				"group_wait":      "200ms",
				"group_interval":  "500ms",
				"repeat_interval": "1s",
			},
			"http://127.0.0.1:8420", w.URL), 0o644))
	manager := startTool(t, dir, "prometheus-alertmanager", []string{
		"prometheus-alertmanager", "--config.file=alertmanager.yml",
		"--storage.path=data", "--web.listen-address=127.0.0.1:0", "--cluster.listen-address=",
	})

	dir = toolDir(t)
	intervals := map[string]string{"scrape_interval": "250ms", "evaluation_interval": "250ms"}
	noErrors(t, os.WriteFile(filepath.Join(
		dir,
		"prometheus.yml",
	), shipped(t, "../deploy/prometheus/prometheus.yml", intervals,
		"127.0.0.1:9093", strings.TrimPrefix(
			manager.base,
			"http://",
		), "127.0.0.1:8420", r.tcp().String()), 0o644))
	rules, err := filepath.Glob("../dashboards/prometheus/*.rules.yml")
	noErrors(t, err)
	for _, path := range rules {
		noErrors(
			t,
			os.WriteFile(
				filepath.Join(dir, filepath.Base(path)),
				shipped(t, path, map[string]string{"for": "1s"}),
				0o644,
			),
		)
	}
	s := runPrometheus(t, dir, "--storage.tsdb.path=data")
	r.until(
		"the rules are there",
		func() bool { return len(s.query("up")) > 0 && s.healthy(rules) },
	)
	return s, w
}

// TestE2EAlerts tests an agent whose context fills up, is compacted three times and rests,
// with the exposition, Prometheus, Alertmanager, the webhook and the agent's queue. Agent and
// parent get the same notices, once, whether the observer or the alerts find the pressure
// first.
func TestE2EAlerts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	itself := alerts.Defaults()
	byAlerts := alerts.Defaults()
	itself.Thresholds.WarningPercentage = 62
	itself.Thresholds.CriticalPercentage = 76
	byAlerts.Thresholds.WarningPercentage = 99
	byAlerts.Thresholds.CriticalPercentage = 100
	for _, o := range []*alerts.Options{
		&itself,
		&byAlerts,
	} { // by the window alone, as the rule's levels are set here
		o.Thresholds.WarningOfThreshold = 0
		o.Thresholds.CriticalOfThreshold = 0
	}
	itself.Storm.Turns = 0
	byAlerts.Storm = alerts.Storm{} // the rule knows no turns
	for name, policy := range map[string]alerts.Options{
		"the observer finds it": itself,
		"the alerts report it":  byAlerts,
	} {
		t.Run(name, func(t *testing.T) {
			checkAppLeaks(t)
			policy.CompactionThreshold = 160_000
			r := newWatched(t)
			r.o.WebhookToken = webhookSecret
			r.o.Alerts = policy
			r.start()
			r.joins("boss", "")
			r.joins("em", `,"parent_session_id":"boss"`)
			r.fire("em", uuid(1), "SessionStart", `,"source":"startup"`)
			r.joins("small", "")
			r.fire("small", uuid(2), "SessionStart", `,"source":"startup"`)
			r.write(uuid(2), prompt(ago(0), "p2", "Go."), reply(ago(0), "s", 12_000, 10))
			r.write(uuid(1), prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 122_000, 10))
			s, w := startAlerts(t, r)
			s.until(
				r,
				`agent_session_compactions_total{trigger="auto"}`,
				map[string]string{
					"session=em trigger=auto":    "0",
					"session=small trigger=auto": "0",
				},
			)
			early(r, w)
			compact(r, w, fill(r, w, name == "the observer finds it"))
			rest(r, w)
			if odd := w.refused(); len(odd) > 0 {
				t.Errorf("refused notifications: %q", odd)
			}
		})
	}
}

// early makes a small context grow fast. The alert of a near compaction fires, and the agent
// gets the forecast and no critical notice.
func early(r *rig, w *relay) {
	r.t.Helper()
	for i, tokens := range []int{24_000, 36_000, 48_000, 60_000, 72_000, 84_000, 96_000} {
		r.write(uuid(2), reply(ago(0), fmt.Sprint("s", i), tokens, 10))
	}
	r.until("the alert of a near compaction is repeated", func() bool {
		return w.passed("AgentCompactionImminent", "small", "firing") >= 2
	})
	wantMail(r, "small/1/forecast waiting")
}

// fill fills the context until both alerts fire twice. The agent gets each notice once,
// and critical only at the observer's own threshold. It returns the mail.
func fill(r *rig, w *relay, itself bool) []string {
	r.t.Helper()
	fires := func(alert string) {
		r.t.Helper()
		r.until(
			alert+" is repeated",
			func() bool { return w.passed(alert, "em", "firing") >= 2 },
		)
	}

	r.write(
		uuid(1),
		reply(ago(0), "m2", 125_500, 10),
	) // 63 % of the window, 78 % of the threshold
	fires("AgentContextPressureHigh")
	wantMail(r, "small/1/forecast waiting", "em/1/warning waiting")

	r.write(uuid(1), reply(ago(0), "m3", 155_000, 10)) // 77.5 % and 97 %
	fires("AgentCompactionImminent")
	if !itself {
		wantMail(
			r,
			"small/1/forecast waiting",
			"em/1/warning waiting",
			"em/1/forecast waiting",
		)
		return []string{
			"small/1/forecast waiting",
			"em/1/warning withdrawn",
			"em/1/forecast withdrawn",
		}
	}

	wantMail(r, "small/1/forecast waiting", "em/1/warning withdrawn", "em/1/critical waiting")
	answer := r.fire("em", uuid(1), "PostToolUse", "")
	if !strings.HasPrefix(answer, "[sm context] Context at 78%, critically high.") {
		r.t.Errorf("the agent got %q", answer)
	}
	r.write(uuid(1), attachment(ago(0), answer))
	r.until(
		"it is received",
		func() bool { return slices.Contains(r.mail(), "em/1/critical confirmed") },
	)
	if again := r.fire("em", uuid(1), "PostToolUse", ""); again != "" {
		r.t.Errorf("the agent got %q again", again)
	}

	r.write(
		uuid(2),
		reply(ago(0), "s9", 155_000, 10),
	) // the observer's own threshold; the alert still fires
	want := []string{
		"small/1/forecast withdrawn",
		"em/1/warning withdrawn",
		"em/1/critical confirmed",
		"small/1/critical waiting",
	}
	r.until(
		"small is at its own threshold",
		func() bool { return slices.Contains(r.mail(), "small/1/critical waiting") },
	)
	wantMail(r, want...)
	return want
}

// compact compacts three times. The first ends the pressure, and the third makes a storm.
func compact(r *rig, w *relay, before []string) {
	r.t.Helper()
	var at time.Time
	for i := range 3 {
		at = slices.MaxFunc(
			[]time.Time{time.Now(), at.Add(10 * time.Millisecond)},
			time.Time.Compare,
		) // records of one millisecond have no order
		r.write(
			uuid(1),
			boundary(stamp(at), fmt.Sprint("b", i), "auto", 155_000),
			reply(stamp(at.Add(time.Millisecond)), fmt.Sprint("n", i), 40_000, 10),
		)
		r.until(
			"the next cycle",
			func() bool {
				v := r.session("em")
				return v.Cycle == i+2 &&
					v.TokensUsed != nil
			},
		)
		// During a storm the agent gets no warning, and no end of one.
		for _, alert := range []string{
			"AgentContextPressureHigh",
			"AgentCompactionImminent",
		} {
			r.until(
				alert+" is resolved",
				func() bool { return w.passed(alert, "em", "resolved") > 0 },
			)
		}
	}
	r.until(
		"the storm is repeated",
		func() bool { return w.passed("AgentCompactionStorm", "em", "firing") >= 2 },
	)
	wantMail(r, append(before,
		"em/2/compacted waiting to boss", "em/3/compacted waiting to boss", "em/4/compacted waiting to boss", "em/4/storm waiting to boss")...)
}

// rest lets the session leave the exposition, since only time ends a storm, and restarts the
// observer.
func rest(r *rig, w *relay) {
	r.t.Helper()
	before := r.mail()
	listen := r.tcp().String()
	r.stop()
	r.o.Listen = []string{listen}
	r.o.SessionTTL = time.Millisecond
	r.start()
	r.until(
		"the storm is resolved",
		func() bool { return w.passed("AgentCompactionStorm", "em", "resolved") > 0 },
	)
	wantMail(r, before...)
}

func wantMail(r *rig, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.mail()); diff != "" {
		r.t.Errorf("(-want +got):\n%s", diff)
	}
}
