package observer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/transcript"
)

// TestProjectIsTheRepository tests sessions below the repository's main directory, and one
// that starts while the observer runs.
func TestProjectIsTheRepository(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	repository := filepath.Join(t.TempDir(), "shop")
	noErrors(t, os.MkdirAll(filepath.Join(repository, ".git"), 0o700))
	in := func(dir, line string) string {
		return strings.Replace(line, "/home/dev/web", filepath.Join(repository, dir), 1)
	}
	r.write(uuid(1), in("", reply(ago(0), "m1", 500, 10)))
	r.start()
	r.write(uuid(2), in("cmd/till", reply(ago(0), "m2", 500, 10)))
	r.until("both are named", func() bool {
		return strings.Count(r.ask("GET", "/sessions", "").Body, `"project":"shop"`) == 2
	})
}

// smallFleet returns an observer of sessions with known figures.
func smallFleet(t *testing.T) *rig {
	r := newRig(t)
	at := func(minutes int) string {
		return stamp(time.Date(2026, 5, 1, 12, minutes, 0, 0, time.UTC))
	}
	r.write(uuid(1), prompt(
		at(0),
		"p1",
		"go on",
	), reply(
		at(1),
		"m1",
		50_123,
		300,
	), boundary(
		at(2),
		"b1",
		"auto",
		50_423,
	),
		prompt(at(3), "p2", "and on"), reply(at(4), "m2", 130_000, 70))
	appendLines(
		t,
		r.subagent(uuid(1)),
		strings.Replace(
			reply(at(2), "s1", 9_000, 40),
			`{"type"`,
			`{"isSidechain":true,"agentId":"7","type"`,
			1,
		),
	)
	r.write(
		uuid(2),
		prompt(at(1), "p3", "go on"),
		reply(at(2), "m3", 120_000, 70),
		boundary(at(3), "b2", "manual", 120_070),
	)
	r.write(
		uuid(3),
		replyOf("claude-opus-4-8", "/home/dev/api", at(5), "m4", 700_000, 5),
		`{"type":"system","subtype":"turn_duration","uuid":"d1","timestamp":"`+at(6)+`"}`,
	)
	r.client(
		4711,
		uuid(3),
		`,"status":"waiting","waitingFor":"permission prompt","name":"api"`,
	)
	old := time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC)
	for _, path := range []string{
		r.transcript(uuid(1)),
		r.transcript(uuid(2)),
		r.transcript(uuid(3)),
		r.subagent(uuid(1)),
	} {
		noErrors(t, os.Chtimes(path, old, old))
	}
	r.start()
	r.until(
		"the client is known",
		func() bool { return strings.Contains(r.get("/sessions").Body, "waiting") },
	)
	return r
}

func (r *rig) subagent(id string) string {
	return strings.TrimSuffix(r.transcript(id), ".jsonl") + "/subagents/agent-7.jsonl"
}

// TestSessionsAnswer tests that the fields of GET /sessions are a contract, and that one
// session has those of the list.
func TestSessionsAnswer(t *testing.T) {
	t.Parallel()
	r := smallFleet(t)
	a := r.get("/sessions")
	if a.Code != http.StatusOK || a.Header.Get("Content-Type") != "application/json" ||
		strings.Count(a.Body, "\n") != 1 {
		t.Errorf("got %d, %v, %q", a.Code, a.Header, a.Body)
	}
	var pretty bytes.Buffer
	noErrors(
		t,
		json.Indent(&pretty, []byte(strings.ReplaceAll(a.Body, r.dir, "/DIR")), "", "  "),
	)
	golden(t, "sessions.golden.json", pretty.String())

	var all api.Sessions
	noErrors(t, json.Unmarshal([]byte(a.Body), &all))
	client := api.NewClient([]string{"/nowhere/sm.sock", r.o.Socket})
	listed, err := client.Sessions(t.Context())
	noErrors(t, err)
	if diff := cmp.Diff(all, listed); diff != "" {
		t.Errorf("over the socket (-TCP +socket):\n%s", diff)
	}
	for _, want := range all.Sessions {
		got, err := client.Session(t.Context(), want.SessionID)
		noErrors(t, err)
		got.Subagents.Latest = nil // the list is without them
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-listed +alone):\n%s", want.SessionID, diff)
		}
	}
}

// TestRecentSessions tests that repeated requests get only the sessions that the page shows.
func TestRecentSessions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.SessionTTL = time.Hour
	for i, since := range []time.Duration{
		3 * time.Hour,
		2 * time.Hour,
		20 * time.Minute,
		10 * time.Minute,
	} {
		r.write(uuid(i+1), reply(ago(since), fmt.Sprint("m", i), 10_000, 1))
		at := time.Now().Add(-since)
		noErrors(t, os.Chtimes(r.transcript(uuid(i+1)), at, at))
	}
	r.client(4711, uuid(1), "")
	r.start()
	client := api.NewClient([]string{r.o.Socket})
	var got api.Sessions
	listed := func() (ids []string) {
		var err error
		got, err = client.RecentSessions(t.Context(), "")
		noErrors(t, err)
		for _, s := range got.Sessions {
			ids = append(ids, s.ID)
		}
		return ids
	}
	r.until("the client is known", func() bool { return len(listed()) == 3 })
	if diff := cmp.Diff(
		[]string{uuid(1), uuid(4), uuid(3)},
		listed(),
	); diff != "" || got.Others != 1 ||
		got.CatchingUp {
		t.Errorf("%d others (-want +got):\n%s", got.Others, diff)
	}
	all, err := client.Sessions(t.Context())
	noErrors(t, err)
	for _, s := range got.Sessions {
		whole := slices.IndexFunc(
			all.Sessions,
			func(x api.Session) bool { return x.ID == s.ID },
		)
		if diff := cmp.Diff(all.Sessions[whole], s); diff != "" {
			t.Errorf("%s (-all +recent):\n%s", s.ID, diff)
		}
	}
	if len(all.Sessions) != 4 || all.Others != 0 ||
		len(r.get("/sessions?recent=0").Body) != len(r.get("/sessions").Body) {
		t.Errorf("all: %+v", all)
	}
	if a := r.get("/sessions?recent=perhaps"); a.Code != http.StatusBadRequest {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
	r.stop()
	r.o.MaxSessions = 2
	r.start()
	r.until(
		"the client is known",
		func() bool { ids := listed(); return len(ids) == 2 && ids[0] == uuid(1) },
	)
	if got.Others != 2 {
		t.Errorf("%d others", got.Others)
	}
}

// TestSessionTrend tests that with trend a session has its context sizes, also of its
// transcript before the observer's start.
func TestSessionTrend(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range curve.MaxTrend + 4 {
		r.write(
			uuid(1),
			reply(
				ago(time.Hour-time.Duration(i)*time.Minute),
				fmt.Sprint("m", i),
				2000*(i+1),
				1,
			),
		)
	}
	r.start()
	client := api.NewClient([]string{r.o.Socket})
	plain, err := client.RecentSessions(t.Context(), "")
	noErrors(t, err)
	trending, err := client.TrendingSessions(t.Context(), "")
	noErrors(t, err)
	var want []float64
	for i := 5; i <= curve.MaxTrend+4; i++ {
		want = append(want, float64(i)/100)
	}
	if diff := cmp.Diff(
		want,
		trending.Sessions[0].Trend,
	); diff != "" ||
		plain.Sessions[0].Trend != nil {
		t.Errorf("without trend: got %v; with it (-want +got):\n%s", plain.Sessions[0].Trend, diff)
	}
	if a := r.get("/sessions?trend=perhaps"); a.Code != http.StatusBadRequest {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

// TestSessionsEmpty tests that without sessions the list is empty, never null.
func TestSessionsEmpty(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	if a := r.get("/sessions"); a.Body != `{"sessions":[],"catching_up":false,"rate_limits":{"five_hour":null,"seven_day":null},"today":{"tokens":0,"cost_usd":null,"estimated_cost_usd":null},"agents_not_warned":true}`+"\n" {
		t.Errorf("got %d %s", a.Code, a.Body)
	}
}

// sendRaw sends a request unchanged, over a new connection.
func sendRaw(t testing.TB, to net.Addr, request string) answer {
	t.Helper()
	c, err := net.Dial(to.Network(), to.String())
	noErrors(t, err)
	defer c.Close()
	noErrors(t, c.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(c, request)
	noErrors(t, err)
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	noErrors(t, err)
	body, err := io.ReadAll(resp.Body)
	noErrors(t, err)
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// TestNotReady tests that an observer is healthy and not ready before it has read everything.
func TestNotReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	app, err := New(t.Context(), r.o)
	noErrors(t, err)
	defer app.Stop(t.Context())
	site := httptest.NewServer(app.metricsRoutes())
	defer site.Close()
	want := map[string]answer{
		"/-/healthy": {Code: 200, Body: "healthy\n"},
		"/-/ready": {
			Code: 503,
			Body: `{"error":"still reading what existed at the start; ask again in a second"}` + "\n",
		},
	}
	ask := func() map[string]answer {
		got := map[string]answer{}
		for path := range want {
			a, err := fetch(t.Context(), site.URL+path)
			noErrors(t, err)
			got[path] = answer{Code: a.Code, Body: a.Body}
		}
		return got
	}
	if diff := cmp.Diff(want, ask()); diff != "" {
		t.Errorf("before the start (-want +got):\n%s", diff)
	}
	app.Start()
	<-app.Ready()
	want["/-/ready"] = answer{Code: 200, Body: "ready\n"}
	if diff := cmp.Diff(want, ask()); diff != "" {
		t.Errorf("when ready (-want +got):\n%s", diff)
	}
}

// TestUnpriced tests that an estimate without some models is shown as a lower bound.
func TestUnpriced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Prices = transcript.Prices{{Model: "claude-haiku", Output: 25}}
	line := reply(ago(0), "m1", 500, 100_000)
	r.write(uuid(1), line)
	r.write(uuid(2), strings.NewReplacer("m1", "m2", "haiku", "opus").Replace(line))
	r.start()
	for path, want := range map[string]string{
		"/sessions": `"estimated_cost_usd":2.5,"unpriced":true`,
		"/":         "at least $2.50 estimated",
	} {
		if got := r.get(path).Body; !strings.Contains(got, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, got)
		}
	}
}
