package observer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// grow appends replies of so many tokens of output to the transcripts of sessions
// from, from+step, … below to, and a compaction after every 20th.
func (r *rig) grow(from, to, step, replies, output int) {
	for n := range replies {
		for i := from; i < to; i += step {
			r.write(uuid(i), reply(ago(0), fmt.Sprint("m", i, "-", n), 1000+n, output))
			if n%20 == 19 {
				r.write(uuid(i), boundary(ago(0), fmt.Sprint("b", i, "-", n), "auto", 1000*i+n))
			}
		}
	}
}

// repeat calls f until done is closed, at least once.
func repeat(done <-chan struct{}, f func()) {
	for {
		f()
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestScrapeWhileChanging scrapes and asks while transcripts grow: every answer is
// whole, counters never fall, and in the end all is counted once.
func TestScrapeWhileChanging(t *testing.T) {
	t.Parallel()
	const sessions, replies, output = 12, 60, 7
	r := newRig(t)
	for i := range sessions {
		r.write(uuid(i), prompt(ago(time.Minute), fmt.Sprint("p", i), "go on"))
	}
	r.start()
	done := make(chan struct{})
	base := "http://" + r.tcp().String()
	var writers, askers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() { r.grow(w, sessions, 3, replies, output) })
	}
	for range 2 {
		last := map[string]float64{}
		askers.Go(func() {
			repeat(done, func() {
				values := scrapeOf(t, base)
				for name, v := range having(values, "agent_") {
					if strings.Contains(name, "_total") && v < last[name] {
						t.Errorf("%s fell from %v to %v", name, last[name], v)
					}
				}
				last = values
			})
		})
		askers.Go(func() {
			repeat(done, func() {
				if a, err := fetch(
					t.Context(),
					base+"/sessions",
				); err != nil || a.Code != 200 ||
					!strings.HasSuffix(a.Body, "}\n") {
					t.Errorf("%d, %v: %.80s", a.Code, err, a.Body)
				}
			})
		})
	}
	writers.Wait()
	want := map[string]float64{
		`agent_compactions_total{client="claude",trigger="auto"}`: sessions * replies / 20, `agent_tokens_total{client="claude",kind="output"}`: sessions * replies * output,
	}
	counted := func() map[string]float64 {
		got := r.scrape()
		maps.DeleteFunc(got, func(name string, _ float64) bool { _, asked := want[name]; return !asked })
		return got
	}
	r.until("all is counted", func() bool {
		got := counted()
		for name := range want {
			if got[name] < want[name] {
				return false
			}
		}
		return true
	})
	close(done)
	askers.Wait()
	if diff := cmp.Diff(want, counted()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r.stop()
}

func scrapeOf(t *testing.T, base string) map[string]float64 {
	a, err := fetch(t.Context(), base+"/metrics")
	if err != nil || a.Code != 200 {
		t.Errorf("%d, %v: %s", a.Code, err, a.Body)
		return nil
	}
	values, err := valuesOf(a.Body)
	if err != nil {
		t.Error(err)
	}
	return values
}

// connect opens connections that keep a server waiting: one that is silent, two with
// a part of a request, one that does not read its answer.
func connect(t *testing.T, a net.Addr) {
	t.Helper()
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(
			c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(
					int(fd),
					syscall.SOL_SOCKET,
					syscall.SO_RCVBUF,
					4096,
				)
			}),
			err,
		)
	}}
	host := a.String()
	if a.Network() == "unix" {
		host = "sm"
	}
	request := "GET /metrics HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
	for _, sent := range []string{"", "GET /metr", strings.TrimSuffix(request, "\r\n"), request} {
		c, err := small.Dial(a.Network(), a.String())
		noErrors(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, sent)
		noErrors(t, err)
		if sent == request {
			_, err = c.Read(make([]byte, 1)) // the answer is on its way
			noErrors(t, err)
		}
	}
}

// scrapeUntilStopped has an observer scraped by several at once until it answers no
// more, and returns when the first has been answered.
func scrapeUntilStopped(t *testing.T, base string) (wait func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var askers sync.WaitGroup
	answered := make(chan struct{}, 1)
	for range 4 {
		askers.Go(func() {
			for ctx.Err() == nil {
				a, err := fetch(ctx, base+"/metrics")
				if err != nil {
					return // it has stopped
				}
				if a.Code != 200 && a.Code != 503 {
					t.Errorf("%d: %s", a.Code, a.Body)
				}
				select {
				case answered <- struct{}{}:
				default:
				}
			}
		})
	}
	select {
	case <-answered:
	case <-time.After(patience):
		t.Error("no answer")
	}
	return func() { cancel(); askers.Wait() }
}

// TestStopUnderLoad: neither scrapes nor peers that hold connections open keep an
// observer from stopping in good order, and soon.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 400 { // more than the system keeps for who does not read
		r.write(uuid(i), reply(ago(time.Minute), fmt.Sprint("m", i), 50_000, 1))
	}
	r.start()
	wait := scrapeUntilStopped(t, "http://"+r.tcp().String())
	for _, a := range r.app.Addrs() {
		connect(t, a)
	}
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(func() {
			// The timeout cuts off a stop that waits for ever, and reports it.
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := r.app.Stop(ctx); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	stops.Wait()
	wait()
	if _, err := os.Lstat(r.o.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	r.start()
	if n := len(having(r.scrape(), "agent_session_info")); n != 400 {
		t.Errorf("after a restart there are %d sessions, want 400", n)
	}
	r.stop()
}

// TestStopEarly: an observer may be stopped at any time of its life.
func TestStopEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i := range 50 {
		r.write(uuid(i), reply(ago(time.Minute), fmt.Sprint("m", i), 50_000, 1))
	}
	for _, start := range []bool{false, true} {
		app, err := New(t.Context(), r.o)
		noErrors(t, err)
		if start {
			app.Start()
		}
		noErrors(t, app.Stop(t.Context()), app.Stop(t.Context()))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	noErrors(t, Run(ctx, r.o, func(*App) { cancel(errors.New("enough")) }))
	r.start()
	if n := len(having(r.scrape(), "agent_session_info")); n != 50 {
		t.Errorf("%d sessions, want 50", n)
	}
	r.stop()
}

// TestRunFails: an observer whose lock has been taken away ends by itself.
func TestRunFails(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	want := errors.New("a part has failed")
	err := Run(t.Context(), r.o, func(a *App) {
		<-a.Ready()
		a.fail(want)
		a.fail(errors.New("another one, too late"))
	})
	if !errors.Is(err, want) {
		t.Errorf("run ends with %v", err)
	}
}

// TestNewFails: what cannot be had is said, and all that was taken is given back.
func TestNewFails(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	defer taken.Close()
	for _, tc := range []struct {
		name   string
		change func(r *rig)
		want   []string
	}{
		{
			"address",
			func(r *rig) { r.o.Listen = append(r.o.Listen, taken.Addr().String()) },
			[]string{taken.Addr().String(), "already in use", "set listen"},
		},
		{
			"metrics address",
			func(r *rig) { r.o.MetricsListen = taken.Addr().String() },
			[]string{taken.Addr().String(), "in use", "set metrics.listen"},
		},
		{"web config", func(r *rig) {
			r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "none.yaml")
		}, []string{"none.yaml", "see metrics.web_config_file"}},
		{"a FIFO for a web config", func(r *rig) {
			r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "web.fifo")
			noErrors(t, syscall.Mkfifo(r.o.WebConfigFile, 0o600))
		}, []string{"web.fifo", "not a regular file"}},
		{"a FIFO for a certificate", func(r *rig) {
			r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "web.yaml")
			text := []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n")
			noErrors(
				t,
				os.WriteFile(r.o.WebConfigFile, text, 0o600),
				syscall.Mkfifo(filepath.Join(r.dir, "cert.pem"), 0o600),
			)
		}, []string{"cert.pem", "not a regular file"}},
		{"a password for a key", func(r *rig) {
			r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "web.yaml")
			noErrors(t, os.WriteFile(r.o.WebConfigFile, []byte("hunter2: 1\n"), 0o600))
		}, []string{"line 1: field … not found", "see metrics.web_config_file"}},
		{"socket", func(r *rig) { r.o.Socket = "sm.sock" }, []string{"not an absolute path"}},
		{"state", func(r *rig) {
			noErrors(t, os.WriteFile(filepath.Join(r.dir, "file"), nil, 0o600))
			r.o.State = filepath.Join(r.dir, "file")
		}, []string{"file"}},
		{
			"socket's folder",
			func(r *rig) { r.o.Socket = filepath.Join(r.o.State, "x", strings.Repeat("y", 200)) },
			[]string{"set socket"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t)
			free, err := net.Listen("tcp", "127.0.0.1:0")
			noErrors(t, err, free.Close())
			r.o.Listen = []string{free.Addr().String()}
			good := r.o
			tc.change(r)
			app, err := New(t.Context(), r.o)
			if err == nil {
				t.Fatal(errors.Join(errors.New("no error"), app.Stop(t.Context())))
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
			if _, err := os.Lstat(good.Socket); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the socket is left: %v", err)
			}
			app, err = New(t.Context(), good) // the lock and the addresses are free
			noErrors(t, err)
			if _, err := New(
				t.Context(),
				good,
			); err == nil ||
				!strings.Contains(err.Error(), "in use by the observer with pid") {
				t.Errorf("a second observer: %v", err)
			}
			noErrors(t, app.Stop(t.Context()))
		})
	}
}
