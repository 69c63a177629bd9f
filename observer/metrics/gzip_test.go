package metrics

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestServeCompressed: who takes gzip gets it, scrape after scrape, and others do not.
func TestServeCompressed(t *testing.T) {
	t.Parallel()
	e := testExporter()
	for range 3 { // what is used again is as good as new
		for accept, want := range map[string]bool{
			"": false, "identity": false, "gzip": true, "zstd, GZIP": true, "gzip;q=0": false, "br, gzip;q=0.5": true, "*": true, "*, gzip;q=0": false, "gzip;q=0, *": false, "*;q=0": false,
		} {
			for _, sessions := range []int{100, 2} {
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				w := httptest.NewRecorder()
				r.Header.Set("Accept-Encoding", accept)
				e.Serve(w, r, testSnapshot(sessions))
				body := io.Reader(w.Body)
				if got := w.Header().Get("Content-Encoding") == "gzip"; got != want {
					t.Errorf("%q: compressed: %v", accept, got)
				} else if got {
					z, err := gzip.NewReader(body)
					if err != nil {
						t.Fatal(err)
					}
					body = z
				}
				text, err := io.ReadAll(body)
				if n := strings.Count(string(text), "\nagent_session_forecast_replies{"); err != nil || n != sessions {
					t.Errorf("%q: %d sessions, want %d, %v", accept, n, sessions, err)
				}
			}
		}
	}
}

// TestServeFails: an error is sent as plain text.
func TestServeFails(t *testing.T) {
	t.Parallel()
	e := testExporter()
	e.registry.MustRegister(failing{prometheus.NewDesc("sm_x", "X.", nil, nil)})
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	w := httptest.NewRecorder()
	r.Header.Set("Accept-Encoding", "gzip")
	e.Serve(w, r, testSnapshot(1))
	if w.Code != http.StatusInternalServerError || w.Header().Get("Content-Encoding") != "" ||
		!strings.Contains(w.Body.String(), "not today") {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
}

// failing is a collector that has no figures.
type failing struct{ *prometheus.Desc }

func (f failing) Describe(to chan<- *prometheus.Desc) { to <- f.Desc }
func (f failing) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(f.Desc, errors.New("not today"))
}
