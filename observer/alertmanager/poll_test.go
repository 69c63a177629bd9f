package alertmanager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"sm/alerts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// since is the start of the alerts of these tests.
var since = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// alertOf returns an alert as Alertmanager has it, with changes.
func alertOf(fingerprint, session, kind string, changes ...string) string {
	text := fmt.Sprintf(`{"fingerprint":%q,"labels":{"alertname":"X","host":"one","session":%q,"kind":%q},"annotations":{},"receivers":[{"name":"people"}],`+
		`"startsAt":"2026-05-01T12:00:00.000Z","endsAt":"2026-05-01T13:00:00.000Z","status":{"state":"active","silencedBy":[],"inhibitedBy":[],"mutedBy":[]}}`, fingerprint, session, kind)
	return strings.NewReplacer(changes...).Replace(text)
}

// cluster has Alertmanagers, their answers, and a policy that records its input.
type cluster struct {
	t       *testing.T
	answers []atomic.Value // of each server; "" for one that fails
	asked   atomic.Value   // the newest query
	log     bytes.Buffer
	poller  *Poller
	round   *round
	given   []string
	unknown map[string]bool // sessions
	broken  error           // the policy's error
	counted map[bool]int
}

func newCluster(t *testing.T, servers int) *cluster {
	c := &cluster{
		t:       t,
		answers: make([]atomic.Value, servers),
		unknown: map[string]bool{},
		counted: map[bool]int{},
	}
	var urls []string
	for i := range c.answers {
		c.answers[i].Store("[]")
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.asked.Store(r.URL.Path + " " + strings.Join(
				r.URL.Query()["filter"],
				" ",
			) + " " + r.URL.Query().Get("silenced") + r.URL.Query().Get("inhibited"))
			text := c.answers[i].Load().(string)
			if text == "" {
				w.WriteHeader(http.StatusInternalServerError)
			}
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(web.Close)
		urls = append(urls, web.URL+"/am/")
	}
	c.poller = NewPoller(
		slog.New(slog.NewTextHandler(&c.log, nil)),
		c.take,
		func(failed bool) { c.counted[failed]++ },
	)
	var err error
	if c.round, err = newRound(&Options{URLs: urls, Host: "one"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.round.close)
	return c
}

func (c *cluster) take(_ context.Context, list []Firing) (unknown []Firing, err error) {
	if c.broken != nil {
		return nil, c.broken
	}
	for _, x := range list {
		if c.unknown[x.Session] {
			unknown = append(unknown, x)
			continue
		}
		c.given = append(c.given, fmt.Sprint(x.Session, " ", x.Kind, " ", x.Began.Sub(since)))
	}
	return unknown, nil
}

// asks runs one round and compares the input of the policy.
func (c *cluster) asks(what string, want ...string) {
	c.t.Helper()
	c.given = nil
	c.poller.ask(c.t.Context(), c.round)
	if diff := cmp.Diff(want, c.given); diff != "" {
		c.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (c *cluster) answer(server int, alerts ...string) {
	c.answers[server].Store("[" + strings.Join(alerts, ",") + "]")
}

// TestPoll tests that an alert of two servers arrives once, for as long as it fires, even if
// one of them fails.
func TestPoll(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.asks("nothing fires")
	if want := `/am/api/v2/alerts host="one" session!="" kind!="" falsefalse`; c.asked.Load() != want {
		t.Errorf("got query %q, want %q", c.asked.Load(), want)
	}
	c.answer(0, alertOf("f1", "web", "critical"))
	c.asks("it fires", "web critical 0s")
	c.answer(1, alertOf("f1", "web", "critical"))
	c.asks("the other server has it, too")
	c.answers[0].Store("")
	c.asks("the first is gone")
	c.answer(1, alertOf("f1", "web", "critical"), alertOf("f2", "api", "storm"))
	c.asks("another fires", "api storm 0s")
	c.answers[1].Store("")
	c.asks("both are gone")
	c.answer(0, alertOf("f1", "web", "critical"), alertOf("f2", "api", "storm"))
	c.asks("one is back: nothing has ended meanwhile")
	c.answer(0, alertOf("f2", "api", "storm"))
	c.asks("one is resolved")
	c.answer(
		0,
		alertOf("f1", "web", "critical", "12:00:00", "12:30:00"),
		alertOf("f2", "api", "storm"),
	)
	c.asks("and fires again", "web critical 30m0s")
	if diff := cmp.Diff(map[bool]int{false: 11, true: 7}, c.counted); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
	if n, back := strings.Count(
		c.log.String(),
		"does not answer; see",
	), strings.Count(
		c.log.String(),
		"answers again",
	); n != 2 ||
		back != 1 {
		t.Errorf("%d and %d lines of the log, want 2 and 1:\n%s", n, back, &c.log)
	}
}

// TestPollKeepsQuiet tests that silenced and inhibited alerts, and those of another host or
// without a session, are ignored, even from a server that ignores the filters.
func TestPollKeepsQuiet(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]string{
		"silenced":           {`"silencedBy":[]`, `"silencedBy":["s1"]`},
		"inhibited":          {`"inhibitedBy":[]`, `"inhibitedBy":["f9"]`},
		"muted":              {`"mutedBy":[]`, `"mutedBy":["nights"]`},
		"suppressed":         {`"state":"active"`, `"state":"suppressed"`},
		"not processed yet":  {`"state":"active"`, `"state":"unprocessed"`},
		"another host's":     {`"host":"one"`, `"host":"two"`},
		"of no host":         {`"host":"one",`, ``},
		"of no kind":         {`,"kind":"critical"`, ``},
		"of an unknown kind": {`"kind":"critical"`, `"kind":"disk"`},
		"about no session":   {`"session":"web",`, ``},
		"about an empty one": {`"session":"web"`, `"session":""`},
		"without these members": {
			`,"status":{"state":"active","silencedBy":[],"inhibitedBy":[],"mutedBy":[]}`,
			``,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1)
			c.answer(0, alertOf("f1", "web", "critical", changes...))
			c.asks(name)
			c.answer(0, alertOf("f1", "web", "critical"))
			c.asks("as it should be", "web critical 0s")
		})
	}
}

// TestPollAgain tests that alerts that the policy could not take are repeated, and that the
// log names an unknown session once.
func TestPollAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.answer(0, alertOf("f1", "web", "critical"), alertOf("f2", "api", "warning"))
	c.broken = errors.New("busy")
	c.asks("it cannot be stored")
	c.broken = nil
	c.unknown["web"] = true
	c.unknown["db"] = true
	c.answer(
		0,
		alertOf("f1", "web", "critical"),
		alertOf("f2", "api", "warning"),
		alertOf("f3", "db", "warning"),
	)
	c.asks("two are not known", "api warning 0s")
	c.asks("nor later")
	if n := strings.Count(
		c.log.String(),
		`msg="alerts name unknown sessions" count=2`,
	); n != 1 {
		t.Errorf("%d lines of the log, want 1:\n%s", n, &c.log)
	}
	c.unknown["web"] = false
	c.unknown["db"] = false
	c.asks("but then", "web critical 0s", "db warning 0s")
	c.asks("once")
}

// TestPollNonsense tests that an answer that is no list of alerts is a failure and ends no
// alert.
func TestPollNonsense(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	c.answer(0, alertOf("f1", "web", "critical"))
	c.asks("it fires", "web critical 0s")
	for _, text := range []string{"", "{}", "<html>\n", `[{"labels":7}]`, `"`} {
		c.answers[0].Store(text)
		c.asks(text)
	}
	c.answers[0].Store("null")
	c.asks("none, in other words")
	if c.counted[true] != 5 || c.counted[false] != 2 {
		t.Errorf("got %v", c.counted)
	}
	if strings.Contains(c.log.String(), `\n`) {
		t.Errorf("the log contains the answer:\n%s", &c.log)
	}
}

// TestFailing tests that each failing server is named, without its password.
func TestFailing(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/am/") {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, "[]")
	}))
	t.Cleanup(web.Close)
	for _, c := range []struct {
		urls []string
		want string
	}{
		{nil, "[]"},
		{[]string{web.URL + "/am"}, "[]"},
		{
			[]string{
				web.URL + "/am",
				strings.Replace(web.URL, "http://", "http://me:secret@", 1),
			},
			"[" + web.URL + "/api/v2/alerts: it answers 401 Unauthorized]",
		},
	} {
		o := Options{URLs: c.urls, Host: "one"}
		if got := fmt.Sprint(o.Failing(t.Context())); got != c.want {
			t.Errorf("%v: got %s, want %s", c.urls, got, c.want)
		}
	}
}

// TestRun tests that polling starts with the configuration, takes other options while it
// runs, and ends.
func TestRun(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	serve := func(name string) string {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			select {
			case asked <- name + " " + r.Header.Get("Authorization"):
			default:
			}
			_, _ = io.WriteString(w, "["+alertOf("f1", "web", "critical")+"]")
		}))
		t.Cleanup(web.Close)
		return web.URL
	}
	given := make(chan Firing, 100)
	take := func(_ context.Context, list []Firing) ([]Firing, error) {
		for _, x := range list {
			given <- x
		}
		return nil, nil
	}
	p := NewPoller(slog.New(slog.DiscardHandler), take, func(bool) {})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Run(ctx)
	}()
	configure := func(o Options) {
		t.Helper()
		begin, err := p.Prepare(o)
		if err != nil {
			t.Fatal(err)
		}
		begin()
	}
	configure(Options{})
	file := filepath.Join(t.TempDir(), "http.yml")
	if err := os.WriteFile(
		file,
		[]byte("authorization: {credentials: secret}\n"),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	o := Options{
		URLs:       []string{serve("first")},
		Host:       "one",
		Interval:   time.Millisecond,
		HTTPConfig: file,
	}
	configure(o)
	for range 3 {
		if got := <-asked; got != "first Bearer secret" {
			t.Errorf("asks %s", got)
		}
	}
	o.URLs = []string{serve("second")}
	o.HTTPConfig = ""
	o.Interval = time.Hour
	configure(o)
	for got := range asked {
		if got == "second " {
			break
		}
	}
	if _, err := p.Prepare(Options{URLs: []string{"http://127.0.0.1:1"}}); err == nil {
		t.Error("invalid options were accepted")
	}
	cancel()
	<-ended
	want := Firing{
		Session:     "web",
		Kind:        alerts.KindCritical,
		Began:       since,
		Fingerprint: "f1",
	}
	if got := <-given; got != want || len(given) > 0 {
		t.Errorf("got %+v and %d more, want only %+v", got, len(given), want)
	}
}

// TestCheck tests that each error contains the remedy.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{HTTPConfig: "/nowhere"}, ""},
		{Options{URLs: []string{"https://am.example"}, Host: "one"}, ""},
		{Options{
			URLs: []string{"https://am.example"},
		}, "set it to the value of the label host"},
		{Options{
			URLs: []string{"https://am.example", "https://am.example/x", "http://am.example"},
			Host: "one",
		}, ""},
		{Options{
			URLs: []string{"https://am.example", "https://me:secret@AM.example/"},
			Host: "one",
		}, "alertmanager.urls: https://am.example/api/v2/alerts is asked already; remove one of the two"},
		{Options{
			URLs:       []string{"https://am.example"},
			Host:       "one",
			HTTPConfig: "/nowhere",
		}, "such as 'authorization: {credentials_file: token}'"},
	} {
		if err := c.o.Check(); (err == nil) != (c.want == "") ||
			err != nil && !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want … %s", c.o, err, c.want)
		}
	}
}
