package api

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunQueryRoundTrip(t *testing.T) {
	for _, want := range []Run{
		{},
		{Client: 4711, Start: "123456", RestartsLeft: 10},
		{
			Client:       4711,
			Start:        "123456",
			RestartsLeft: 10,
			CanRestart:   true,
		},
		{RestartsLeft: 9, CanRestart: true, Restarting: "ro-1"},
		{
			Client:       4711,
			Start:        "123456",
			RestartsLeft: 10,
			Handled:      "ro-2",
			Outcome:      OutcomeRefused,
			Reason:       "leave --print out",
		},
		{
			Client:  4711,
			Start:   "123456",
			Handled: "ro-1 & 2",
			Outcome: OutcomeExhausted,
			Reason:  "no restart is left; a=b",
		},
	} {
		got, err := ParseRun(want.Query())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// TestOlderRun tests that an agent started before an update can still be restarted: its query
// is that of all versions.
func TestOlderRun(t *testing.T) {
	run := Run{
		Client:       4711,
		Start:        "123456",
		RestartsLeft: 9,
		CanRestart:   true,
		Restarting:   "ro-3",
		Handled:      "ro-2",
		Outcome:      OutcomeFailed,
		Reason:       "it is gone",
	}
	const query = "can_restart=true&client=4711&handled=ro-2&outcome=failed&reason=it+is+gone&restarting=ro-3&restarts_left=9&start=123456"
	if got := run.Query().Encode(); got != query {
		t.Errorf("got %s, want %s", got, query)
	}
}

func TestNextInstruction(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	run := Run{
		Client:       7,
		Start:        "8",
		RestartsLeft: 9,
		Handled:      "ro-0",
		Outcome:      OutcomeRestarted,
	}
	answer := func(w http.ResponseWriter) {}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /runs/{id}/next", func(w http.ResponseWriter, r *http.Request) {
		got, err := ParseRun(r.URL.Query())
		if diff := cmp.Diff(
			run,
			got,
		); err != nil || diff != "" ||
			r.PathValue("id") != "a/b c" {
			t.Errorf("for %q: %v (-want +got):\n%s", r.PathValue("id"), err, diff)
		}
		answer(w)
	})
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: mux}}
	server.Start()
	defer server.Close()
	client := NewClient([]string{socket})
	for _, c := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   Instruction
		err    string
	}{
		{
			"nothing",
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
			Instruction{},
			"",
		},
		{"restart", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"rotation":"ro-1","action":"restart","prompt":"Go on.\nNow."}`))
		}, Instruction{"ro-1", ActionRestart, "Go on.\nNow."}, ""},
		{"unknown", func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":"no such agent"}`))
		}, Instruction{}, "no such agent"},
		{
			"half",
			func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"rotation":"ro-1`)) },
			Instruction{},
			"read the observer's answer: unexpected EOF",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer = c.answer
			got, err := client.NextInstruction(context.Background(), "a/b c", run)
			text := ""
			if err != nil {
				text = err.Error()
			}
			if text != c.err {
				t.Errorf("got %q; want %q", text, c.err)
			}
			if diff := cmp.Diff(c.want, got); err == nil && diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
