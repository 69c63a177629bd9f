package observer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// grow appends replies with this output in tokens to the transcripts of sessions from,
// from+step, … below to, and a compaction after every 20th.
func (r *rig) grow(from, to, step, replies, output int) {
	for n := range replies {
		for i := from; i < to; i += step {
			r.write(uuid(i), reply(ago(0), fmt.Sprint("m", i, "-", n), 1000+n, output))
			if n%20 == 19 {
				r.write(
					uuid(i),
					boundary(ago(0), fmt.Sprint("b", i, "-", n), "auto", 1000*i+n),
				)
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

// TestScrapeWhileChanging tests with requests while transcripts grow that every answer is
// complete, that counters never fall, and that in the end all is counted once.
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
		maps.DeleteFunc(
			got,
			func(name string, _ float64) bool { _, asked := want[name]; return !asked },
		)
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

// TestStopEarly tests that an observer can be stopped at any time.
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
}

// TestRunFails tests that an observer whose lock was taken away ends.
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
