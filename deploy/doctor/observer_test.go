package doctor

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOtherObserver: after an upgrade the old observer runs until somebody starts the new one.
func TestOtherObserver(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := doctor{Options: Options{Sockets: []string{filepath.Join(dir, "s")}, Version: "sm v0.2.0 (go1.26.8, linux/amd64, 0123456789ab, 2026-01-02)"}}
	l, err := net.Listen("unix", d.Sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	metrics := ""
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, metrics)
			return
		}
		_, _ = io.WriteString(w, `{"sessions":[]}`)
	}))
	_ = web.Listener.Close()
	web.Listener = l
	web.Start()
	t.Cleanup(web.Close)

	healthy := Finding{"observer", Healthy, "it answers and knows 0 sessions", ""}
	for text, want := range map[string][]Finding{
		"": {healthy},
		"sm_build_info{commit=\"0123456789ab\",goversion=\"go1.26.8\",version=\"v0.2.0\"} 1\n": {healthy},
		"# TYPE sm_build_info gauge\nsm_build_info{commit=\"aaaaaaaaaaaa\",goversion=\"go1.26.8\",version=\"v0.1.0\"} 1\n": {healthy,
			{"observer", Noted, "it is v0.1.0 (aaaaaaaaaaaa), and this is sm v0.2.0 (go1.26.8, linux/amd64, 0123456789ab, 2026-01-02)", restartRemedy}},
		"sm_build_info{commit=\"aaaaaaaaaaaa\",goversion=\"go1.26.8\",version=\"v0.2.0\"} 1\n": {healthy,
			{"observer", Noted, "it is v0.2.0 (aaaaaaaaaaaa), and this is sm v0.2.0 (go1.26.8, linux/amd64, 0123456789ab, 2026-01-02)", restartRemedy}},
	} {
		metrics, d.findings = text, nil
		d.observer(t.Context())
		if diff := cmp.Diff(want, d.findings); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	}
}
