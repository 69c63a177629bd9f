package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// line is a reply of about 2 KB, the size of a real one.
func line(at time.Time, n int, tokens int) string {
	return fmt.Sprintf(`{"isSidechain":false,"message":{"model":"claude-sonnet-4-5","id":"msg_%d","role":"assistant",`+
		`"content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":8,"cache_creation_input_tokens":0,`+
		`"cache_read_input_tokens":%d,"output_tokens":12}},"type":"assistant","uuid":"%08d-0000-4000-8000-000000000000",`+
		`"timestamp":"%s","cwd":"/home/dev/proj","version":"2.1.197"}`+"\n",
		n, strings.Repeat(
			`words and more words\n`,
			90,
		), tokens-8, n, at.UTC().Format("2006-01-02T15:04:05.000Z"))
}

func sessionID(i int) string { return fmt.Sprintf("%08d-1111-4111-8111-111111111111", i) }

func transcriptPath(projects string, i int) string {
	return filepath.Join(projects, fmt.Sprintf("-home-dev-p%d", i%200), sessionID(i)+".jsonl")
}

func appendTo(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// crowd writes transcripts of ten lines below dir/projects. All but the first
// live ones are a week old.
func crowd(dir string, files, live int) (paths []string, err error) {
	for i := range files {
		at := time.Now()
		if i >= live {
			at = at.Add(-7 * 24 * time.Hour)
		}
		var text strings.Builder
		for k := range 10 {
			text.WriteString(line(at, i*10+k, 1000+k))
		}

		path := transcriptPath(filepath.Join(dir, "projects"), i)
		if err := errors.Join(
			appendTo(path, text.String()),
			os.Chtimes(path, at, at),
		); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func (o *observer) untilLive(ctx context.Context, files int) error {
	want := fmt.Sprintf(`sm_transcripts{state="live"} %d`, files)
	return o.until(
		ctx,
		"/metrics",
		func(body string) bool { return strings.Contains(body, want) },
	)
}

// measureRestart measures a start over a known crowd, then memory and idle CPU
// with a part of it live.
func (b *bench) measureRestart(ctx context.Context) error {
	dir := filepath.Join(b.dir, "crowd")
	paths, err := crowd(dir, b.files, 0)
	if err != nil {
		return err
	}

	o, err := b.observe(ctx, dir)
	if err != nil {
		return err
	}
	var took []time.Duration
	for range b.runs {
		if err := o.stop(); err != nil {
			return err
		}
		if o, err = b.observe(ctx, dir); err != nil {
			return err
		}
		took = append(took, o.took)
	}
	b.figure(
		fmt.Sprintf("restart, %d known transcripts", b.files),
		milliseconds(quantile(took, 0.5)),
		"150 ms",
	)

	for i, path := range paths[:b.live] {
		if err := appendTo(path, line(time.Now(), 1_000_000+i, 2000)); err != nil {
			return err
		}
	}
	if err := o.untilLive(ctx, b.live); err != nil {
		return err
	}
	wait(ctx, 3*time.Second) // state is stored and garbage collected
	b.figure(
		fmt.Sprintf("RSS, %d known, %d live", b.files, b.live),
		fmt.Sprintf("%.1f MB", o.rss()),
		"60 MB",
	)

	const idle = 30 * time.Second
	before := o.cpu()
	wait(ctx, idle)
	b.figure(fmt.Sprintf("idle CPU, %d live", b.live), share(o.cpu()-before, idle), "0.4 %")
	return o.stop()
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }

func share(cpu, passed time.Duration) string {
	return fmt.Sprintf("%.2f %% of a core", 100*cpu.Seconds()/passed.Seconds())
}

// measureLive writes a thousand lines a second to 900 live files, and measures
// how soon single lines in a hundred others are visible.
func (b *bench) measureLive(ctx context.Context) error {
	const files, probes, rate = 1000, 100, 1000
	dir := filepath.Join(b.dir, "live")
	paths, err := crowd(dir, files, files)
	if err != nil {
		return err
	}
	o, err := b.observe(ctx, dir)
	if err != nil {
		return err
	}
	if err := o.untilLive(ctx, files); err != nil {
		return err
	}

	load, end := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { appendSteadily(load, paths[probes:], rate) })
	wait(ctx, 3*time.Second) // each file has had a line then

	start := time.Now()
	before := o.cpu()
	took, err := o.probe(ctx, paths[:probes])
	cpu := o.cpu() - before
	passed := time.Since(start)
	end()
	writer.Wait()
	if err != nil {
		return err
	}

	b.figure("append to visible at 1000 lines/s, p50", milliseconds(quantile(took, 0.5)), "")
	b.figure(
		"append to visible at 1000 lines/s, p99",
		milliseconds(quantile(took, 0.99)),
		"6 ms",
	)
	b.figure("CPU at 1000 lines/s, probes included", share(cpu, passed), "25 %")
	return o.stop()
}

// appendSteadily appends a number of lines a second to files in turn, until ctx
// ends. Each context grows by 40 tokens with each line, so that its forecast is
// made anew. A ticker drops what its reader is late for, so lines are counted by
// the clock.
func appendSteadily(ctx context.Context, paths []string, rate int) {
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()

	start := time.Now()
	for n := 0; ctx.Err() == nil; <-tick.C {
		for ; n < int(time.Since(start).Seconds()*float64(rate)); n++ {
			if appendTo(
				paths[n%len(paths)],
				line(time.Now(), 2_000_000+n, 3000+40*(n/len(paths))),
			) != nil {
				return
			}
		}
	}
}

// probe appends lines with a size of their own, and measures how long each takes
// to be visible.
func (o *observer) probe(
	ctx context.Context,
	paths []string,
) (took []time.Duration, err error) {
	for i := range 400 {
		k := rand.IntN(len(paths))
		want := fmt.Sprintf(`"tokens_used":%d,`, 10_000+i)

		start := time.Now()
		if err := appendTo(paths[k], line(start, 5_000_000+i, 10_000+i)); err != nil {
			return nil, err
		}
		err := o.until(ctx, "/sessions/"+sessionID(k), func(body string) bool {
			return strings.Contains(strings.ReplaceAll(body, " ", ""), want)
		})
		if err != nil {
			return nil, err
		}
		took = append(took, time.Since(start))
		wait(ctx, time.Duration(rand.IntN(10))*time.Millisecond)
	}
	return took, nil
}
