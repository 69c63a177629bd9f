package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
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
	b.figure(
		"catch-up CPU",
		fmt.Sprintf("%.2f s/GB", took[0].Seconds()/float64(b.bytes)*1e9),
		"",
	)

	took, err = b.inTurn(ctx, [][]string{
		{b.sm, "scan", "--json", large},
		{b.sm, "report", "--json", large},
		{b.sm, "replay", "--grid", "--json", large},
	})
	if err != nil {
		return err
	}
	b.figure("report CPU, to scan", ratio(took[1], took[0]), "2")
	b.figure("replay --grid CPU, to scan", ratio(took[2], took[0]), "2")
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
