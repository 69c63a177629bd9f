package respond

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

// answer is what a client gets from a handler.
type answer struct {
	Code  int
	Error string
}

func ask(t *testing.T, h Handler) answer {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	a := answer{Code: w.Code}
	if err := json.Unmarshal(w.Body.Bytes(), &struct{ Error *string }{&a.Error}); err != nil {
		t.Fatalf("%q: %v", w.Body, err)
	}
	return a
}

// TestErrors: the code is the route's own, else that of the table, however deep
// the error is wrapped.
func TestErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want answer
	}{
		"not self":    {ErrNotSelf, answer{403, ErrNotSelf.Error()}},
		"no document": {handoff.ErrNoDocument, answer{404, handoff.ErrNoDocument.Error()}},
		"unknown agent": {
			fmt.Errorf("find it: %w", fleet.ErrUnknown),
			answer{404, "no such session; GET /sessions lists them"},
		},
		"ambiguous agent": {
			fleet.ErrAmbiguous,
			answer{409, "the id fits several sessions; give more of it"},
		},
		"wrapped twice": {
			fmt.Errorf("a: %w", fmt.Errorf("b: %w", rotation.ErrBusy)),
			answer{409, "a: b: " + rotation.ErrBusy.Error()},
		},
		"too long": {outbox.ErrTooLong, answer{422, outbox.ErrTooLong.Error()}},
		"too many": {
			ErrManyReminders,
			answer{429, "the agent has 50 reminders already: cancel some"},
		},
		"no reload":      {ErrNoReload, answer{501, ErrNoReload.Error()}},
		"stopped":        {ErrStopped, answer{503, ErrStopped.Error()}},
		"client hung up": {context.Canceled, answer{503, context.Canceled.Error()}},
		"unforeseen":     {errors.New("what is this"), answer{500, "what is this"}},
		"refused":        {Refuse(http.StatusTeapot, "use a pot"), answer{418, "use a pot"}},
		"own code": {
			With(http.StatusGone, ErrNoReminder),
			answer{410, ErrNoReminder.Error()},
		},
		"own code, deeper": {
			fmt.Errorf("x: %w", With(http.StatusGone, fleet.ErrUnknown)),
			answer{410, "no such session; GET /sessions lists them"},
		},
	} {
		if diff := cmp.Diff(
			c.want,
			ask(t, func(http.ResponseWriter, *http.Request) error { return c.err }),
		); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestNotFoundInBrowser(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?prometheus=x", nil)
	r.Header.Set("Accept", "text/html,application/xhtml+xml")
	w := httptest.NewRecorder()
	Handler(func(http.ResponseWriter, *http.Request) error { return ErrNoReminder }).ServeHTTP(
		w,
		r,
	)
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusNotFound ||
		kind != "text/html; charset=utf-8" {
		t.Errorf("got %d with %s, want a page", w.Code, kind)
	}
}

// TestStream: an answer in pieces is one JSON object; an error before the first
// item is returned, a later one breaks the answer off.
func TestStream(t *testing.T) {
	t.Parallel()
	type list struct {
		Items []int `json:"items"`
		More  bool  `json:"more"`
	}
	failure := errors.New("failed")
	for name, tt := range map[string]struct {
		items  []any
		fails  bool
		want   string
		broken bool
	}{
		"none":        {nil, false, `{"items":[],"more":true}`, false},
		"two":         {[]any{1, 2}, false, `{"items":[1,2],"more":true}`, false},
		"fails":       {nil, true, "", false},
		"fails later": {[]any{1, 2}, true, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := httptest.NewRecorder()
			defer func() {
				if p := recover(); p != nil != tt.broken {
					t.Errorf("panic: %v", p)
				}
			}()
			err := Stream(w, list{
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
			if got := strings.TrimSpace(w.Body.String()); got != tt.want ||
				(err != nil) != tt.fails {
				t.Errorf("%s, error %v; want %s", got, err, tt.want)
			}
		})
	}
}

// TestStreamOutlastsWriteTimeout checks that an answer in pieces is not cut at
// the time in which the server writes other answers.
func TestStreamOutlastsWriteTimeout(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(Handler(func(w http.ResponseWriter, _ *http.Request) error {
		return Stream(w, []int{}, func(yield func(any, error) bool) {
			yield(strings.Repeat("x", 1<<20), nil)
		})
	}))
	server.Config.WriteTimeout = 1 // a nanosecond, over at the first write
	server.Start()
	defer server.Close()

	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || !json.Valid(body) {
		t.Errorf("%d bytes, valid JSON: %v, error: %v", len(body), json.Valid(body), err)
	}
}
