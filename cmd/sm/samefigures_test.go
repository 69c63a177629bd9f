package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"sm/alerts"
	"sm/alerts/outbox"
	webpage "sm/dashboards/page"
	"sm/dashboards/top"
	"sm/observer"
	"sm/observer/api"
)

// figures are what all views say of one agent. Tokens are whole, Pressure is the percentage as people read it.
type figures struct {
	Tokens, Threshold int64
	Source            string
	Pressure          int
	Replies           string // likely, rounded
	Cost              string
}

// sameFleet writes the transcripts of agents at different places of their way to a compaction.
func sameFleet(t *testing.T, projects string, now time.Time) (ids map[string]string) {
	t.Helper()
	ids = map[string]string{}
	for i, a := range []struct {
		name, model     string
		compactions     int
		from, step      int64
		replies         int
		afterCompaction bool
	}{
		{
			name:    "assumed",
			model:   "claude-sonnet-4-5",
			from:    40_000,
			step:    2_300,
			replies: 40,
		},
		{
			name:    "calm",
			model:   "claude-sonnet-4-5",
			from:    20_000,
			step:    310,
			replies: 30,
		},
		{
			name:        "seen",
			model:       "claude-haiku-4-5",
			compactions: 4,
			from:        30_000,
			step:        4_100,
			replies:     30,
		},
		{
			name:    "large",
			model:   "claude-opus-4-8",
			from:    250_000,
			step:    9_000,
			replies: 60,
		},
		{
			name:            "unknown",
			model:           "claude-sonnet-4-5",
			from:            60_000,
			step:            900,
			replies:         20,
			afterCompaction: true,
		},
	} {
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i+1)*2654435761, i+1)
		ids[a.name] = id
		var b strings.Builder
		at := now.Add(-5 * time.Minute)
		n := 0
		write := func(format string, args ...any) {
			n++
			at = at.Add(700 * time.Millisecond)
			fmt.Fprintf(
				&b,
				`{"uuid":"%s-%d","timestamp":%q,"sessionId":%q,"version":"2.1.197","cwd":"/home/dev/web",`,
				a.name,
				n,
				at.UTC().Format(time.RFC3339Nano),
				id,
			)
			fmt.Fprintf(&b, format+"}\n", args...)
		}
		boundary := func(size int64) {
			write(
				`"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":%d}`,
				size,
			)
		}
		write(`"type":"user","message":{"role":"user","content":"go on"}`)
		for c := range a.compactions + 1 {
			for k := range a.replies {
				write(`"type":"assistant","message":{"id":"%s-%d-%d","model":%q,"usage":{"input_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":40}}`,
					a.name, c, k, a.model, a.from+int64(k)*a.step-102)
			}
			if c < a.compactions || a.afterCompaction {
				boundary(a.from + int64(a.replies)*a.step)
			}
		}
		path := filepath.Join(projects, "-home-dev-web", id+".jsonl")
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestSameFigures: the page, the rows of sm top, sm status and /metrics say the same of one fleet.
func TestSameFigures(t *testing.T) {
	dir := t.TempDir()
	ids := sameFleet(t, filepath.Join(dir, "projects"), time.Now())
	socket, base := observed(t, dir)
	for name, usd := range map[string]float64{"assumed": 1.234, "seen": 0.07} {
		report := fmt.Sprintf(
			`{"hook_event_name":"StatusLine","session_id":%q,"cost":{"total_cost_usd":%v}}`,
			ids[name],
			usd,
		)
		if answer := fetched(t, socket, http.MethodPost, "http://sm/hooks/claude", report); answer != "" {
			t.Fatal(answer)
		}
	}
	status := fromStatus(t, socket)
	if len(status) != len(ids) || status[ids["seen"]].Source != "seen" || status[ids["assumed"]].Source != "refusal" ||
		status[ids["assumed"]].Cost != "$1.23" ||
		status[ids["unknown"]].Tokens != 0 || status[ids["large"]].Pressure < 60 || status[ids["calm"]].Replies == "" {
		t.Fatalf("the fleet is not as it should be: %+v", status)
	}
	for name, view := range map[string]map[string]figures{
		"sm status --json of each": fromEach(t, socket, ids),
		"/metrics":                 fromMetrics(t, base, socket),
	} {
		if diff := cmp.Diff(status, view); diff != "" {
			t.Errorf("%s (-status +it):\n%s", name, diff)
		}
	}
	shownOnPage(t, fetched(t, "", http.MethodGet, base+"/", ""), status)
	shownInTop(t, socket, ids, status)
}

// observed runs an observer of the fleet until the test ends.
func observed(t *testing.T, dir string) (socket, base string) {
	t.Helper()
	short, err := os.MkdirTemp("/tmp", "sm") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	socket = filepath.Join(short, "sm.sock")
	app, err := observer.New(t.Context(), observer.Options{
		Web: func(a *observer.App) (observer.Web, error) {
			return webpage.New(webpage.Options{Source: a, Log: slog.New(slog.DiscardHandler)})
		},
		Clients: clientTable(nil, []string{filepath.Join(dir, "projects")}, nil),
		State:   filepath.Join(dir, "state"),
		Socket:  socket,
		Listen:  []string{"127.0.0.1:0"},
		Settings: observer.Settings{
			SessionTTL:  time.Hour,
			MaxSessions: 500,
			Alerts:      alerts.Defaults(),
			Queue:       outbox.Defaults(),
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Stop(context.Background()) })
	app.Start()
	<-app.Ready()
	return socket, "http://" + app.Addrs()[1].String()
}

// fetched is the body of an answer, over the socket if there is one.
func fetched(t *testing.T, socket, method, url, body string) string {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %s, %v", method, url, answer.StatusCode, b, err)
	}
	return string(b)
}

func figuresOf(s *api.Session) (f figures) {
	if s.TokensUsed != nil {
		f.Tokens = *s.TokensUsed
	}
	if s.ThresholdTokens != nil {
		f.Threshold = *s.ThresholdTokens
		f.Source = s.ThresholdSource
	}
	if s.Pressure != nil {
		f.Pressure = int(100 * *s.Pressure)
	}
	if s.Forecast != nil && s.Forecast.Replies != nil {
		f.Replies = fmt.Sprintf("%.0f", s.Forecast.Replies.Likely)
	}
	if s.CostUSD != nil {
		f.Cost = fmt.Sprintf("$%.2f", *s.CostUSD)
	}
	return f
}

// fromStatus is what sm status --json prints, by agent.
func fromStatus(t *testing.T, socket string) map[string]figures {
	t.Helper()
	var all api.Sessions
	if err := json.Unmarshal([]byte(statusJSON(t, socket)), &all); err != nil {
		t.Fatal(err)
	}
	by := map[string]figures{}
	for i := range all.Sessions {
		by[all.Sessions[i].ID] = figuresOf(&all.Sessions[i])
	}
	return by
}

func statusJSON(t *testing.T, socket string, args ...string) string {
	t.Helper()
	o := execute(t, nil, append([]string{"--socket", socket, "status", "--json"}, args...)...)
	if o.Code != 0 {
		t.Fatal(o.ErrOut)
	}
	return o.Out
}

func fromEach(t *testing.T, socket string, ids map[string]string) map[string]figures {
	t.Helper()
	by := map[string]figures{}
	for _, id := range ids {
		var s api.Session
		if err := json.Unmarshal([]byte(statusJSON(t, socket, id)), &s); err != nil {
			t.Fatal(err)
		}
		by[id] = figuresOf(&s)
	}
	return by
}

// fromMetrics reads the families of sessions, by agent: what is not known has no series.
func fromMetrics(t *testing.T, base, socket string) map[string]figures {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(fetched(t, "", http.MethodGet, base+"/metrics", "")))
	if err != nil {
		t.Fatal(err)
	}
	var all api.Sessions
	if err := json.Unmarshal([]byte(statusJSON(t, socket)), &all); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	by := map[string]figures{}
	for _, s := range all.Sessions {
		labels[s.Label] = s.ID
		by[s.ID] = figures{}
	}
	for family, set := range map[string]func(f *figures, value float64, source string){
		"agent_session_context_tokens": func(f *figures, v float64, _ string) { f.Tokens = int64(v) },
		"agent_session_compaction_threshold_tokens": func(f *figures, v float64, s string) {
			f.Threshold = int64(v)
			f.Source = s
		},
		"agent_session_pressure_ratio":   func(f *figures, v float64, _ string) { f.Pressure = int(100 * v) },
		"agent_session_forecast_replies": func(f *figures, v float64, _ string) { f.Replies = fmt.Sprintf("%.0f", v) },
		"agent_session_cost_usd":         func(f *figures, v float64, _ string) { f.Cost = fmt.Sprintf("$%.2f", v) },
	} {
		if families[family] == nil {
			t.Fatalf("there is no %s", family)
		}
		for _, m := range families[family].Metric {
			values := map[string]string{}
			for _, l := range m.Label {
				values[l.GetName()] = l.GetValue()
			}
			id := labels[values["session"]]
			f := by[id]
			set(&f, m.GetGauge().GetValue(), values["source"])
			by[id] = f
		}
	}
	return by
}

// shortTokens is a size as the page and sm top write one: 123k, 1.2M.
func shortTokens(n int64) string {
	switch {
	case n >= 999_500:
		return strings.Replace(fmt.Sprintf("%.1fM", float64(n)/1e6), ".0M", "M", 1)
	case n >= 9_950:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1e3)
}

// shownOnPage looks for the figures in the rows of the page.
func shownOnPage(t *testing.T, page string, want map[string]figures) {
	t.Helper()
	rows := map[string]string{}
	for _, row := range regexp.MustCompile(`(?s)<tr role="row" id=.*?</tr>`).FindAllString(page, -1) {
		if m := regexp.MustCompile(`href="\./\?session=([^"]+)"`).FindStringSubmatch(row); m != nil {
			rows[m[1]] = html.UnescapeString(row)
		}
	}
	for id, f := range want {
		row := rows[id]
		texts := []string{"until the next reply"}
		if f.Tokens > 0 {
			texts = []string{
				shortTokens(f.Tokens) + " of ",
				fmt.Sprintf("<b>%d%%</b> ", f.Pressure),
				fmt.Sprintf("%d%% of the way to compaction %s", f.Pressure, webpage.CompactsAt(f.Threshold, f.Source)),
			}
		}
		if f.Replies != "" {
			texts = append(texts, "≈ "+f.Replies+" repl")
		}
		for _, text := range texts {
			if !strings.Contains(row, text) {
				t.Errorf("the page's row lacks %q:\n%s", text, row)
			}
		}
	}
}

// shownInTop looks for the figures in the rows that sm top and sm status draw, and in what both say of one agent.
func shownInTop(t *testing.T, socket string, ids map[string]string, want map[string]figures) {
	t.Helper()
	all, err := api.NewClient([]string{socket}).Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Sessions {
		s := &all.Sessions[i]
		var b bytes.Buffer
		if err := (top.Table{Width: 200}).Write(&b, all.Sessions[i:i+1], time.Now()); err != nil {
			t.Fatal(err)
		}
		row := strings.NewReplacer(
			"≈ ",
			"≈",
			",",
			" ",
		).Replace(b.String()) // as without the range, for which there may be room
		texts := []string{" – "}
		f := want[s.ID]
		if f.Tokens > 0 {
			texts = []string{fmt.Sprintf(" %d%% ", *s.UsedPercentage), shortTokens(f.Tokens) + "/"}
		}
		if f.Replies != "" {
			texts = append(texts, "≈"+f.Replies+" ")
		}
		if f.Cost != "" {
			texts = append(texts, f.Cost)
		}
		for _, text := range texts {
			if !strings.Contains(row, text) {
				t.Errorf("the row lacks %q:\n%s", text, row)
			}
		}
		o := execute(t, nil, "--socket", socket, "status", s.ID)
		texts = nil
		if f.Tokens > 0 {
			texts = []string{
				fmt.Sprintf("%d of %d tokens", f.Tokens, s.WindowTokens),
				fmt.Sprintf(", %d%% of where it compacts", f.Pressure),
			}
		}
		if f.Threshold > 0 {
			texts = append(texts, webpage.CompactsAt(f.Threshold, f.Source))
		}
		for _, text := range texts {
			if !strings.Contains(o.Out, text) {
				t.Errorf("sm status %s lacks %q:\n%s", s.ID, text, o.Out)
			}
		}
	}
}
