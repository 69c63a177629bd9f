package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sm/transcript/claude/hook"
)

func callStatusline(
	t *testing.T,
	vars map[string]string,
	stdin string,
	args ...string,
) string {
	t.Helper()
	all := map[string]string{"PATH": os.Getenv("PATH")}
	maps.Copy(all, vars)
	env := testEnv(all)
	env.Stdin = strings.NewReader(stdin)
	unhurried(env).Statusline(t.Context(), args)
	return env.Stdout.(*bytes.Buffer).String()
}

// TestStatuslineNeverInsideItself tests that there is one part of sm and one report, however
// status lines wrap each other.
func TestStatuslineNeverInsideItself(t *testing.T) {
	t.Parallel()
	e := newListener(t, respond(""))
	in := `{"session_id":"s","version":"2.1.197","context_window":{"used_percentage":42}}`
	got := callStatusline(
		t,
		map[string]string{"SM_SOCKET": e.socket, "CLAUDE_PID": "77"},
		in,
		"--",
		"sm statusline -- 'sm statusline'; echo mine",
	)
	if got != "42% ctx · mine\n" {
		t.Errorf("printed %q", got)
	}
	received := e.wait(t) // the status line does not wait for the observer
	p := e.only(t)
	s, err := hook.DecodeStatus([]byte(received))
	if err != nil || p.Event != hook.StatusLine || s.SessionID != "s" ||
		s.Window.UsedPercentage.Value != 42 ||
		s.SM.PID != 77 ||
		s.SM.At.IsZero() {
		t.Errorf("received %s", received)
	}
}

// TestStatuslineGuarded tests that the line of a guarded session replaces the figure.
func TestStatuslineGuarded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "sessions", "WEB", ".state.json")
	writeFile(t, state, []byte("{}"))
	in := fmt.Sprintf(
		`{"session_id":"s","cwd":%q,"context_window":{"used_percentage":42}}`,
		filepath.Join(dir, "below"),
	)
	for _, tt := range []struct{ name, answer, want string }{
		{
			"guarded",
			`{"line":"WEB [implement/build-loop] 72%"}`,
			"WEB [implement/build-loop] 72%\n",
		},
		{"not guarded", "", "42% ctx\n"},
		{"an empty line", `{"line":""}`, "42% ctx\n"},
		{"another answer", `{"status":"ok"}`, "42% ctx\n"},
		{"no answer", `{"line":"WEB`, "42% ctx\n"},
		{"several lines", `{"line":"WEB\n[x]\u001b 1%"}`, "WEB [x]? 1%\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			vars := map[string]string{"SM_SOCKET": newListener(t, respond(tt.answer)).socket}
			if got := callStatusline(t, vars, in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			want := strings.TrimSuffix(tt.want, "\n") + " · mine\n"
			if got := callStatusline(t, vars, in, "--", "echo mine"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestStatuslineWaitsForNoLine tests that without a guarded session the status line does not
// wait for the observer's answer, and the report arrives.
func TestStatuslineWaitsForNoLine(t *testing.T) {
	t.Parallel()
	e := newListener(t, respond(`{"line":"WEB [x] 1%"}`))
	in := fmt.Sprintf(
		`{"session_id":"s","cwd":%q,"context_window":{"used_percentage":42}}`,
		t.TempDir(),
	)
	if got := callStatusline(
		t,
		map[string]string{"SM_SOCKET": e.socket},
		in,
	); got != "42% ctx\n" {
		t.Errorf("printed %q", got)
	}
	if received := e.wait(t); !strings.Contains(received, `"session_id":"s"`) {
		t.Errorf("received %q", received)
	}
}
