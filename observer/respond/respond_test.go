package respond

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
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

// TestErrors: the code is the route's own, else that of the table, however deep the error is wrapped.
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
		"ambiguous agent": {fleet.ErrAmbiguous, answer{409, "the id fits several sessions; give more of it"}},
		"wrapped twice": {
			fmt.Errorf("a: %w", fmt.Errorf("b: %w", rotation.ErrBusy)),
			answer{409, "a: b: " + rotation.ErrBusy.Error()},
		},
		"too long":       {outbox.ErrTooLong, answer{422, outbox.ErrTooLong.Error()}},
		"too many":       {ErrManyReminders, answer{429, "the agent has 50 reminders already: cancel some"}},
		"no reload":      {ErrNoReload, answer{501, ErrNoReload.Error()}},
		"stopped":        {ErrStopped, answer{503, ErrStopped.Error()}},
		"client hung up": {context.Canceled, answer{503, context.Canceled.Error()}},
		"unforeseen":     {errors.New("what is this"), answer{500, "what is this"}},
		"refused":        {Refuse(http.StatusTeapot, "use a pot"), answer{418, "use a pot"}},
		"own code":       {With(http.StatusGone, ErrNoReminder), answer{410, ErrNoReminder.Error()}},
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
	Handler(func(http.ResponseWriter, *http.Request) error { return ErrNoReminder }).ServeHTTP(w, r)
	if kind := w.Header().Get("Content-Type"); w.Code != http.StatusNotFound || kind != "text/html; charset=utf-8" {
		t.Errorf("got %d with %s, want a page", w.Code, kind)
	}
}

// TestStatuses: an error has one status code.
func TestStatuses(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for code, list := range statuses() {
		for _, err := range list {
			if before, twice := seen[err.Error()]; twice {
				t.Errorf("%v: both %d and %d", err, before, code)
			}
			seen[err.Error()] = code
			if got := statusOf(fmt.Errorf("do: %w", err)); got != code {
				t.Errorf("%v: got %d, want %d", err, got, code)
			}
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	var got struct{ Name string }
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{"name":"web"}`))
	if err := ReadJSON(r, &got, "send a name"); err != nil || got.Name != "web" {
		t.Errorf("got %q, %v", got.Name, err)
	}
	for _, body := range []string{"", "{", "[]", `{"name":5}`} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		err := ReadJSON(r, &got, "send a name")
		if err == nil || statusOf(err) != http.StatusBadRequest || err.Error() != "send a name" {
			t.Errorf("%q: %v", body, err)
		}
	}
	r = httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader("all\nof it"))
	if body, err := ReadBody(r); string(body) != "all\nof it" || err != nil {
		t.Errorf("got %q, %v", body, err)
	}
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("half"), failing{}))
	if body, err := ReadBody(r); body != nil || err == nil || statusOf(err) != http.StatusBadRequest {
		t.Errorf("a body that breaks off: %q, %v", body, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWrite(t *testing.T) {
	t.Parallel()
	type written struct {
		Code       int
		Type, Body string
	}
	for name, c := range map[string]struct {
		write func(http.ResponseWriter) error
		want  written
	}{
		"JSON": {
			func(w http.ResponseWriter) error { return JSON(w, http.StatusCreated, []int{1, 2}) },
			written{201, "application/json", "[1,2]\n"},
		},
		"raw": {
			func(w http.ResponseWriter) error { Raw(w, []byte(`{"a":1}`)); return nil },
			written{200, "application/json", "{\"a\":1}\n"},
		},
		"none": {func(w http.ResponseWriter) error { Raw(w, nil); return nil }, written{204, "", ""}},
	} {
		w := httptest.NewRecorder()
		if err := c.write(w); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, written{w.Code, w.Header().Get("Content-Type"), w.Body.String()}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	got := ask(t, func(w http.ResponseWriter, _ *http.Request) error { return JSON(w, http.StatusOK, math.NaN()) })
	if want := (answer{500, "the answer cannot be written as JSON; report this"}); got != want {
		t.Errorf("no JSON: got %v, want %v", got, want)
	}
}

// TestStream: an answer in pieces is one JSON object; an error before the first item is returned, a later one breaks the
// answer off.
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
			err := Stream(w, list{Items: []int{}, More: true}, func(yield func(any, error) bool) {
				for _, x := range tt.items {
					if !yield(x, nil) {
						return
					}
				}
				if tt.fails {
					yield(nil, failure)
				}
			})
			if got := strings.TrimSpace(w.Body.String()); got != tt.want || (err != nil) != tt.fails {
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
