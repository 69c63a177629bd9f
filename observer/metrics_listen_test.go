package observer

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// paths returns some paths that the other listeners serve, and some that none does.
func paths() []string {
	return []string{
		"/metrics",
		"/-/healthy",
		"/-/ready",
		"/",
		"/sessions",
		"/sessions/x",
		"/events",
		"/hooks/claude",
		"/alerts/webhook",
		"/debug/pprof/",
		"/metrics/",
		"/metrics/x",
		"/-/",
		"/favicon.ico",
	}
}

// metricsAddr returns the address of MetricsListen, nil for none.
func (r *rig) metricsAddr() net.Addr {
	for _, d := range r.app.listeners[len(r.app.Addrs()):] {
		return d.Addr()
	}
	return nil
}

// TestMetricsListen tests that the second listener serves only /metrics and health, to anyone
// under any host name.
func TestMetricsListen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.MetricsListen = "127.0.0.1:0"
	r.write(uuid(1), reply(ago(time.Minute), "m1", 50_123, 1))
	r.start()
	if r.metricsAddr() == nil || len(r.app.Addrs()) != 2 {
		t.Fatalf("listening on %v and for others on %v", r.app.Addrs(), r.metricsAddr())
	}
	send := func(request string) answer { return sendRaw(t, r.metricsAddr(), request) }
	got := map[string]int{}
	for _, path := range paths() {
		got[path] = send("GET " + path + " HTTP/1.1\r\nHost: observer.example:9100\r\n\r\n").Code
		if got[path] == 404 {
			delete(got, path)
		}
	}
	if diff := cmp.Diff(
		map[string]int{"/metrics": 200, "/-/healthy": 200, "/-/ready": 200},
		got,
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"} {
		if code := send(method + " /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").Code; code/100 != 4 {
			t.Errorf("%s is answered %d", method, code)
		}
	}
	body := send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").Body
	if !strings.Contains(
		body,
		`agent_session_context_tokens{session="`+uuid(1)[:8]+`"} 50123`,
	) {
		t.Error("no sessions there")
	}
	r.stop()
	if _, err := net.Dial("tcp", r.metricsAddr().String()); err == nil {
		t.Error("still listening after Stop")
	}
}

// TestMetricsListenPassword tests that with a password file nothing is served without a
// password.
func TestMetricsListenPassword(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "web.yaml")
	// The digest of "open sesame", at the lowest cost.
	noErrors(
		t,
		os.WriteFile(
			r.o.WebConfigFile,
			[]byte("basic_auth_users:\n  prom: $2a$04$Jvu9kfQHkvgi7uLGtcaOBemnyCWK2UWgkjYE.JhpS92omCH2fnNdG\n"),
			0o600,
		),
	)
	r.start()
	ask := func(path, user, password string) int {
		req, err := http.NewRequestWithContext(
			t.Context(),
			http.MethodGet,
			"http://"+r.metricsAddr().String()+path,
			nil,
		)
		noErrors(t, err)
		if user != "" {
			req.SetBasicAuth(user, password)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		for range 60 { // the server closes connections with slow requests, which happen on a busy machine
			if !errors.Is(err, io.EOF) {
				break
			}
			resp, err = client.Do(req)
		}
		noErrors(t, err)
		body, err := io.ReadAll(resp.Body)
		noErrors(t, err, resp.Body.Close())
		if allowed := strings.Contains(
			string(body),
			"sm_build_info",
		); allowed != (resp.StatusCode == 200 &&
			path == "/metrics") {
			t.Errorf("%s: %d %.80q", path, resp.StatusCode, body)
		}
		return resp.StatusCode
	}
	for _, path := range paths() {
		for _, wrong := range [][2]string{
			{"", ""},
			{"prom", "sesame"},
			{"prom", ""},
			{"root", "open sesame"},
			{"", "open sesame"},
		} {
			if got := ask(path, wrong[0], wrong[1]); got != http.StatusUnauthorized {
				t.Errorf("%s as %q is answered %d", path, wrong, got)
			}
		}
	}
	if got := [...]int{
		ask("/metrics", "prom", "open sesame"),
		ask("/-/ready", "prom", "open sesame"),
		ask("/sessions", "prom", "open sesame"),
	}; got != [...]int{
		200,
		200,
		404,
	} {
		t.Errorf("with the password: got %v, want 200 200 404", got)
	}
	if got := r.get("/metrics").Code; got != http.StatusOK {
		t.Errorf("local address without password: got %d", got)
	}
}
