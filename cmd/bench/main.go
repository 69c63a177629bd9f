// Command bench measures what sm promises to be fast at.
//
// Commands of one comparison run in turn, several times, and the figure is the
// median: quote the ratios. CPU is user and system time.
//
// It prints each figure beside its limit and judges none. It starts observers of
// its own and stops them, and it connects to nothing else.
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

	"sm/transcript/transcripttest"
)

// bench is one run of the command.
type bench struct {
	sm    string // the binary under test
	dir   string // for transcripts and state
	bytes int64  // size of a corpus
	files int    // known transcripts of the crowd
	live  int    // the part of it that is written
	runs  int
	out   io.Writer
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

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	b := &bench{out: out}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&b.sm, "sm", "bin/sm", "the binary under test")
	mb := flags.Int64("mb", 1000, "size of a corpus in MB")
	flags.IntVar(&b.files, "files", 10_000, "known transcripts")
	flags.IntVar(&b.live, "live", 300, "live ones among them")
	flags.IntVar(&b.runs, "runs", 5, "runs of each command")
	into := flags.String("generate", "", "only write a corpus into this folder")
	only := flags.String("only", "", "parts to run, of live,read,restart,hook")
	if err := flags.Parse(args); err != nil {
		return err
	}

	b.bytes = *mb * 1_000_000
	if *into != "" {
		return generate(*into, b.bytes)
	}
	if b.sm, err = filepath.Abs(b.sm); err != nil {
		return err
	}

	// All files stay until the end: ext4 looks at each file that was removed in the
	// last minutes whenever one is made beside it, and a part would measure that.
	if b.dir, err = os.MkdirTemp("", "smbench"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()

	// The part that suffers most from what others have written comes first.
	parts := []struct {
		name    string
		measure func(context.Context) error
	}{
		{"live", b.measureLive},
		{"read", b.measureReading},
		{"restart", b.measureRestart},
		{"hook", b.measureHook},
	}
	for _, p := range parts {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
			continue
		}
		fmt.Fprintf(out, "\n== %s\n", p.name)
		if err := p.measure(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// generate writes transcripts of the sizes and the mix that long use leaves behind.
func generate(dir string, bytes int64) error {
	_, err := transcripttest.Generate(dir, transcripttest.Options{
		Seed:      1,
		Bytes:     bytes,
		Subagents: true,
	})
	return err
}

// figure prints a figure with its limit, "" for none.
func (b *bench) figure(name, value, limit string) {
	if limit != "" {
		limit = "  (at most " + limit + ")"
	}
	fmt.Fprintf(b.out, "%-58s %s%s\n", name, value, limit)
}
