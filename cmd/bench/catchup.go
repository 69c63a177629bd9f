package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sm/transcript/transcripttest"
)

// large makes the large corpus, unless an earlier run has left it.
func (b *bench) large() (files []string, bytes int64, err error) { return b.made("large", "-generate") }

// dense makes the corpus of short lines in the same way.
func (b *bench) dense() (files []string, bytes int64, err error) {
	return b.made("dense", "-generate-dense")
}

func (b *bench) made(name, flag string) (files []string, bytes int64, err error) {
	b.corpus = filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, b.bytes))
	if _, err := os.Stat(b.corpus); errors.Is(err, fs.ErrNotExist) {
		// In a process of its own: a child's largest resident set includes that of
		// its parent at the fork.
		self, err := os.Executable()
		if err != nil {
			return nil, 0, err
		}
		if out, err := exec.Command(self, flag, b.corpus, "-mb", fmt.Sprint(b.bytes/1_000_000)).CombinedOutput(); err != nil {
			return nil, 0, fmt.Errorf("generate: %w: %s", err, out)
		}
	}
	err = filepath.WalkDir(b.corpus, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".jsonl") {
			info, err := d.Info()
			if err != nil {
				return err
			}
			files, bytes = append(files, path), bytes+info.Size()
		}
		return err
	})
	return files, bytes, err
}

// generate writes the large corpus.
func generate(dir string, bytes int64) error {
	_, err := transcripttest.Generate(dir, transcripttest.Options{Seed: 1, Bytes: bytes, Subagents: true, GoSources: true})
	return err
}

// contender is one command of the comparison.
type contender struct {
	name string
	argv []string
	once bool // too slow for more than one run
	cpu  []float64
	rss  int64
	wall []time.Duration
}

// inTurn runs commands again and again. One that is not on this machine has no figures.
func (b *bench) inTurn(ctx context.Context, list []*contender) error {
	for round := range b.runs + 1 {
		for _, c := range list {
			if c.once && round > 1 {
				continue
			}
			x, err := finish(ctx, b.dir, c.argv[0], c.argv[1:]...)
			switch {
			case errors.Is(err, exec.ErrNotFound):
			case err != nil:
				return err
			case round > 0: // the first warms the cache
				c.cpu, c.wall, c.rss = append(c.cpu, x.cpu.Seconds()), append(c.wall, x.wall), max(c.rss, x.rss)
			}
		}
	}
	return nil
}

// catchUp compares reading everything with what others take for less.
func (b *bench) catchUp(ctx context.Context) error {
	files, bytes, err := b.large()
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "%d files, %.3f GB, page cache warm, medians of %d runs in turn\n", len(files), float64(bytes)/1e9, b.runs)
	on := func(argv ...string) []string { return append(argv, files...) }
	list := []*contender{
		{name: "sm scan", argv: []string{b.sm, "scan", "--json", b.corpus}},
		{name: "cat", argv: on("cat")},
		{name: "wc -l", argv: on("wc", "-l")},
		{name: `grep -c '"usage"'`, argv: on("grep", "-c", `"usage"`)},
		{name: "jq", argv: on("jq", "-c", `select(.type=="assistant") | .message.usage.input_tokens`), once: true},
	}
	if b.peers {
		cc, err := b.ccusage(ctx)
		if err != nil {
			return err
		}
		list = append(list, cc)
	}
	if err := b.inTurn(ctx, list); err != nil {
		return err
	}
	first, err := b.firstStart(ctx)
	if err != nil {
		return err
	}
	b.compare(append(list, first), float64(bytes)/1e9)
	return nil
}

// firstStart measures an observer that meets the corpus for the first time.
func (b *bench) firstStart(ctx context.Context) (*contender, error) {
	c := &contender{name: "sm observe, first start, until ready"}
	for range b.runs {
		state, err := os.MkdirTemp(b.dir, "state")
		if err != nil {
			return nil, err
		}
		o, err := b.observe(ctx, b.corpus, state)
		if err != nil {
			return nil, err
		}
		wall, err := o.ready(ctx)
		if err != nil {
			return nil, err
		}
		c.cpu, c.wall, c.rss = append(c.cpu, o.cpu().Seconds()), append(c.wall, wall), max(c.rss, o.memory("VmHWM"))
		if err := errors.Join(o.stop(), os.RemoveAll(state)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (b *bench) compare(list []*contender, gb float64) {
	ours := median(list[0].cpu)
	fmt.Fprintf(b.out, "%-38s %10s %10s %10s %12s\n", "", "CPU s/GB", "wall s", "RSS MB", "sm scan/it")
	for _, c := range list {
		if len(c.cpu) == 0 {
			fmt.Fprintf(b.out, "%-38s not on this machine\n", c.name)
			continue
		}
		cpu := median(c.cpu)
		fmt.Fprintf(b.out, "%-38s %10.3f %10.2f %10.1f %12.2f\n", c.name, cpu/gb, median(c.wall).Seconds(), float64(c.rss)/1e6, ours/cpu)
	}
	if grep := list[3]; len(grep.cpu) > 0 {
		b.figure("catch-up CPU, to grep -c", fmt.Sprintf("%.2f", ours/median(grep.cpu)), "1.2", "1.0")
		b.figure("same, by the clock", fmt.Sprintf("%.2f", median(list[0].wall).Seconds()/median(grep.wall).Seconds()), "0.7", "–")
	}
	for _, c := range list {
		if c.name == "ccusage" && len(c.cpu) > 0 {
			b.figure("catch-up CPU, ccusage to ours", fmt.Sprintf("%.1f x", median(c.cpu)/ours), "8 x", "12 x")
		}
	}
	b.figure("catch-up RSS, sm scan", fmt.Sprintf("%.1f MB", float64(list[0].rss)/1e6), "64 MB", "32 MB")
}

// ccusage fetches the program once, and has it read the corpus offline.
func (b *bench) ccusage(ctx context.Context) (*contender, error) {
	dir := filepath.Join(b.dir, "ccusage")
	bin := filepath.Join(dir, "node_modules", ".bin", "ccusage")
	if _, err := os.Stat(bin); err != nil {
		// Not the newest: it has no package for every platform.
		out, err := exec.CommandContext(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "ccusage@20.0.24").CombinedOutput()
		if err != nil {
			return nil, fmt.Errorf("fetch ccusage: %w: %s", err, out)
		}
	}
	home := filepath.Join(b.dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	link := filepath.Join(home, "projects")
	if err := errors.Join(os.RemoveAll(link), os.Symlink(b.corpus, link)); err != nil {
		return nil, err
	}
	return &contender{name: "ccusage", argv: []string{"env", "CLAUDE_CONFIG_DIR=" + home, bin, "daily", "--offline", "--json"}}, nil
}
