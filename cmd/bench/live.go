package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// line is one reply of about 2 kB, the size of a real one, made just now.
func line(n int, tokens int) string { return lineAt(time.Now(), n, tokens) }

func lineAt(at time.Time, n int, tokens int) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"message":{"model":"claude-sonnet-4-5","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":8,"cache_creation_input_tokens":0,"cache_read_input_tokens":%d,"output_tokens":12}},"type":"assistant","uuid":"%08d-0000-4000-8000-000000000000","timestamp":"%s","cwd":"/home/dev/proj","version":"2.1.197"}`+"\n",
		n, strings.Repeat("words and more words\\n", 90), tokens-8, n, at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

func sessionID(i int) string { return fmt.Sprintf("%08d-1111-4111-8111-111111111111", i) }

// crowd writes many transcripts of some ten lines; all but the first live ones have
// been quiet for a week.
func (b *bench) crowd(dir string, files, live int) ([]string, error) {
	paths := make([]string, files)
	old := time.Now().Add(-7 * 24 * time.Hour)
	for i := range files {
		project := filepath.Join(dir, fmt.Sprintf("-home-dev-p%d", i%200))
		if err := os.MkdirAll(project, 0o700); err != nil {
			return nil, err
		}
		paths[i] = filepath.Join(project, sessionID(i)+".jsonl")
		var text strings.Builder
		at := time.Now()
		if i >= live {
			at = old
		}
		for k := range 10 {
			text.WriteString(lineAt(at, i*10+k, 1000+k))
		}
		if err := os.WriteFile(paths[i], []byte(text.String()), 0o600); err != nil {
			return nil, err
		}
		if i >= live {
			if err := os.Chtimes(paths[i], old, old); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}

// restart measures a start over a known crowd, then memory and idle CPU with part
// of it live.
func (b *bench) restart(ctx context.Context) error {
	dir, state, err := b.place("crowd")
	if err != nil {
		return err
	}
	paths, err := b.crowd(filepath.Join(dir, "projects"), b.files, 0)
	if err != nil {
		return err
	}
	start := func() (*observer, time.Duration, error) {
		o, err := b.observe(ctx, filepath.Join(dir, "projects"), state)
		if err != nil {
			return nil, 0, err
		}
		took, err := o.ready(ctx)
		return o, took, err
	}
	o, first, err := start()
	if err != nil {
		return err
	}
	b.figure(fmt.Sprintf("first start, %d small transcripts", b.files), first.Round(time.Millisecond).String(), "", "")
	var took []time.Duration
	for range b.runs {
		if err := o.stop(); err != nil {
			return err
		}
		var t time.Duration
		if o, t, err = start(); err != nil {
			return err
		}
		took = append(took, t)
	}
	b.figure(fmt.Sprintf("restart, %d known transcripts, until ready", b.files), median(took).Round(time.Millisecond).String(), "200ms", "50ms")
	parked := o.memory("VmRSS")
	b.figure("RSS, all parked", fmt.Sprintf("%.1f MB", float64(parked)/1e6), "", "")
	return errors.Join(b.alive(ctx, o, paths, parked), o.stop())
}

// alive wakes part of the crowd, and measures what that costs and what it costs to
// wait.
func (b *bench) alive(ctx context.Context, o *observer, paths []string, parked int64) error {
	for i, path := range paths[:b.live] {
		if err := appendTo(path, line(1_000_000+i, 2000)); err != nil {
			return err
		}
	}
	if err := o.until(ctx, func(m string) bool {
		return strings.Contains(m, fmt.Sprintf(`sm_transcripts{state="live"} %d`, b.live))
	}); err != nil {
		return err
	}
	wait(ctx, 3*time.Second) // for the state to be stored and garbage to be collected
	rss := o.memory("VmRSS")
	b.figure(fmt.Sprintf("RSS, %d known, %d live", b.files, b.live), fmt.Sprintf("%.1f MB", float64(rss)/1e6), "48 MB", "40 MB")
	b.figure("RSS for each live one", fmt.Sprintf("%.1f KB", float64(rss-parked)/float64(b.live)/1024), "32 KB", "–")
	before, passed := o.cpu(), 30*time.Second
	wait(ctx, passed)
	b.figure(fmt.Sprintf("idle CPU, %d live", b.live), fmt.Sprintf("%.2f %% of a core", 100*(o.cpu()-before).Seconds()/passed.Seconds()), "0.3 %", "0.1 %")
	return nil
}

// place makes folders for a part, which stay until all parts have been measured: ext4 looks at each file that was removed
// in the last minutes whenever one is made beside it, and after ten thousand that is what a part would measure.
func (b *bench) place(name string) (dir, state string, err error) {
	dir = filepath.Join(b.dir, name)
	b.places = append(b.places, dir)
	state = filepath.Join(dir, "state")
	return dir, state, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700))
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// until asks for the metrics until they hold.
func (o *observer) until(ctx context.Context, holds func(metrics string) bool) error {
	deadline := time.Now().Add(time.Minute)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		if body, err := o.get("/metrics"); err == nil && holds(body) {
			return nil
		}
		wait(ctx, 20*time.Millisecond)
	}
	return errors.New("the observer does not come to see it")
}

func (o *observer) get(path string) (string, error) {
	resp, err := o.http.Get("http://localhost" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return string(body), err
}

// latency writes a thousand lines a second to a thousand live files, and looks how
// soon single ones of them show. What it asks is the state that /metrics is made
// of, one session at a time.
func (b *bench) latency(ctx context.Context) error {
	const files, rate, probes = 1000, 1000, 400
	dir, state, err := b.place("live")
	if err != nil {
		return err
	}
	paths, err := b.crowd(filepath.Join(dir, "projects"), files, files)
	if err != nil {
		return err
	}
	o, err := b.observe(ctx, filepath.Join(dir, "projects"), state)
	if err != nil {
		return err
	}
	if _, err = o.ready(ctx); err != nil {
		return err
	}
	if err := o.until(ctx, func(m string) bool { return strings.Contains(m, fmt.Sprintf(`sm_transcripts{state="live"} %d`, files)) }); err != nil {
		return err
	}
	load, end := context.WithCancel(ctx)
	var writer sync.WaitGroup
	var lines atomic.Int64
	writer.Go(func() { appendSteadily(load, paths[100:], rate, &lines) }) // the first hundred are the probes'
	wait(ctx, 3*time.Second)                                              // each file has had a line by then, and so each agent both of its level files
	before, written, start := o.cpu(), lines.Load(), time.Now()
	took, err := probe(ctx, o, paths[:100], probes)
	passed := time.Since(start).Seconds()
	cpu := (o.cpu() - before).Seconds() / passed
	written = lines.Load() - written
	end()
	writer.Wait()
	if err == nil {
		slices.Sort(took)
		b.figure("append to visible, 1000 live files, 1000 lines/s, p50", micros(quantile(took, 0.5)), "1ms", "–")
		b.figure("same, p99", micros(quantile(took, 0.99)), "5ms", "1ms")
		b.figure("same, largest of all", micros(took[len(took)-1]), "1.5s", "–")
		b.figure("CPU under that load, probes included", fmt.Sprintf("%.1f %% of a core", 100*cpu), "20 %", "–")
		b.figure("lines that were really written then", fmt.Sprintf("%.0f /s", float64(written)/passed), "", "")
		err = b.births(ctx, o, filepath.Join(dir, "projects"))
	}
	return errors.Join(err, o.stop())
}

// appendSteadily appends a number of lines a second to files in turn, until ctx ends, and counts them. Each context grows
// by 40 tokens with each line, so that its forecast is made anew, and its level file about every fiftieth time. What it was
// too late for follows at once: a ticker drops what its reader has no time for.
func appendSteadily(ctx context.Context, paths []string, rate int, lines *atomic.Int64) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for n, start := 0, time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for ; n < int(now.Sub(start).Seconds()*float64(rate)); n++ {
				if appendTo(paths[n%len(paths)], line(2_000_000+n, 3000+40*(n/len(paths)))) != nil {
					return
				}
				lines.Add(1)
			}
		}
	}
}

func micros(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// probe appends a line with a size of its own and asks for the session until it
// shows.
func probe(ctx context.Context, o *observer, paths []string, n int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, n)
	for i := range n {
		k := rand.IntN(len(paths))
		tokens := 10_000 + i
		start := time.Now()
		if err := appendTo(paths[k], line(5_000_000+i, tokens)); err != nil {
			return nil, err
		}
		if err := shows(ctx, o, sessionID(k), tokens); err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		wait(ctx, time.Duration(rand.IntN(10))*time.Millisecond)
	}
	return took, nil
}

func shows(ctx context.Context, o *observer, id string, tokens int) error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) && ctx.Err() == nil {
		body, err := o.get("/sessions/" + id)
		var s struct {
			Tokens *int `json:"tokens_used"`
		}
		if err == nil && json.Unmarshal([]byte(body), &s) == nil && s.Tokens != nil && *s.Tokens == tokens {
			return nil
		}
	}
	return fmt.Errorf("session %s never shows %d tokens", id, tokens)
}

// births appends to new files just while their tails start, where nxadm/tail may
// miss the append until the next one.
func (b *bench) births(ctx context.Context, o *observer, projects string) error {
	const births = 400
	took := make([]time.Duration, 0, births)
	for i := range births {
		id := 100_000 + i
		path := filepath.Join(projects, fmt.Sprintf("-home-dev-p%d", i%200), sessionID(id)+".jsonl")
		if err := appendTo(path, line(6_000_000+2*i, 100)); err != nil {
			return err
		}
		time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		start := time.Now()
		if err := errors.Join(appendTo(path, line(6_000_001+2*i, 200)), shows(ctx, o, sessionID(id), 200)); err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.figure(fmt.Sprintf("append while a tail starts, %d times, p50", births), micros(quantile(took, 0.5)), "", "")
	b.figure("same, largest of all, healed", micros(took[len(took)-1]), "1.5s", "–")
	return nil
}

// scrape measures /metrics with 500 sessions.
func (b *bench) scrape(ctx context.Context) error {
	dir, state, err := b.place("scrape")
	if err != nil {
		return err
	}
	if _, err := b.crowd(filepath.Join(dir, "projects"), 500, 500); err != nil {
		return err
	}
	o, err := b.observe(ctx, filepath.Join(dir, "projects"), state)
	if err != nil {
		return err
	}
	if _, err := o.ready(ctx); err != nil {
		return err
	}
	for _, encoding := range []string{"identity", "gzip"} {
		var took []time.Duration
		for range 50 {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/metrics", nil)
			if err != nil {
				return err
			}
			req.Header.Set("Accept-Encoding", encoding)
			start := time.Now()
			resp, err := o.http.Do(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if err != nil {
				return err
			}
			took = append(took, time.Since(start))
		}
		b.figure("scrape of 500 sessions, "+encoding, micros(median(took)), "10ms", "3ms")
	}
	return o.stop()
}
