package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sm/cmd/internal/caller"
	"sm/transcript/claude/hook"
)

// ear is an observer that records requests and sends empty answers.
type ear struct {
	socket   string
	mu       sync.Mutex
	received []string
}

func newListener(t *testing.T) *ear {
	t.Helper()
	e := &ear{socket: filepath.Join(shortDir(t), "s")}
	l, err := net.Listen("unix", e.socket)
	noError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.received = append(e.received, string(body))
	}))
	noError(t, server.Listener.Close())
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return e
}

// shortDir returns a folder for sockets; the path of t.TempDir is too long.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sm")
	noError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *ear) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.received...)
}

func TestHookOfMegabytes(t *testing.T) {
	t.Parallel()
	e := newListener(t)
	output := strings.Repeat(`a\"}`, 1<<18)
	stdin := `{"hook_event_name":"PostToolUse","tool_response":{"stdout":"` + output + `"},"tool_input":{"file_path":"/a","content":"` + output + `"},"session_id":"s"}`
	p := Process{
		Stdin:  strings.NewReader(stdin),
		Stdout: new(bytes.Buffer),
		Caller: caller.Caller{Env: func(string) (string, bool) { return "", false }},
	}
	p.hook(
		t.Context(),
		[]string{"--socket", e.socket},
		time.Now(),
	) // not Hook, which gives up on a slow machine
	received := e.all()
	if len(received) != 1 || len(received[0]) > hook.MaxBody || !json.Valid([]byte(received[0])) {
		t.Fatalf("got %d requests, want 1", len(received))
	}
	payload, err := hook.Decode([]byte(received[0]))
	if err != nil || payload.SessionID != "s" || string(payload.ToolInput) != `{"file_path":"/a"}` {
		t.Errorf("error %v, %+v", err, payload)
	}
	if got := readObject(io.MultiReader(
		strings.NewReader(`{"a":"`),
		io.LimitReader(zeros{}, maxPayload),
		strings.NewReader(`"}`),
	)); got != nil {
		t.Errorf("kept %d bytes", len(got))
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestHookTriesAllSockets(t *testing.T) {
	t.Parallel()
	e := newListener(t)
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	noError(t, os.Symlink("/proc/self/exe", foreign))
	stale := filepath.Join(filepath.Dir(e.socket), "t")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	noError(t, err)
	l.SetUnlinkOnClose(false) // as kill -9 leaves it
	noError(t, l.Close())
	if _, received := Post(
		t.Context(),
		[]string{dir + "/none", foreign, stale, e.socket},
		[]byte("{}"),
		true,
	); !received ||
		len(e.all()) != 1 {
		t.Errorf("received %q", e.all())
	}
}

func TestPanicIsQuiet(t *testing.T) {
	t.Parallel()
	new(Process).within(t.Context(), soon, func(context.Context) { panic("broken") })
}

// TestWithinEndsOnSignal tests that a signal ends the wait.
func TestWithinEndsOnSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	new(Process).within(ctx, soon, func(ctx context.Context) {
		cancel()
		<-ctx.Done()
		close(ended)
	})
	<-ended
}

// TestWithinExits tests that work which does not end on request ends with the process.
func TestWithinExits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	exited := make(chan struct{})
	p := &Process{Exit: func(int) { close(exited) }}
	p.within(ctx, soon, func(context.Context) { <-exited })
}

// TestWithinListens tests that a command handles signals only once it has to wait.
func TestWithinListens(t *testing.T) {
	guard := make(chan os.Signal, 1) // else a signal before that would end the test
	signal.Notify(guard, syscall.SIGTERM)
	defer signal.Stop(guard)
	for _, from := range []time.Duration{0, time.Millisecond} {
		p := &Process{Slower: 1 << 20}
		p.within(t.Context(), from, func(ctx context.Context) {
			tick := time.NewTicker(time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil {
				if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
					t.Error(err)
				}
				<-tick.C
			}
		})
	}
}

// TestPostHangsUp tests that an answer that arrives after the deadline is dropped, though it
// looks complete.
func TestPostHangsUp(t *testing.T) {
	t.Parallel()
	path := filepath.Join(shortDir(t), "s")
	l, err := net.Listen("unix", path)
	noError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\n{}"); err != nil {
			t.Error(err)
		}
		cancel()
		_, _ = io.Copy(io.Discard, conn) // until the client closes it
	}()
	if answer, received := Post(ctx, []string{path}, []byte("{}"), true); received || len(answer) > 0 {
		t.Errorf("got answer %v: %q, want none", received, answer)
	}
}

// TestNotItself tests that the small program does not start itself over and over under the
// name sm.
func TestNotItself(t *testing.T) {
	for command, want := range map[string]int{"status": 1, "hook": 0} {
		if code := Main([]string{"/nowhere/sm", command, "--help"}); code != want {
			t.Errorf("%s: exit code %d, want %d", command, code, want)
		}
	}
}
