// Command bench measures what sm promises to be fast at, on this machine and
// against the tools that it finds here.
//
// Ratios are what to quote: the commands of one comparison run in turn, several
// times, and the figure is the median. CPU is user and system time as the kernel
// accounts for a finished process; memory is the largest resident set.
//
// It decides nothing, passes or fails nothing: a figure beside its goal is for
// people to read. It ends what it starts, and talks to nobody but its own observer,
// over a Unix socket, or as a browser does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// bench is one run of the command.
type bench struct {
	sm     string // the binary under test
	dir    string // for corpora and state; removed at the end unless it was given
	bytes  int64  // size of the large corpus
	files  int    // transcripts of the crowd
	live   int    // of them, those that are written
	runs   int
	peers  bool // fetch ccusage through npm
	out    io.Writer
	corpus string
	places []string // folders of parts, removed at the end
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// part is one group of figures.
type part struct {
	name string
	do   func(*bench, context.Context) error
}

// parts are in the order in which they are measured: first the one that suffers most from what others write.
func parts() []part {
	return []part{{"live", (*bench).latency}, {"catchup", (*bench).catchUp}, {"report", (*bench).report}, {"restart", (*bench).restart}, {"scrape", (*bench).scrape}, {"hook", (*bench).hook}, {"page", (*bench).page}}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	b := &bench{out: out}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&b.sm, "sm", "bin/sm", "the binary under test")
	flags.StringVar(&b.dir, "dir", "", "where corpora go, and stay for the next run; a temporary folder by default")
	mb := flags.Int64("mb", 1000, "size of the large corpus in MB")
	flags.IntVar(&b.files, "files", 10_000, "known transcripts in the crowd")
	flags.IntVar(&b.live, "live", 300, "live ones among them")
	flags.IntVar(&b.runs, "runs", 5, "runs of each command")
	flags.BoolVar(&b.peers, "ccusage", false, "compare with ccusage, fetched through npm")
	into := flags.String("generate", "", "only write the large corpus into this folder")
	intoDense := flags.String("generate-dense", "", "only write a corpus of short lines into this folder")
	only := flags.String("only", "", "parts to run, of live,catchup,report,restart,scrape,hook,page")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.bytes = *mb * 1_000_000
	switch {
	case *into != "":
		return generate(*into, b.bytes)
	case *intoDense != "":
		return generateDense(*intoDense, b.bytes)
	}
	if b.sm, err = filepath.Abs(b.sm); err != nil {
		return err
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "smbench"); err != nil {
			return err
		}
		defer os.RemoveAll(b.dir)
	}
	defer func() {
		for _, dir := range b.places {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	for _, p := range parts() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
			continue
		}
		fmt.Fprintf(out, "\n== %s\n", p.name)
		if err := p.do(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// figure prints one figure with its goals.
func (b *bench) figure(name, value, reach, stretch string) {
	goal := ""
	if reach != "" {
		goal = fmt.Sprintf("  (reach %s, stretch %s)", reach, stretch)
	}
	fmt.Fprintf(b.out, "%-58s %s%s\n", name, value, goal)
}
