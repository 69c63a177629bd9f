package observer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/alerts/outbox"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/fleet"
)

// TestErrors tests that the code is the route's own, or that of the table, for errors wrapped
// at any depth.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{handoff.ErrNoDocument, 404, handoff.ErrNoDocument.Error()},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", rotation.ErrBusy)), 409, "a: b: " + rotation.ErrBusy.Error()},
		{outbox.ErrTooLong, 422, outbox.ErrTooLong.Error()},
		{errStopped, 503, errStopped.Error()},
		{context.Canceled, 503, context.Canceled.Error()},
		{errors.New("what is this"), 500, "what is this"},
		{refuse(http.StatusTeapot, "use a pot"), 418, "use a pot"},
		{fmt.Errorf("x: %w", refuse(http.StatusGone, "gone")), 410, "x: gone"},
	} {
		w := httptest.NewRecorder()
		h := handler(func(http.ResponseWriter, *http.Request) error { return c.err })
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		want := fmt.Sprintf("%d {\"error\":%q}\n", c.code, c.text)
		if diff := cmp.Diff(want, fmt.Sprint(w.Code, " ", w.Body)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestNotFoundInBrowser(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?prometheus=x", nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	w := httptest.NewRecorder()
	handler(func(http.ResponseWriter, *http.Request) error { return fleet.ErrUnknown }).ServeHTTP(
		w,
		r,
	)
	if kind := w.Header().Get("Content-Type"); kind != "text/html; charset=utf-8" {
		t.Errorf("got %s, want a page", kind)
	}
}

// TestStream tests that an answer in pieces is one JSON object, and that an error breaks it
// off.
func TestStream(t *testing.T) {
	t.Parallel()
	type list struct {
		Items []int `json:"items"`
		More  bool  `json:"more"`
	}
	failure := errors.New("failed")
	for name, tt := range map[string]struct {
		items []any
		fails bool
		want  string
	}{
		"none":  {nil, false, `{"items":[],"more":true}`},
		"two":   {[]any{1, 2}, false, `{"items":[1,2],"more":true}`},
		"fails": {[]any{1, 2}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			defer func() {
				if p := recover(); p != nil != tt.fails {
					t.Errorf("panic: %v", p)
				}
			}()
			err := writeStream(w, list{
				Items: []int{},
				More:  true,
			}, func(yield func(any, error) bool) {
				for _, x := range tt.items {
					if !yield(x, nil) {
						return
					}
				}
				if tt.fails {
					yield(nil, failure)
				}
			})
			if got := strings.TrimSpace(w.Body.String()); got != tt.want || err != nil {
				t.Errorf("%s, error %v; want %s", got, err, tt.want)
			}
		})
	}
}

// TestStreamOutlastsWriteTimeout tests that an answer in pieces is not cut off by the
// server's write timeout.
func TestStreamOutlastsWriteTimeout(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(handler(func(w http.ResponseWriter, _ *http.Request) error {
		return writeStream(w, []int{}, func(yield func(any, error) bool) {
			yield(strings.Repeat("x", 1<<20), nil)
		})
	}))
	server.Config.WriteTimeout = 1 // a nanosecond, which ends before the first write
	server.Start()
	defer server.Close()

	resp, err := server.Client().Get(server.URL)
	noErrors(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !json.Valid(body) {
		t.Errorf("%d bytes, valid JSON: %v, error: %v", len(body), json.Valid(body), err)
	}
}
