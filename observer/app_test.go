package observer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestScrapeWhileChanging scrapes and asks while transcripts grow: every answer is
// whole, counters never fall, and in the end all is counted once.
func TestScrapeWhileChanging(t *testing.T) {
	checkAppLeaks(t)
	const sessions, replies, output = 12, 60, 7
	r := newRig(t)
	for i := range sessions {
		r.write(uuid(i), prompt(ago(time.Minute), fmt.Sprint("p", i), "go on"))
	}
	r.start()
	writing, done := make(chan struct{}), make(chan struct{})
	var writers, askers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for n := range replies {
				for i := w; i < sessions; i += 3 {
					appendLines(t, r.transcript(uuid(i)), reply(ago(0), fmt.Sprint("m", i, "-", n), 1000+n, output))
					if n%20 == 19 {
						appendLines(t, r.transcript(uuid(i)), boundary(ago(0), fmt.Sprint("b", i, "-", n), "auto", 1000*i+n))
					}
				}
				if n == 0 && w == 0 {
					close(writing)
				}
			}
		})
	}
	<-writing
	base := "http://" + r.tcp().String()
	for range 2 {
		askers.Go(func() {
			last := map[string]float64{}
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true
				default:
				}
				values := scrapeOf(t, base)
				for name, v := range having(values, "claude_") {
					if strings.Contains(name, "_total") && v < last[name] {
						t.Errorf("%s fell from %v to %v", name, last[name], v)
					}
				}
				last = values
			}
		})
		askers.Go(func() {
			for ended := false; !ended; {
				select {
				case <-done:
					ended = true
				default:
				}
				if a, err := fetch(t.Context(), base+"/sessions"); err != nil || a.Code != 200 || !strings.HasSuffix(a.Body, "}\n") {
					t.Errorf("%d, %v: %.80s", a.Code, err, a.Body)
				}
			}
		})
	}
	writers.Wait()
	r.until("all is counted", func() bool {
		return r.scrape()[`claude_tokens_total{kind="output"}`] >= sessions*replies*output
	})
	close(done)
	askers.Wait()
	want := map[string]float64{
		`claude_compactions_total{trigger="auto"}`:   sessions * replies / 20,
		`claude_compactions_total{trigger="manual"}`: 0, `claude_compactions_total{trigger="unknown"}`: 0,
	}
	r.until("all compactions are counted", func() bool { return r.scrape()[`claude_compactions_total{trigger="auto"}`] >= 36 })
	if diff := cmp.Diff(want, having(r.scrape(), "claude_compactions_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.scrape()[`claude_tokens_total{kind="output"}`]; got != sessions*replies*output {
		t.Errorf("%v tokens of output, want %v", got, sessions*replies*output)
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

// connect opens connections that keep a server waiting: one that is silent, one with
// half a request, one that does not read its answer.
func connect(t *testing.T, a net.Addr) {
	t.Helper()
	for _, sent := range []string{
		"", "GET /metr", "GET /metrics HTTP/1.1\r\nHost: " + a.String() + "\r\n",
		strings.Repeat("GET /metrics HTTP/1.1\r\nHost: "+a.String()+"\r\n\r\n", 100),
	} {
		c, err := net.Dial(a.Network(), a.String())
		noErrors(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, sent)
		noErrors(t, err)
	}
}

// TestStopUnderLoad: neither scrapes nor peers that hold connections open keep an
// observer from stopping in good order, and soon.
func TestStopUnderLoad(t *testing.T) {
	checkAppLeaks(t)
	r := newRig(t)
	for i := range 200 {
		r.write(uuid(i), reply(ago(time.Minute), fmt.Sprint("m", i), 50_000, 1))
	}
	r.start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	base := "http://" + r.tcp().String()
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
	for _, a := range r.app.Addrs() {
		connect(t, a)
	}
	<-answered
	r.write(uuid(0), reply(ago(0), "last", 70_000, 1))
	r.until("it is read", func() bool {
		return r.scrape()[`claude_session_context_tokens{session="`+uuid(0)[:8]+`"}`] == 70_000
	})
	began := time.Now()
	var stops sync.WaitGroup
	for range 3 {
		stops.Go(func() {
			if err := r.app.Stop(context.Background()); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	stops.Wait()
	if took := time.Since(began); took > answerWithin+4*time.Second { // machines are busy
		t.Errorf("stopping took %v", took)
	}
	cancel()
	askers.Wait()
	if _, err := os.Lstat(r.o.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	r.start()
	if got := r.scrape()[`claude_session_context_tokens{session="`+uuid(0)[:8]+`"}`]; got != 70_000 {
		t.Errorf("after a restart the context is %v, want 70000", got)
	}
	r.stop()
}

// TestStopEarly: an observer may be stopped at any time of its life.
func TestStopEarly(t *testing.T) {
	checkAppLeaks(t)
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
	if n := len(having(r.scrape(), "claude_session_info")); n != 50 {
		t.Errorf("%d sessions, want 50", n)
	}
	r.stop()
}

// TestRunFails: an observer whose lock has been taken away ends by itself.
func TestRunFails(t *testing.T) {
	checkAppLeaks(t)
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
	checkAppLeaks(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	noErrors(t, err)
	defer taken.Close()
	for _, tc := range []struct {
		name   string
		change func(r *rig)
		want   []string
	}{
		{"address", func(r *rig) { r.o.Listen = append(r.o.Listen, taken.Addr().String()) }, []string{taken.Addr().String(), "already in use", "set listen"}},
		{"metrics address", func(r *rig) { r.o.MetricsListen = taken.Addr().String() }, []string{taken.Addr().String(), "in use", "set metrics.listen"}},
		{"web config", func(r *rig) {
			r.o.MetricsListen, r.o.WebConfigFile = "127.0.0.1:0", filepath.Join(r.dir, "none.yaml")
		}, []string{"none.yaml", "see metrics.web_config_file"}},
		{"socket", func(r *rig) { r.o.Socket = "sm.sock" }, []string{"not an absolute path"}},
		{"state", func(r *rig) {
			noErrors(t, os.WriteFile(filepath.Join(r.dir, "file"), nil, 0o600))
			r.o.State = filepath.Join(r.dir, "file")
		}, []string{"file"}},
		{"socket's folder", func(r *rig) { r.o.Socket = filepath.Join(r.o.State, "x", strings.Repeat("y", 200)) }, []string{"set socket"}},
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
			if _, err := New(t.Context(), good); err == nil || !strings.Contains(err.Error(), "in use by the observer with pid") {
				t.Errorf("a second observer: %v", err)
			}
			noErrors(t, app.Stop(t.Context()))
		})
	}
}
