package observer

import (
	"cmp"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	promserver "sm/dashboards/central"
	webpage "sm/dashboards/page"
	"sm/observer/api"
	"sm/transcript/transcripttest"
)

// agentsOfE2E returns the number of agents of a machine: a few, or SM_E2E_AGENTS.
func agentsOfE2E(t *testing.T) int {
	n, err := strconv.Atoi(cmp.Or(os.Getenv("SM_E2E_AGENTS"), "6"))
	noErrors(t, err)
	return n
}

// shownOf returns what the columns show of a session, from either source.
func shownOf(host string, s *api.Session) api.Session {
	shown := api.Session{
		Host:            host,
		Label:           s.Label,
		SessionID:       s.SessionID,
		Project:         s.Project,
		Model:           s.Model,
		Client:          s.Client,
		Version:         s.Version,
		Enabled:         true,
		TokensUsed:      s.TokensUsed,
		UsedPercentage:  s.UsedPercentage,
		WindowTokens:    s.WindowTokens,
		WindowSource:    s.WindowSource,
		Cycle:           s.Cycle,
		IsCompacting:    s.IsCompacting,
		IsIdle:          s.IsIdle,
		IsActive:        s.IsActive,
		State:           s.State,
		Compactions:     s.Compactions,
		DriftTokens:     s.DriftTokens,
		ClearedTokens:   s.ClearedTokens,
		ThresholdTokens: s.ThresholdTokens,
		ThresholdSource: s.ThresholdSource,
		Pressure:        s.Pressure,
		PressureLevel:   s.PressureLevel,
		Queued:          s.Queued,
		CostUSD:         s.CostUSD,
		CacheHitRatio:   s.CacheHitRatio,
	}
	if s.Forecast != nil && s.Forecast.Replies != nil {
		shown.Forecast = &api.Forecast{Replies: s.Forecast.Replies}
	}
	if s.TokensUsed == nil {
		shown.UsedPercentage = nil
		shown.Pressure = nil
		shown.PressureLevel = "" // an estimate that only the client's own machine has
	}
	if s.Pressure == nil {
		shown.ClearedTokens = 0
	}
	return shown
}

// TestE2ECentral tests that a server has the agents of two machines as their observers show
// them, in all columns, that sm top and the page read them from there, and that they show
// when the server is down and when it is back.
func TestE2ECentral(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	c := startCentral(t)
	var machines []*machine
	for i, host := range []string{"one", "two"} {
		r := newWatched(t)
		_, err := transcripttest.Generate(r.projects, transcripttest.Options{
			Seed:     uint64(i) + 7,
			Sessions: agentsOfE2E(t),
		})
		noErrors(t, err)
		r.o.SessionTTL = 0
		r.o.MaxSessions = 5000
		r.servers = []webpage.Server{{Name: "main", Options: promserver.Options{URL: c.base}}}
		m := r.machine(host, c.base+"/api/v1/write")
		m.write(uuid(i), prompt(ago(0), "p1", "Go."), reply(ago(0), "m1", 140_000+i, 100))
		machines = append(machines, m)
	}
	server, err := promserver.New(promserver.Options{URL: c.base + "/"})
	noErrors(t, err)
	defer server.Close()

	var want, got []api.Session
	var took time.Duration
	end := time.Now().Add(patience - time.Second)
	rounded := cmpopts.EquateApprox(1e-9, 0) // VictoriaMetrics keeps 12 digits
	byName := func(a, b api.Session) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Label, b.Label))
	}
	machines[0].look(looks, "it knows all", func() bool {
		want = nil
		got = nil
		for _, m := range machines {
			for _, s := range m.sessions() {
				if s.CWD == "" {
					s.Project = "" // the folder's name, which metrics do not have
				}
				if s.State != "left" {
					want = append(want, shownOf(m.host, &s))
				}
			}
		}
		began := time.Now()
		all, err := server.Sessions(t.Context())
		took = time.Since(began)
		if err == nil {
			for _, s := range all.Sessions {
				got = append(got, shownOf(s.Host, &s))
			}
		}
		slices.SortFunc(want, byName)
		slices.SortFunc(got, byName)
		return all.Hosts == 2 && len(all.Down) == 0 && gocmp.Equal(want, got, rounded) ||
			time.Now().After(end)
	})
	if diff := gocmp.Diff(want, got, rounded); diff != "" {
		t.Fatalf("sessions of the server (-observers +server):\n%s", diff)
	}
	t.Logf("%d agents; one request took %s", len(got), took)

	r := machines[0].rig
	l := r.listen("?prometheus=main")
	news := l.state()
	rows := len(news.Rows)
	for rows < len(news.Keys) ||
		len(news.Keys) == 0 { // with many agents, the first event may be incomplete
		news = l.state()
		rows += len(news.Rows)
	}
	if rows != len(want) ||
		!strings.Contains(news.Head+r.get("/?prometheus=1").Body, "on <b>2</b> hosts") {
		t.Errorf("%d rows, want %d; head %s", rows, len(want), news.Head)
	}
	page := r.get("/?prometheus=main&session=two%2F" + r.label(machines[1], 1))
	for _, text := range []string{
		`<th role="columnheader" scope="col" class="c-host">`, `class="hosts"`, `<a class="plain" href="./?prometheus=main" aria-current="page">main</a>`,
		`<a class="plain" href="./">this machine</a>`, `<dt>Host</dt><dd><bdi>two</bdi>`, "sm status " + uuid(1), `data-view="main"`,
	} {
		if page.Code != http.StatusOK || !strings.Contains(page.Body, text) {
			t.Errorf("%d, no %s", page.Code, text)
		}
	}
	for _, name := range []string{"", "2", "http://127.0.0.1:1", c.base} {
		if a := r.get("/?prometheus=" + name); a.Code != http.StatusNotFound ||
			!strings.Contains(
				a.Body,
				"no server has this name; prometheus in the configuration has main",
			) {
			t.Errorf("%q: %d %s", name, a.Code, a.Body)
		}
		if a := r.get("/events?prometheus=" + name); a.Code != http.StatusNotFound {
			t.Errorf("events of %q: %d", name, a.Code)
		}
	}

	c.stop()
	for !strings.Contains(l.state().Head, c.base+" has not answered since") {
	}
	if _, err := server.Sessions(t.Context()); err == nil ||
		!strings.HasSuffix(
			err.Error(),
			"see whether it runs and whether the address is right",
		) {
		t.Errorf("while it is down: %v", err)
	}
	c.start()
	for strings.Contains(l.state().Head, "has not answered") {
	}
	for _, m := range machines {
		m.stop()
	}
}

// label returns the name of a session of a machine.
func (r *rig) label(m *machine, n int) string {
	r.t.Helper()
	return m.session(uuid(n)).Label
}
