package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/cmd/internal/hooks"
	"sm/deploy/install"
	"sm/transcript/claude/hook"
)

// ear is an observer that records requests and sends a fixed answer.
type ear struct {
	socket   string
	mu       sync.Mutex
	received []string
}

func newListener(t testing.TB, answer http.HandlerFunc) *ear {
	t.Helper()
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	noErrors(t, err)
	e := &ear{socket: filepath.Join(dir, "s")}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", e.socket)
	noErrors(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/hooks/claude" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %v: error %v", r.Method, r.URL, r.Header, err)
		}
		e.mu.Lock()
		e.received = append(e.received, string(body))
		e.mu.Unlock()
		answer(w, r)
	}), ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		if err := errors.Join(server.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
		<-done
	})
	return e
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.received...)
}

// only returns the one report that there is.
func (e *ear) only(t testing.TB) hook.Payload {
	t.Helper()
	received := e.all()
	if len(received) != 1 {
		t.Fatalf("received %q", received)
	}
	p, err := hook.Decode([]byte(received[0]))
	noErrors(t, err)
	return p
}

// wait returns the first report, whose sender may not wait for an answer.
func (e *ear) wait(t testing.TB) string {
	t.Helper()
	if !comes(
		5*time.Millisecond,
		time.After(2*time.Minute),
		func() bool { return len(e.all()) > 0 },
	) {
		t.Fatal("no report was received")
	}
	return e.all()[0]
}

func respond(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// callHook runs `sm hook` in this process.
func callHook(t *testing.T, vars map[string]string, stdin io.Reader, args ...string) string {
	t.Helper()
	env := testEnv(vars)
	env.Stdin = stdin
	unhurried(env).Hook(t.Context(), args)
	if s := env.Stderr.(*bytes.Buffer).String(); s != "" {
		t.Errorf("on standard error: %s", s)
	}
	return env.Stdout.(*bytes.Buffer).String()
}

// unhurried returns the process of a hook whose observer may be slow.
func unhurried(env *environ) *hooks.Process {
	p := env.Process
	p.Slower = 60
	return &p
}

const answerToAgent = `{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"[sm context] 52% #a1b2c3"}}`

func TestHookTellsAndAnswers(t *testing.T) {
	t.Parallel()
	e := newListener(t, respond(answerToAgent))
	vars := map[string]string{
		"SM_SOCKET": e.socket, "CLAUDE_SESSION_MANAGER_ID": "web", "SM_PARENT_ID": "boss", "SM_NAME": "w", "SM_PROVIDER": "claude",
		"TMUX": "/tmp/tmux-0/default,4711,0", "TMUX_PANE": "%3", "CLAUDE_PID": "2000000000",
	}
	before := time.Now()
	got := callHook(
		t,
		vars,
		strings.NewReader(`{"session_id":"s","hook_event_name":"Stop","stop_hook_active":true}`+"\n"),
	)
	if got != answerToAgent+"\n" {
		t.Errorf("printed %q", got)
	}
	p := e.only(t)
	if at := p.SM.At; at.Before(before) || at.After(time.Now()) {
		t.Errorf("at %v", at)
	}
	p.SM.At = time.Time{}
	want := hook.Payload{
		SessionID:      "s",
		Event:          hook.Stop,
		StopHookActive: true,
		SM: hook.Origin{
			Agent:    "web",
			Parent:   "boss",
			Name:     "w",
			Provider: "claude",
			Tmux:     "/tmp/tmux-0/default",
			Server:   4711,
			Pane:     "%3",
			PID:      2000000000,
		},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestHookWithoutEndOfInput tests that a hook does not wait for a client that keeps the pipe
// open.
func TestHookWithoutEndOfInput(t *testing.T) {
	t.Parallel()
	e := newListener(t, respond(answerToAgent))
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = w.Write([]byte(`{"hook_event_name":"Stop","x":"}{"}`)) }()
	if got := callHook(t, nil, r, "--socket", e.socket); got != answerToAgent+"\n" {
		t.Errorf("printed %q", got)
	}
}

func TestClientSockets(t *testing.T) {
	t.Parallel()
	const state = "/home/u/.local/state/sm/run/sm.sock"
	run := privateTemp(t)
	for _, tt := range []struct {
		name string
		vars map[string]string
		args []string
		want []string
	}{
		{"defaults", nil, nil, []string{state}},
		{
			"runtime directory",
			map[string]string{"XDG_RUNTIME_DIR": run},
			nil,
			[]string{run + "/sm/sm.sock", state},
		},
		{
			"no runtime directory",
			map[string]string{"XDG_RUNTIME_DIR": run + "/none"},
			nil,
			[]string{state},
		},
		{
			"variable",
			map[string]string{"SM_SOCKET": "~/s", "XDG_RUNTIME_DIR": run},
			nil,
			[]string{"/home/u/s"},
		},
		{
			"argument",
			map[string]string{"SM_SOCKET": "/v"},
			[]string{"--socket", "/a"},
			[]string{"/a"},
		},
		{"argument with =", nil, []string{"--new", "--socket=/a"}, []string{"/a"}},
		{"no value", nil, []string{"--socket"}, []string{state}},
		{"another's argument", nil, []string{"--", "--socket", "/a"}, []string{state}},
		{"relative", map[string]string{"SM_SOCKET": "s"}, nil, []string{state}},
		{"state", map[string]string{"SM_STATE": "/st"}, nil, []string{"/st/run/sm.sock"}},
		{"no home", map[string]string{"HOME": ""}, nil, nil},
	} {
		if diff := cmp.Diff(
			tt.want,
			hooks.Sockets(testEnv(tt.vars).Env, tt.args),
		); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// smallPath returns a PATH with sm-hook and sm beside it; both are this binary, as set up by
// TestMain.
func smallPath(t testing.TB) string {
	t.Helper()
	self, err := os.Executable()
	noErrors(t, err)
	dir, err := os.MkdirTemp(
		filepath.Dir(self),
		"small",
	) // for a hard link; a symbolic link would be resolved
	noErrors(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"sm", install.SmallName} {
		noErrors(t, os.Link(self, filepath.Join(dir, name)))
	}
	return dir + ":" + os.Getenv("PATH")
}

// hookPaths returns the programs that a client may call if they are in the first folder of a
// PATH.
func hookPaths(path string) (programs []string) {
	dir, _, _ := strings.Cut(path, ":")
	return []string{filepath.Join(dir, "sm"), filepath.Join(dir, install.SmallName)}
}

// TestHookProcess tests that the client gets exit code 0 and no error whatever state the
// streams of the process are in.
func TestHookProcess(t *testing.T) {
	t.Parallel()
	e := newListener(t, respond(answerToAgent))
	path := smallPath(t)
	const payload = `{"hook_event_name":"Stop"}`
	for _, program := range hookPaths(path) {
		for _, tt := range []struct{ name, script, want string }{
			{"plain", `printf '%s' '` + payload + `' | SM hook`, answerToAgent + "\n"},
			{
				"after an unknown argument",
				`printf '%s' '` + payload + `' | SM hook --later x`,
				answerToAgent + "\n",
			},
			{"closed output", `printf '%s' '` + payload + `' | SM hook >&-`, ""},
			{
				"full disk",
				`printf '%s' '` + payload + `' | if [ -e /dev/full ]; then SM hook >/dev/full; fi`,
				"",
			},
			{"closed input", `SM hook <&-`, ""},
			{"input that is a directory", `SM hook </`, ""},
			{"closed streams", `SM hook <&- >&- 2>&-`, ""},
			{"no command", `printf '%s' '` + payload + `' | SM`, ""},
			{"status line with closed streams", `SM statusline -- 'echo x' <&- >&- 2>&-`, ""},
			{
				"status line in a status line",
				`printf '{}' | SM statusline -- 'SM statusline; echo x'`,
				"–% ctx · x\n",
			},
			{
				"broken pipe",
				`mkfifo "$DIR/p"; { exec 3<"$DIR/p"; exec 3<&-; } & printf '%s' '` + payload + `' | { exec >"$DIR/p"; wait; SM hook; }`,
				"",
			},
		} {
			t.Run(filepath.Base(program)+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				script := strings.ReplaceAll(tt.script, "SM", program)
				var out []byte
				var err error
				for range 60 { // on a slow machine it gives up before the answer or the other status line
					cmd := exec.CommandContext(
						t.Context(),
						"/bin/sh",
						"-c",
						script+`; code=$?; [ $code = 0 ] || echo "code $code"`,
					)
					cmd.Env = append(
						os.Environ(),
						"SM_SOCKET="+e.socket,
						"DIR="+t.TempDir(),
						"PATH="+path,
					)
					out, err = cmd.CombinedOutput()
					if late := len(out) == 0 ||
						string(out) == "–% ctx\n"; string(out) == tt.want || !late ||
						err != nil {
						break
					}
				}
				if string(out) != tt.want || err != nil {
					t.Errorf("error %v, printed %q, want %q", err, out, tt.want)
				}
			})
		}
	}
}

// answerOf posts a body to the first observer that listens and returns its answer, nil
// without one.
func answerOf(ctx context.Context, sockets []string, body []byte) []byte {
	answer, _ := hooks.Post(ctx, sockets, body, true)
	return answer
}
