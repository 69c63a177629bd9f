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

// answers is a server that knows these series, of any host, as lines 'NAME{LABELS} VALUE' have them.
type answers struct {
	figures, targets, trends []string
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
	for _, line := range lines {
		name, rest, _ := strings.Cut(line, "{")
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

// serve answers as long as the test runs, and asks as sm does.
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

// TestSessions: sessions of hosts with the same names are separate, missing figures are unknown, and each poll takes two
// queries.
func TestSessions(t *testing.T) {
	t.Parallel()
	const one, two, pulled = "host=one,instance=127.0.0.1:8420,job=sm,session=web", "host=two,instance=127.0.0.1:8420,job=sm,session=web", "instance=three:9464,job=sm,session=api"
	a := &answers{
		figures: []string{
			"agent_session_info{" + one + ",session_id=1111,project=shop,model=claude-opus-4-8,client=claude,version=2.1.197,window_source=statusline} 1",
			"agent_session_context_tokens{" + one + "} 160000", "agent_session_context_window_tokens{" + one + "} 200000",
			"agent_session_compaction_threshold_tokens{" + one + ",source=seen} 167000", "agent_session_cleared_tokens{" + one + "} 7000",
			"agent_session_forecast_replies_low{" + one + "} 1", "agent_session_forecast_replies{" + one + "} 2.5", "agent_session_forecast_replies_high{" + one + "} 6",
			"agent_session_forecast_seconds{" + one + "} 60", "agent_session_state{" + one + ",state=waiting} 1", "agent_session_cycle{" + one + "} 4",
			"agent_session_queued_messages{" + one + "} 2", "agent_session_active{" + one + "} 1", "agent_session_compacting{" + one + "} 0",
			"agent_session_transcript_compactions{" + one + ",trigger=auto} 3", "agent_session_transcript_compactions{" + one + ",trigger=manual} 1",
			"agent_session_transcript_compactions{" + one + ",trigger=unknown} 0", "agent_session_cost_usd{" + one + "} 1.25",
			"agent_session_drift_tokens{" + one + "} -30", "agent_session_last_activity_timestamp_seconds{" + one + "} 1700000000.5",
			"agent_session_context_window_tokens{" + two + "} 200000", "agent_session_active{" + two + "} 1", "agent_session_context_tokens{" + two + "} NaN",
			"agent_session_context_window_tokens{" + pulled + "} 1000000", "agent_session_context_tokens{" + pulled + "} 5000", "agent_session_state{" + pulled + ",state=idle} 1",
			"agent_session_context_tokens{host=nobody} 5000",
		},
		targets: []string{
			"up{host=one,instance=127.0.0.1:8420,job=sm} 1",
			"up{host=four,instance=127.0.0.1:8420,job=sm} 0",
		},
		trends: []string{"agent_session_context_ratio{" + one + "} 0.5 0.6 0.8"},
	}
	s := serve(t, a)
	want := api.Sessions{Hosts: 4, Down: []string{"four"}, Sessions: []api.Session{
		{
			Host:            "one",
			ID:              "one/web",
			Label:           "web",
			Client:          "claude",
			Provider:        "claude",
			SessionID:       "1111",
			Project:         "shop",
			Model:           "claude-opus-4-8",
			Version:         "2.1.197",
			TokensUsed:      new(int64(160_000)),
			UsedPercentage:  new(80),
			WindowTokens:    200_000,
			WindowSource:    "statusline",
			Cycle:           4,
			IsActive:        true,
			State:           "waiting",
			Compactions:     api.Compactions{Auto: 3, Manual: 1},
			DriftTokens:     new(int64(-30)),
			CrossCheck:      "drift",
			ContextSource:   "transcript",
			ClearedTokens:   7000,
			ThresholdTokens: new(int64(167_000)),
			ThresholdSource: "seen",
			Pressure:        new(1.0),
			PressureLevel:   "imminent",
			Forecast: &api.Forecast{
				Replies: &api.Range{Low: 1, Likely: 2.5, High: 6},
				Seconds: &api.Range{Low: 60, Likely: 60, High: 60},
			},
			Trend:      []float64{0.5, 0.6, 0.8},
			Enabled:    true,
			Queued:     2,
			LastActive: new(time.UnixMilli(1_700_000_000_500)),
			CostUSD:    new(1.25),
		},
		{
			Host:           "three:9464",
			ID:             "three:9464/api",
			Label:          "api",
			TokensUsed:     new(int64(5000)),
			UsedPercentage: new(1),
			WindowTokens:   1_000_000,
			IsIdle:         true,
			State:          "idle",
			ContextSource:  "transcript",
			Enabled:        true,
		},
		{
			Host:         "two",
			ID:           "two/web",
			Label:        "web",
			WindowTokens: 200_000,
			IsActive:     true,
			State:        "active",
			Enabled:      true,
		},
	}}
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
	cut := strings.Repeat("é", maxLabel) + "…"
	s := serve(t, &answers{figures: []string{
		"agent_session_info{host=one,session=" + odd + ",session_id=" + odd + ",project=" + odd + ",model=" + odd + ",client=" + odd + ",version=" + odd + ",window_source=" + odd + "} 1",
		"agent_session_compaction_threshold_tokens{host=one,session=" + odd + ",source=" + long + "} 167000",
		"agent_session_state{host=one,session=" + odd + ",state=" + long + "} 1",
		"agent_session_active{host=" + long + ",session=" + long + "} 1",
	}})
	want := []api.Session{
		{
			Host:            "one",
			ID:              "one/" + tame,
			Label:           tame,
			SessionID:       tame,
			Project:         tame,
			Model:           tame,
			Client:          tame,
			Provider:        tame,
			Version:         tame,
			WindowSource:    tame,
			ThresholdTokens: new(int64(167_000)),
			ThresholdSource: cut,
			State:           cut,
			Enabled:         true,
		},
		{
			Host:     cut,
			ID:       cut + "/" + cut,
			Label:    cut,
			State:    "active",
			IsActive: true,
			Enabled:  true,
		},
	}
	got, err := s.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Sessions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestImplausible: a value that no session has is unknown, and no number that overflows.
func TestImplausible(t *testing.T) {
	t.Parallel()
	const of = "{host=one,session=web} "
	names := []string{
		"cache_hit_ratio", "cleared_tokens", "compaction_threshold_tokens", "context_tokens", "context_window_tokens", "cost_usd", "cycle", "drift_tokens", "forecast_replies",
		"forecast_replies_low", "forecast_replies_high", "forecast_seconds", "forecast_turns", "last_activity_timestamp_seconds", "queued_messages", "transcript_compactions",
	}
	want := []api.Session{{
		Host:     "one",
		ID:       "one/web",
		Label:    "web",
		State:    "active",
		IsActive: true,
		Enabled:  true,
	}}
	for _, value := range []string{"1e18", "1e19", "1e300", "-1e10", "-1e300", "NaN", "+Inf", "-Inf"} {
		a := &answers{
			figures: []string{"agent_session_active" + of + "1"},
			trends:  []string{"agent_session_context_ratio" + of + value},
		}
		for _, name := range names {
			a.figures = append(a.figures, "agent_session_"+name+of+value)
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

// TestOneHostSeveralObservers: users of one machine have observers of their own.
func TestOneHostSeveralObservers(t *testing.T) {
	t.Parallel()
	s := serve(t, &answers{figures: []string{
		"agent_session_context_tokens{host=one,instance=127.0.0.1:8420,session=web} 1", "agent_session_context_tokens{host=one,instance=127.0.0.1:8421,session=web} 2",
		"agent_session_context_tokens{host=two,instance=127.0.0.1:8421,session=web} 3",
	}})
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

// TestErrors: what is wrong is one line, which ends with what to do, and shows no password.
func TestErrors(t *testing.T) {
	t.Parallel()
	text := func(code int, body string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			_, _ = fmt.Fprint(w, body)
		})
	}
	for _, c := range []struct {
		name    string
		handler http.Handler
		want    string
	}{
		{
			"no token",
			text(401, "who\nare you"),
			": status 401; give it a token or password that it takes, in the file for its HTTP client",
		},
		{
			"not allowed",
			text(403, ""),
			": status 403; give it a token or password that it takes, in the file for its HTTP client",
		},
		{"something else", text(200, "<html>\n"), "give the address below which it serves /api/v1/query"},
		{"no such path", text(404, "404 page not found\n"), "give the address below which it serves /api/v1/query"},
		{
			"elsewhere",
			http.RedirectHandler("/login", http.StatusFound),
			": status 302; give the address below which it serves /api/v1/query",
		},
		{"ill", text(500, "disk\nfull"), ": status 500; see its log"},
		{
			"refuses the query",
			text(422, `{"status":"error","errorType":"execution","error":"too many\nsamples"}`),
			": too many samples; see its log",
		},
		{
			"another kind of answer",
			text(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`),
			"its answer is no result of a query; give the address below which it serves /api/v1/query",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := serve(t, c.handler).Sessions(t.Context())
			if err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v\nwant … %s", err, c.want)
			}
		})
	}
	for _, address := range []string{"", "metrics.example:9090", "ftp://metrics.example", "http://", "http://[::1"} {
		if _, err := New(Options{
			URL: address,
		}); err == nil || !strings.HasSuffix(err.Error(), "give one such as http://127.0.0.1:9090") {
			t.Errorf("%q: %v", address, err)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	s, err := New(Options{URL: strings.Replace(gone.URL, "http://", "http://me:secret@", 1) + "?nocache=1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Sessions(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "ask "+gone.URL+": ") ||
		!strings.HasSuffix(err.Error(), "connection refused; see whether it runs and whether the address is right") ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
}

// TestEnds: one who has gone waits for no answer.
func TestEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	if _, err := s.Sessions(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestHTTPConfig: a token and an authority come from files, the token anew when it changes, and a redirect takes it nowhere.
func TestHTTPConfig(t *testing.T) {
	t.Parallel()
	var token, elsewhere atomic.Value
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere.Store(r.Header.Get("Authorization")) }))
	t.Cleanup(stranger.Close)
	all := &answers{}
	away := atomic.Bool{}
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
		if away.Load() {
			http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
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
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
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
			t.Errorf("%v, %v, want %s", err, token.Load(), want)
		}
	}
	away.Store(true)
	if _, err := s.Sessions(t.Context()); err == nil || elsewhere.Load() != nil {
		t.Errorf("%v; the stranger got %v", err, elsewhere.Load())
	}
	for name, want := range map[string]string{
		write(
			"typo.yml",
			"autorization: {}\n",
		): "write it as Prometheus has it, such as 'authorization: {credentials_file: token}'",
		filepath.Join(
			dir,
			"missing.yml",
		): "no such file or directory; write it as Prometheus has it, such as 'authorization: {credentials_file: token}'",
		write(
			"noca.yml",
			"tls_config: {ca_file: nowhere.pem}\n",
		): "see the files that it names",
		write(
			"both.yml",
			"basic_auth: {username: a}\nauthorization: {credentials: b}\n",
		): "write it as Prometheus has it, such as 'authorization: {credentials_file: token}'",
	} {
		if _, err := New(Options{
			URL:        web.URL,
			HTTPConfig: name,
		}); err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", filepath.Base(name), err)
		}
	}
}

// TestTooLarge: an answer without an end is cut off.
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
	s.within = time.Hour // so that a slow machine gets as far
	if _, err := s.Sessions(t.Context()); err == nil ||
		!strings.HasSuffix(
			err.Error(),
			"its answer is larger than 64 MiB; lower metrics.max_sessions on the machines",
		) {
		t.Errorf("%v", err)
	}
}
