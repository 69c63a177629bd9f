package observer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sm/alerts"
	"sm/alerts/outbox"
	webpage "sm/dashboards/page"
	"sm/handoff"
	"sm/transcript/clients/clientstest"
	"sm/transcript/follow"
)

// rig is an observer in separate folders.
type rig struct {
	t        testing.TB
	dir      string
	projects string
	o        Options
	log      *lockedBuffer
	app      *App
	servers  []webpage.Server // central servers of the page

	pageWrite time.Duration // timeout of a page for an event, 0 for the default
}

func newRig(t testing.TB) *rig {
	t.Helper()
	dir, err := os.MkdirTemp(
		"/tmp",
		"sm",
	) // those of t.TempDir are too long for a socket on macOS
	noErrors(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &rig{
		t:        t,
		dir:      dir,
		projects: filepath.Join(dir, "projects"),
		log:      new(lockedBuffer),
	}
	r.o = Options{
		Clients:  clientstest.Table(r.projects),
		State:    filepath.Join(dir, "state"),
		Socket:   filepath.Join(dir, "run", "sm.sock"),
		Listen:   []string{"127.0.0.1:0"},
		Sanitise: func(text string) string { return text },
		Stats:    &follow.Stats{},
		Version:  "1.2.3",
		Commit:   "abcdef0",
		Settings: Settings{
			SessionTTL:  time.Hour,
			MaxSessions: 500,
			Alerts:      alerts.Defaults(),
			Queue:       outbox.Defaults(),
			Handoff: HandoffOptions{
				Documents: handoff.NewDocuments(
					filepath.Join(r.dir, "handoff"),
					2*time.Hour,
					slog.New(slog.DiscardHandler),
				),
			},
		},
		Logger: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	r.o.Web = func(a *App) (Web, error) {
		return webpage.New(webpage.Options{
			Source:      a,
			Version:     r.o.Version,
			Log:         r.o.Logger,
			Servers:     r.servers,
			WriteWithin: r.pageWrite,
		})
	}
	return r
}

// start runs the observer until the test ends or stop, and waits until it has read all
// transcripts.
func (r *rig) start() *rig {
	r.t.Helper()
	app, err := New(r.t.Context(), r.o)
	noErrors(r.t, err)
	r.app = app
	r.t.Cleanup(func() {
		if err := app.Stop(context.Background()); err != nil {
			r.t.Error(err)
		}
	})
	app.Start()
	select {
	case <-app.Ready():
	case <-app.broken.Done():
		r.t.Fatal(context.Cause(app.broken))
	case <-time.After(patience):
		r.t.Fatal("not ready")
	}
	return r
}

func (r *rig) stop() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	noErrors(r.t, r.app.Stop(ctx))
}

// patience bounds the wait for events that should take milliseconds.
const patience = 2 * time.Minute

// until waits for a condition.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	r.look(5*time.Millisecond, what, holds)
}

// look is until for conditions that are expensive to check.
func (r *rig) look(every time.Duration, what string, holds func() bool) {
	r.t.Helper()
	end := time.After(patience)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			r.t.Fatalf("timeout waiting for: %s\n%s", what, r.log)
		}
	}
}

// transcript returns the path of a session's transcript.
func (r *rig) transcript(id string) string {
	return filepath.Join(r.projects, "-home-dev-web", id+".jsonl")
}

// write appends lines to the transcript of a session.
func (r *rig) write(id string, lines ...string) {
	r.t.Helper()
	appendLines(r.t, r.transcript(id), lines...)
}

func appendLines(t testing.TB, path string, lines ...string) {
	t.Helper()
	noErrors(t, os.MkdirAll(filepath.Dir(path), 0o700))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	noErrors(t, err)
	defer f.Close()
	if _, err := f.WriteString(strings.Join(lines, "\n") + "\n"); err != nil {
		t.Fatal(err)
	}
}

// client writes the registry's entry of a running client.
func (r *rig) client(pid int, id, fields string) {
	r.t.Helper()
	path := filepath.Join(r.dir, "sessions", fmt.Sprintf("%d.json", pid))
	noErrors(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
	// A running process with a start time that cannot be compared.
	entry := fmt.Sprintf(
		`{"pid":%d,"sessionId":%q,"procStart":"test %d"%s}`,
		os.Getpid(),
		id,
		pid,
		fields,
	)
	f, err := os.CreateTemp(
		filepath.Dir(path),
		".new-",
	) // a client's turn and the test may write at the same time
	noErrors(r.t, err)
	if _, err := f.WriteString(entry); err != nil {
		r.t.Fatal(err)
	}
	noErrors(r.t, f.Close(), os.Rename(f.Name(), path))
}

// tcp returns the address of the TCP listener.
func (r *rig) tcp() *net.TCPAddr { return r.app.Addrs()[1].(*net.TCPAddr) }

// answer is the response to a request.
type answer struct {
	Code   int
	Header http.Header
	Body   string
}

// get sends a request over TCP; headers are name and value in turn. Compressed content is not
// decompressed.
func (r *rig) get(path string, headers ...string) answer {
	r.t.Helper()
	a, err := fetch(r.t.Context(), "http://"+r.tcp().String()+path, headers...)
	noErrors(r.t, err)
	return a
}

func fetch(ctx context.Context, url string, headers ...string) (answer, error) {
	return request(ctx, "", http.MethodGet, url, "", headers...)
}

// request sends a request to the socket at a path, or without a path over TCP.
func request(
	ctx context.Context,
	socket, method, url, body string,
	headers ...string,
) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	if socket != "" {
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// lockedBuffer is a log that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// checkAppLeaks fails a test that does not run in parallel if it leaves goroutines. TestMain
// does the same after all tests.
func checkAppLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, append(lastingGoroutines(), before)...) })
}

// lastingGoroutines returns the goroutines of libraries that end with the process.
func lastingGoroutines() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/nxadm/tail/watch.(*InotifyTracker).run"),
		goleak.IgnoreAnyFunction("github.com/fsnotify/fsnotify.(*inotify).readEvents"),
	}
}

// uuid returns the id of the nth session.
func uuid(n int) string {
	return fmt.Sprintf(
		"%08x-0000-4000-8000-%012x",
		uint32(n)*2654435761,
		n,
	)
}

// ago returns a time in the format of records.
func ago(d time.Duration) string { return stamp(time.Now().Add(-d)) }

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// reply returns an assistant's record with this number of tokens in context.
func reply(at, msg string, context, output int) string {
	return replyOf("claude-haiku-4-5", "/home/dev/web", at, msg, context, output)
}

func replyOf(model, cwd, at, msg string, context, output int) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u-%s","timestamp":%q,"version":"2.1.197","cwd":%q,"message":{"id":%q,"model":%q,`+
		`"usage":{"input_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":%d}}}`,
		msg, at, cwd, msg, model, context-102, output)
}

func boundary(at, id, trigger string, pre int) string {
	return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":%q,"timestamp":%q,"version":"2.1.197",`+
		`"compactMetadata":{"trigger":%q,"preTokens":%d,"durationMs":17516}}`, id, at, trigger, pre)
}

func prompt(at, id, text string) string {
	return fmt.Sprintf(
		`{"type":"user","uuid":%q,"timestamp":%q,"version":"2.1.197","cwd":"/home/dev/web","message":{"content":%q}}`,
		id,
		at,
		text,
	)
}

// age sets the modification time of a transcript to that of its records.
func (r *rig) age(id string, d time.Duration) {
	r.t.Helper()
	at := time.Now().Add(-d)
	noErrors(r.t, os.Chtimes(r.transcript(id), at, at))
}
