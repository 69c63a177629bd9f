package hooks

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sm/transcript/claude/hook"
)

// ear is an observer that writes down what it is told, and has nothing to say.
type ear struct {
	socket string
	mu     sync.Mutex
	heard  []string
}

func newEar(t *testing.T) *ear {
	t.Helper()
	dir, err := os.MkdirTemp("", "sm") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	e := &ear{socket: filepath.Join(dir, "s")}
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", e.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.heard = append(e.heard, string(body))
	}))
	if err := server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	server.Listener = l
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return e
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
	p := Process{Stdin: strings.NewReader(stdin), Stdout: new(bytes.Buffer), LookupEnv: func(string) (string, bool) { return "", false }}
	p.hook(t.Context(), []string{"--socket", e.socket}, time.Now()) // not Hook, which gives up on a slow machine
	heard := e.all()
	if len(heard) != 1 || len(heard[0]) > hook.MaxBody || !json.Valid([]byte(heard[0])) {
		t.Fatalf("heard %d times", len(heard))
	}
	told, err := hook.Decode([]byte(heard[0]))
	if err != nil || told.SessionID != "s" || string(told.ToolInput) != `{"file_path":"/a"}` {
		t.Errorf("error %v, %+v", err, told)
	}
	if got := readObject(io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(zeros{}, maxPayload), strings.NewReader(`"}`))); got != nil {
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
	if err := os.Symlink("/proc/self/exe", foreign); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(filepath.Dir(e.socket), "t")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // as kill -9 leaves it
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, heard := Post(t.Context(), []string{dir + "/none", foreign, stale, e.socket}, []byte("{}"), true); !heard || len(e.all()) != 1 {
		t.Errorf("heard %q", e.all())
	}
}

func TestPanicIsQuiet(t *testing.T) {
	t.Parallel()
	if code := new(Process).within(t.Context(), func(context.Context) { panic("broken") }); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A signal ends the wait, and the code is still 0.
func TestWithinEndsOnSignal(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	code := new(Process).within(ctx, func(ctx context.Context) {
		cancel()
		<-ctx.Done()
		close(ended)
	})
	<-ended
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestReadAnswer: an observer's answer is read however a server of HTTP/1.1 may write it, and what is no whole answer is none.
// What net/http makes of the same bytes is the judge.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	const ok = "HTTP/1.1 200 OK\r\n"
	for name, text := range map[string]string{
		"with a length":        ok + "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}",
		"more than its length": ok + "content-length:7\r\n\r\n{\"a\":1}rest",
		"empty":                ok + "Content-Length: 0\r\n\r\n",
		"to the end":           ok + "Connection: close\r\n\r\n{\"a\":1}",
		"HTTP/1.0":             "HTTP/1.0 200 OK\r\n\r\n{}",
		"no content":           "HTTP/1.1 204 No Content\r\n\r\n",
		"accepted":             "HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}",
		"in pieces":            ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4;x=y\r\n\":1}\r\n0\r\n\r\n",
		"lines without \\r":    "HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
		"longest":              ok + "\r\n" + strings.Repeat("x", maxAnswer),
		"a refusal":            "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}",
		"moved":                "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 2\r\n\r\n{}",
		"cut off":              ok + "Content-Length: 8\r\n\r\n{\"a\":1}",
		"cut off in a piece":   ok + "Transfer-Encoding: chunked\r\n\r\n9\r\n{\"a\"",
		"cut off at a piece":   ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n",
		"piece too long":       ok + "Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\"\r\n0\r\n\r\n",
		"cut off in the head":  ok + "Content-Length: 2\r\n",
		"no length":            ok + "Content-Length: two\r\n\r\n{}",
		"negative":             ok + "Content-Length: -1\r\n\r\n{}",
		"nothing":              "",
		"not HTTP":             "SSH-2.0-OpenSSH_9.9\r\n",
		"no status":            "HTTP/1.1\r\n\r\n",
	} {
		got, err := readAnswer(bufio.NewReader(strings.NewReader(text)))
		var want []byte
		response, wantErr := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		if wantErr == nil {
			if want, wantErr = io.ReadAll(response.Body); response.StatusCode/100 != 2 {
				wantErr = errNoAnswer
			}
		}
		if (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s: %.40q, %v; net/http has %.40q, %v", name, got, err, want, wantErr)
		}
	}
	for name, text := range map[string]string{
		"to the end": ok + "\r\n" + strings.Repeat("x", maxAnswer+1),
		"a length":   ok + "Content-Length: 131073\r\n\r\n" + strings.Repeat("x", maxAnswer+1),
		"pieces":     ok + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("8000\r\n"+strings.Repeat("x", 0x8000)+"\r\n", 5) + "0\r\n\r\n",
		"huge":       ok + "Content-Length: 9223372036854775807\r\n\r\n{}",
		"a header":   ok + "X: " + strings.Repeat("x", 5000) + "\r\n\r\n{}",
	} {
		if got, err := readAnswer(bufio.NewReader(strings.NewReader(text))); err == nil {
			t.Errorf("too long, %s: %d bytes", name, len(got))
		}
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
