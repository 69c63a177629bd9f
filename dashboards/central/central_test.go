package central

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
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

	"sm/observer/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is a server with these series, of any host, as lines 'NAME{LABELS} VALUE'.
type answers struct {
	figures, targets, trends string
	asked                    atomic.Int64
}

func (a *answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked.Add(1)
	kind := "vector"
	lines := a.figures
	switch {
	case strings.HasSuffix(r.URL.Path, "/query_range"):
		kind = "matrix"
		lines = a.trends
	case strings.HasPrefix(r.FormValue("query"), "up{"):
		lines = a.targets
	}
	type series struct {
		Metric map[string]string `json:"metric"`
		Value  []any             `json:"value,omitempty"`
		Values [][]any           `json:"values,omitempty"`
	}
	result := []series{}
	for line := range strings.Lines(lines) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "{")
		labels, value, _ := strings.Cut(rest, "} ")
		s := series{Metric: map[string]string{"__name__": name}}
		for pair := range strings.SplitSeq(labels, ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				s.Metric[k] = v
			}
		}
		if kind == "vector" {
			s.Value = []any{1.5, value}
		} else {
			for i, v := range strings.Fields(value) {
				s.Values = append(s.Values, []any{i * 60, v})
			}
		}
		result = append(result, s)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "success",
		"data":   map[string]any{"resultType": kind, "result": result},
	})
}

// serve answers until the test ends, and returns a client.
func serve(t *testing.T, h http.Handler) *Server {
	t.Helper()
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	s, err := New(Options{URL: web.URL + "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func parsed[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestSessions tests that sessions of hosts with the same names are separate, that missing
// figures are unknown, and that each poll takes two queries.
func TestSessions(t *testing.T) {
	t.Parallel()
	of := strings.NewReplacer(
		"ONE", "host=one,instance=127.0.0.1:8420,job=sm,session=web",
		"TWO", "host=two,instance=127.0.0.1:8420,job=sm,session=web",
		"PULLED", "instance=three:9464,job=sm,session=api",
	)
	a := &answers{
		figures: of.Replace(`agent_session_info{ONE,session_id=1111,project=shop,model=claude-opus-4-8,client=claude,version=2.1.197,window_source=statusline} 1
agent_session_context_tokens{ONE} 160000
agent_session_context_window_tokens{ONE} 200000
agent_session_compaction_threshold_tokens{ONE,source=seen} 167000
agent_session_cleared_tokens{ONE} 7000
agent_session_forecast_replies_low{ONE} 1
agent_session_forecast_replies{ONE} 2.5
agent_session_forecast_replies_high{ONE} 6
agent_session_forecast_seconds{ONE} 60
agent_session_state{ONE,state=waiting} 1
agent_session_cycle{ONE} 4
agent_session_queued_messages{ONE} 2
agent_session_reachable{ONE} 0
agent_session_reachable{TWO} 1
agent_session_active{ONE} 1
agent_session_compacting{ONE} 0
agent_session_transcript_compactions{ONE,trigger=auto} 3
agent_session_transcript_compactions{ONE,trigger=manual} 1
agent_session_transcript_compactions{ONE,trigger=unknown} 0
agent_session_cost_usd{ONE} 1.25
agent_session_drift_tokens{ONE} -30
agent_session_last_activity_timestamp_seconds{ONE} 1700000000.5
agent_session_context_window_tokens{TWO} 200000
agent_session_active{TWO} 1
agent_session_context_tokens{TWO} NaN
agent_session_context_window_tokens{PULLED} 1000000
agent_session_context_tokens{PULLED} 5000
agent_session_state{PULLED,state=idle} 1
agent_session_context_tokens{host=nobody} 5000
`),
		targets: "up{host=one,instance=127.0.0.1:8420,job=sm} 1\nup{host=four,instance=127.0.0.1:8420,job=sm} 0\n",
		trends:  of.Replace("agent_session_context_ratio{ONE} 0.5 0.6 0.8"),
	}
	s := serve(t, a)
	want := parsed[api.Sessions](t, `{"sessions": [
{"host": "one", "id": "one/web", "session": "web", "client": "claude", "provider": "claude", "session_id": "1111",
 "project": "shop", "model": "claude-opus-4-8", "version": "2.1.197", "tokens_used": 160000, "used_percentage": 80,
 "window_tokens": 200000, "window_source": "statusline", "cycle": 4, "is_active": true, "state": "waiting",
 "compactions": {"auto": 3, "manual": 1}, "drift_tokens": -30, "cross_check": "drift",
 "context_source": "transcript", "cleared_tokens": 7000, "compaction_threshold_tokens": 167000,
 "compaction_threshold_source": "seen", "pressure": 1, "pressure_level": "imminent",
 "forecast": {"replies": {"low": 1, "likely": 2.5, "high": 6}, "seconds": {"low": 60, "likely": 60, "high": 60}},
 "trend": [0.5, 0.6, 0.8], "enabled": true, "queued_messages": 2,
 "last_activity_at": "2023-11-14T22:13:20.5Z", "cost_usd": 1.25},
{"host": "three:9464", "id": "three:9464/api", "session": "api", "tokens_used": 5000, "used_percentage": 1,
 "window_tokens": 1000000, "is_idle": true, "state": "idle", "context_source": "transcript", "enabled": true, "reachable": true},
{"host": "two", "id": "two/web", "session": "web", "window_tokens": 200000, "is_active": true, "state": "active",
 "enabled": true, "reachable": true}]}`)
	want.Hosts = 4
	want.Down = []string{"four"}
	for look := range 3 {
		got, err := s.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("look %d (-want +got):\n%s", look, diff)
		}
	}
	if n := a.asked.Load(); n != 7 {
		t.Errorf("%d queries for three looks, want 2 each and 1 for the trends", n)
	}
}

func TestHostileLabels(t *testing.T) {
	t.Parallel()
	const odd = "a\x1b[31m\u009b\u202e\u200bz"
	const tame = "a\ufffd[31m\ufffd\ufffd\ufffdz"
	long := strings.Repeat("é", 100_000)
	cut := strings.Repeat("é", 200) + "…"
	s := serve(t, &answers{figures: strings.NewReplacer("ODD", odd, "LONG", long).Replace(
		`agent_session_info{host=one,session=ODD,session_id=ODD,project=ODD,model=ODD,client=ODD,version=ODD,window_source=ODD} 1
agent_session_compaction_threshold_tokens{host=one,session=ODD,source=LONG} 167000
agent_session_state{host=one,session=ODD,state=LONG} 1
agent_session_active{host=LONG,session=LONG} 1
`)})
	want := parsed[[]api.Session](t, strings.NewReplacer("TAME", tame, "CUT", cut).Replace(`[
{"host": "one", "id": "one/TAME", "session": "TAME", "session_id": "TAME", "project": "TAME", "model": "TAME",
 "client": "TAME", "provider": "TAME", "version": "TAME", "window_source": "TAME",
 "compaction_threshold_tokens": 167000, "compaction_threshold_source": "CUT", "state": "CUT", "enabled": true, "reachable": true},
{"host": "CUT", "id": "CUT/CUT", "session": "CUT", "state": "active", "is_active": true, "enabled": true, "reachable": true}]`))
	got, err := s.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Sessions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestWatchingOnly tests that a fleet in which no agent can be reached is only watched.
func TestWatchingOnly(t *testing.T) {
	t.Parallel()
	const active = "agent_session_active{host=one,session=web} 1\n"
	for figures, want := range map[string]bool{
		active + "agent_session_reachable{host=one,session=web} 0": true,
		active: false, // of an older observer
		"":     false,
	} {
		got, err := serve(t, &answers{figures: figures}).Sessions(t.Context())
		if err != nil || got.NotWarned != want {
			t.Errorf("%q: got %t, want %t, %v", figures, got.NotWarned, want, err)
		}
	}
}

// TestImplausible tests that a value that no session can have is unknown, and overflows no
// number.
func TestImplausible(t *testing.T) {
	t.Parallel()
	const of = "{host=one,session=web} "
	names := "cache_hit_ratio cleared_tokens compaction_threshold_tokens context_tokens context_window_tokens cost_usd " +
		"cycle drift_tokens forecast_replies forecast_replies_low forecast_replies_high forecast_seconds " +
		"forecast_turns last_activity_timestamp_seconds queued_messages transcript_compactions"
	want := parsed[[]api.Session](t,
		`[{"host": "one", "id": "one/web", "session": "web", "state": "active", "is_active": true, "enabled": true, "reachable": true}]`)
	for _, value := range []string{
		"1e18",
		"1e19",
		"1e300",
		"-1e10",
		"-1e300",
		"NaN",
		"+Inf",
		"-Inf",
	} {
		a := &answers{
			figures: "agent_session_active" + of + "1",
			trends:  "agent_session_context_ratio" + of + value,
		}
		for name := range strings.FieldsSeq(names) {
			a.figures += "\nagent_session_" + name + of + value
		}
		got, err := serve(t, a).Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Sessions); diff != "" {
			t.Errorf("%s (-want +got):\n%s", value, diff)
		}
	}
}

// TestOneHostSeveralObservers tests that users of one machine have separate observers.
func TestOneHostSeveralObservers(t *testing.T) {
	t.Parallel()
	s := serve(t, &answers{figures: `agent_session_context_tokens{host=one,instance=127.0.0.1:8420,session=web} 1
agent_session_context_tokens{host=one,instance=127.0.0.1:8421,session=web} 2
agent_session_context_tokens{host=two,instance=127.0.0.1:8421,session=web} 3
`})
	all, err := s.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range all.Sessions {
		got = append(got, fmt.Sprint(x.ID, " ", *x.TokensUsed))
	}
	if diff := cmp.Diff(
		[]string{"one/127.0.0.1:8420/web 1", "one/127.0.0.1:8421/web 2", "two/web 3"},
		got,
	); diff != "" ||
		all.Hosts != 2 {
		t.Errorf("%d hosts (-want +got):\n%s", all.Hosts, diff)
	}
}

// TestErrors tests that an error is one line that ends with the remedy and contains no
// password.
func TestErrors(t *testing.T) {
	t.Parallel()
	const (
		credentials = "give it a token or password that it takes, in the file for its HTTP client"
		address     = "give the address below which it serves /api/v1/query"
	)
	for _, c := range []struct {
		code int
		body string
		want string
	}{
		{401, "who\nare you", ": status 401; " + credentials},
		{403, "", ": status 403; " + credentials},
		{200, "<html>\n", address},
		{404, "404 page not found\n", address},
		{302, "", ": status 302; " + address},
		{500, "disk\nfull", ": status 500; see its log"},
		{
			422,
			`{"status":"error","errorType":"execution","error":"too many\nsamples"}`,
			": too many samples; see its log",
		},
		{
			200,
			`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`,
			"its answer is no result of a query; " + address,
		},
	} {
		_, err := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/login")
			w.WriteHeader(c.code)
			_, _ = fmt.Fprint(w, c.body)
		})).Sessions(t.Context())
		if err == nil || !strings.HasSuffix(err.Error(), c.want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%d %q: %v\nwant … %s", c.code, c.body, err, c.want)
		}
	}
	for _, address := range []string{
		"",
		"metrics.example:9090",
		"ftp://metrics.example",
		"http://",
		"http://[::1",
	} {
		if _, err := New(Options{
			URL: address,
		}); err == nil ||
			!strings.HasSuffix(err.Error(), "give one such as http://127.0.0.1:9090") {
			t.Errorf("%q: %v", address, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	s, err := New(Options{
		URL: strings.Replace(gone.URL, "http://", "http://me:secret@", 1) + "?nocache=1",
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Sessions(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "ask "+gone.URL+": ") ||
		!strings.HasSuffix(
			err.Error(),
			"connection refused; see whether it runs and whether the address is right",
		) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
}

// TestEnds tests that a cancelled request waits for no answer.
func TestEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	if _, err := s.Sessions(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestHTTPConfig tests that a token and an authority are read from files, the token again
// when it changes, and that a redirect does not get it.
func TestHTTPConfig(t *testing.T) {
	t.Parallel()
	var token, elsewhere atomic.Value
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere.Store(r.Header.Get("Authorization")) }))
	t.Cleanup(other.Close)
	all := &answers{}
	away := atomic.Bool{}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
		if away.Load() {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		all.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{
		Type:  "CERTIFICATE",
		Bytes: web.Certificate().Raw,
	})))
	write("token", "first\n")
	s, err := New(Options{
		URL: web.URL,
		HTTPConfig: write(
			"http.yml",
			"authorization: {credentials_file: token}\ntls_config: {ca_file: ca.pem}\nfollow_redirects: true\n",
		),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, want := range []string{"first", "second"} {
		write("token", want+"\n")
		if _, err := s.Sessions(t.Context()); err != nil || token.Load() != "Bearer "+want {
			t.Errorf("got %v, %v, want %s", err, token.Load(), want)
		}
	}
	away.Store(true)
	if _, err := s.Sessions(t.Context()); err == nil || elsewhere.Load() != nil {
		t.Errorf("%v; the other server got %v", err, elsewhere.Load())
	}
	const asPrometheus = "write it as Prometheus has it, such as 'authorization: {credentials_file: token}'"
	for text, want := range map[string]string{
		"autorization: {}\n":                   asPrometheus,
		"":                                     "no such file or directory; " + asPrometheus,
		"tls_config: {ca_file: nowhere.pem}\n": "see the files that it names",
		"basic_auth: {username: a}\nauthorization: {credentials: b}\n": asPrometheus,
	} {
		name := filepath.Join(dir, "missing.yml")
		if text != "" {
			name = write("wrong.yml", text)
		}
		_, err := New(Options{URL: web.URL, HTTPConfig: name})
		if err == nil || !strings.HasSuffix(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestTooLarge tests that an endless answer is cut off.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for block := strings.Repeat(" ", 1<<20); ; {
			if _, err := w.Write([]byte(block)); err != nil {
				return
			}
		}
	}))
	s.within = time.Hour // so that a slow machine reaches the limit
	if _, err := s.Sessions(t.Context()); err == nil ||
		!strings.HasSuffix(
			err.Error(),
			"its answer is larger than 64 MiB; lower metrics.max_sessions on the machines",
		) {
		t.Errorf("got %v", err)
	}
}
