package page

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"sm/dashboards/central"
)

func TestServerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	answers := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-answers
		kind := "vector"
		result := ""
		switch query := r.FormValue("query"); {
		case strings.HasSuffix(r.URL.Path, "/query_range"):
			kind = "matrix"
		case !strings.HasPrefix(query, "up{"):
			result = `{"metric":{"__name__":"agent_session_active","host":"one","session":"web-1"},"value":[1,"1"]}`
		}
		_, _ = fmt.Fprintf(
			w,
			`{"status":"success","data":{"resultType":%q,"result":[%s]}}`,
			kind,
			result,
		)
	}))
	t.Cleanup(web.Close)
	answer := sync.OnceFunc(func() { close(answers) })
	t.Cleanup(answer)

	h, err := New(Options{
		Source:  &source{},
		Servers: []Server{{Name: "main", Options: central.Options{URL: web.URL}}},
		Log:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)

	page := func() string {
		t.Helper()
		w := httptest.NewRecorder()
		if err := h.Page(
			w,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?prometheus=main", nil),
		); err != nil {
			t.Fatal(err)
		}
		return w.Body.String()
	}
	for range 2 {
		if html := page(); !strings.Contains(html, web.URL+" has not answered yet.") {
			t.Fatalf("the page does not show that there is no answer: %s", html)
		}
	}
	answer()
	for !strings.Contains(page(), "<bdi>web-1</bdi>") {
	}
}

// TestCloseWaitsForQueries tests that a running query ends before Close returns, and none
// begins after it.
func TestCloseWaitsForQueries(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	t.Cleanup(web.Close)
	h, err := New(Options{
		Source:  &source{},
		Servers: []Server{{Name: "main", Options: central.Options{URL: web.URL}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := h.views[1].remote
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.refresh(gone, h.closed)
	h.Close()
	if r.ended.IsZero() {
		t.Error("the query still runs")
	}
	r.ended = time.Time{}
	if r.refresh(gone, h.closed); r.asking {
		t.Error("another query runs")
	}
}
