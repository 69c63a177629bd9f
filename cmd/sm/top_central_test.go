package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestTopOfAllHosts tests that sm top --prometheus on a real screen shows the sessions of two
// hosts without an observer here, reports why it cannot act on them and since when the server
// is down; and that errors at the start end it with one line.
func TestTopOfAllHosts(t *testing.T) {
	t.Parallel()
	var ill atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ill.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		kind := "vector"
		result := ""
		if strings.HasSuffix(r.URL.Path, "/query_range") {
			kind = "matrix"
		} else if query := r.FormValue("query"); strings.Contains(query, "agent_session_") {
			for i, host := range []string{"one", "two"} {
				for name, value := range map[string]int{
					"context_tokens":        50_000 * (i + 1),
					"context_window_tokens": 200_000,
					"active":                1,
				} {
					result += fmt.Sprintf(
						`,{"metric":{"__name__":"agent_session_%s","host":%q,"instance":"127.0.0.1:8420","session":"same"},"value":[1,"%d"]}`,
						name,
						host,
						value,
					)
				}
			}
		}
		_, _ = fmt.Fprintf(
			w,
			`{"status":"success","data":{"resultType":%q,"result":[%s]}}`,
			kind,
			strings.TrimPrefix(result, ","),
		)
	}))
	t.Cleanup(server.Close)
	d := newDaemon(t)
	d.start() // the pane's waits check that the daemon still runs
	p := newPane(
		t,
		d,
		120,
		30,
		"SM_SOCKET="+filepath.Join(d.dir, "nowhere"),
		"sm",
		"top",
		"--prometheus",
		server.URL,
	)
	p.shows(
		`^sm top http\S+  2 agents  2 hosts`,
		`^› one +same .* 50k `,
		`^  two +same .* 100k `,
	)
	p.do("send-keys", "-t", "0:", "s")
	p.shows(`^only the observer on one can do this; run 'sm top' there`)
	ill.Store(true)
	p.shows(
		`^http\S+ gone since \d\d:\d\d:\d\d; these figures are from before \(ask http`,
		`^  two +same .* 100k `,
	)
	ill.Store(false)
	p.eventually("news of the server", func() string {
		if screen := p.do(
			"capture-pane",
			"-p",
			"-t",
			"0:",
		); strings.Contains(
			screen,
			"gone since",
		) {
			return screen
		}
		return ""
	})
	p.do("send-keys", "-t", "0:", "q")
	p.shows(`^ended with 0`)

	p.do("resize-window", "-x", "250", "-y", "30")
	for _, c := range []struct {
		args []string
		want string
	}{
		{
			[]string{"--prometheus", "metrics.example:9090"},
			`^sm: "metrics.example:9090" is no address of a Prometheus server; give one such as http://127.0.0.1:9090`,
		},
		{
			[]string{"--prometheus", "http://127.0.0.1:1"},
			`^sm: ask http://127.0.0.1:1: .*connection refused; see whether it runs and whether the address is right`,
		},
		{
			[]string{"--prometheus", "main"},
			`^sm: "main" is no address, and no name under prometheus in the configuration; give one such as http://127.0.0.1:9090`,
		},
	} {
		p.do(append(
			[]string{
				"respawn-pane",
				"-k",
				"-t",
				"0:",
				"sh",
				"-c",
				`"$@"; echo "ended with $?"; exec sleep 1000`,
				"-",
				"env",
				"HOME=" + d.dir,
				"sm",
				"top",
			},
			c.args...,
		)...)
		p.shows(c.want, `^ended with 2`)
	}
}
