package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measureReading compares a scan with grep, and a report with a scan.
func (b *bench) measureReading(ctx context.Context) error {
	large := filepath.Join(b.dir, "large")
	if err := generate(large, b.bytes); err != nil {
		return err
	}
	files, err := transcripts(large)
	if err != nil {
		return err
	}

	grep := append([]string{"grep", "-c", `"usage"`}, files...)
	took, err := b.inTurn(ctx, [][]string{{b.sm, "scan", "--json", large}, grep})
	if err != nil {
		return err
	}
	b.figure("catch-up CPU, to grep -c", ratio(took[0], took[1]), "1.4")
	b.figure("catch-up CPU", fmt.Sprintf("%.2f s/GB", took[0].Seconds()/float64(b.bytes)*1e9), "")

	short := filepath.Join(b.dir, "short")
	if err := generateShort(short, b.bytes); err != nil {
		return err
	}
	for _, dir := range []string{large, short} {
		took, err := b.inTurn(ctx, [][]string{
			{b.sm, "scan", "--json", dir},
			{b.sm, "report", "--json", dir},
			{b.sm, "replay", "--grid", "--json", dir},
		})
		if err != nil {
			return err
		}
		name := filepath.Base(dir)
		b.figure("report CPU, to scan, "+name+" lines", ratio(took[1], took[0]), "2")
		b.figure("replay --grid CPU, to scan, "+name+" lines", ratio(took[2], took[0]), "2")
	}
	return nil
}

func ratio(a, b time.Duration) string { return fmt.Sprintf("%.2f", a.Seconds()/b.Seconds()) }

func transcripts(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".jsonl") {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// inTurn runs commands again and again, and returns the CPU time of each. A first
// round fills the page cache.
func (b *bench) inTurn(ctx context.Context, commands [][]string) ([]time.Duration, error) {
	took := make([][]time.Duration, len(commands))
	for round := range b.runs + 1 {
		for i, argv := range commands {
			cpu, err := b.finish(ctx, argv)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				took[i] = append(took[i], cpu)
			}
		}
	}

	medians := make([]time.Duration, len(commands))
	for i := range took {
		medians[i] = quantile(took[i], 0.5)
	}
	return medians, nil
}

// finish runs a command to its end and returns its CPU time. The output goes to a
// file: GNU grep stops at the first match when it is /dev/null.
func (b *bench) finish(ctx context.Context, argv []string) (time.Duration, error) {
	output, err := os.Create(filepath.Join(b.dir, "output"))
	if err != nil {
		return 0, err
	}
	defer output.Close()

	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout = output
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", argv[0], err, stderr.String())
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// quantile sorts the list.
func quantile(list []time.Duration, q float64) time.Duration {
	slices.Sort(list)
	return list[min(len(list)-1, int(q*float64(len(list))))]
}

// generateShort writes transcripts whose lines have some 600 bytes, a fraction of
// those of the large corpus: a report remembers each record.
func generateShort(dir string, bytes int64) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := 0; bytes > 0; n++ {
		var text strings.Builder
		at := time.Date(2026, 1, 1+n%300, n%24, 0, 0, 0, time.UTC)
		write := func(format string, args ...any) {
			at = at.Add(time.Duration(1+rng.IntN(9000)) * time.Millisecond)
			fmt.Fprintf(&text, `{"parentUuid":"%016x","cwd":"/home/dev/web","sessionId":"%s","version":"2.1.44","uuid":"%016x","timestamp":"%s",`,
				rng.Uint64(), sessionID(n), rng.Uint64(), at.Format("2006-01-02T15:04:05.000Z"))
			fmt.Fprintf(&text, format+"}\n", args...)
		}

		size := 20_000
		for text.Len() < 2<<20 {
			write(`"type":"user","message":{"role":"user","content":"go on"}`)
			for range 1 + rng.IntN(8) {
				size += 200 + rng.IntN(2500)
				message := rng.Uint64()
				for range 3 {
					write(`"type":"assistant","message":{"id":"msg_%x","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"%s"}],`+
						`"usage":{"input_tokens":3,"cache_creation_input_tokens":500,"cache_read_input_tokens":%d,"output_tokens":50}}`,
						message, words(rng.IntN(10)), size)
				}
				write(
					`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"%s"}]}`,
					words(rng.IntN(32)),
				)
			}
			if size > 165_000 {
				write(
					`"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":%d}`,
					size,
				)
				write(`"type":"user","isCompactSummary":true,"message":{"role":"user","content":"%s"}`, words(160))
				size = 35_000 + rng.IntN(20_000)
			}
		}
		if err := appendTo(transcriptPath(dir, n), text.String()); err != nil {
			return err
		}
		bytes -= int64(text.Len())
	}
	return nil
}

func words(n int) string { return strings.Repeat("lorem ipsum ", 1+n) }
