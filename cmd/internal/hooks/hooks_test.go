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
	socket string
	mu     sync.Mutex
	heard  []string
}

func newEar(t *testing.T) *ear {
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
		e.heard = append(e.heard, string(body))
	}))
	noError(t, server.Listener.Close())
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return e
}

// shortDir is a folder for sockets, for which the path of t.TempDir is too long.
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
	return append([]string(nil), e.heard...)
}

func TestHookOfMegabytes(t *testing.T) {
	t.Parallel()
	e := newEar(t)
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
	heard := e.all()
	if len(heard) != 1 || len(heard[0]) > hook.MaxBody || !json.Valid([]byte(heard[0])) {
		t.Fatalf("heard %d times", len(heard))
	}
	told, err := hook.Decode([]byte(heard[0]))
	if err != nil || told.SessionID != "s" || string(told.ToolInput) != `{"file_path":"/a"}` {
		t.Errorf("error %v, %+v", err, told)
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
	e := newEar(t)
	dir := t.TempDir()
	foreign := filepath.Join(dir, "foreign")
	noError(t, os.Symlink("/proc/self/exe", foreign))
	stale := filepath.Join(filepath.Dir(e.socket), "t")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	noError(t, err)
	l.SetUnlinkOnClose(false) // as kill -9 leaves it
	noError(t, l.Close())
	if _, heard := Post(
		t.Context(),
		[]string{dir + "/none", foreign, stale, e.socket},
		[]byte("{}"),
		true,
	); !heard ||
		len(e.all()) != 1 {
		t.Errorf("heard %q", e.all())
	}
}

func TestPanicIsQuiet(t *testing.T) {
	t.Parallel()
	new(Process).within(t.Context(), soon, func(context.Context) { panic("broken") })
}

// A signal ends the wait.
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

// TestWithinExits: work that does not end when it is asked to ends with the process.
func TestWithinExits(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	exited := make(chan struct{})
	p := &Process{Exit: func(int) { close(exited) }}
	p.within(ctx, soon, func(context.Context) { <-exited })
}

// TestWithinListens: a command that does not listen to signals at first does so
// when it has to wait.
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

// TestPostHangsUp: an answer whose end we have not waited for is none, though
// it looks like a whole one.
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
		_, _ = io.Copy(io.Discard, conn) // until it is hung up
	}()
	if answer, heard := Post(ctx, []string{path}, []byte("{}"), true); heard || len(answer) > 0 {
		t.Errorf("heard %v: %s", heard, answer)
	}
}

// TestNotItself: under the name of sm the small program does not become itself again and again.
func TestNotItself(t *testing.T) {
	for command, want := range map[string]int{"status": 1, "hook": 0} {
		if code := Main([]string{"/nowhere/sm", command, "--help"}); code != want {
			t.Errorf("%s: exit code %d, want %d", command, code, want)
		}
	}
}
