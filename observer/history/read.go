package history

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"sm/transcript"
	"sm/transcript/clients"
	"sm/transcript/follow"
)

// Options are the options of reading.
type Options struct {
	Logger  *slog.Logger // of files that cannot be read; nil discards
	Clients clients.Table
	Stats   *follow.Stats // updated while transcripts are read, may be nil
	// Since and Workers are those of follow.Options.
	Since   time.Time
	Workers int
}

// Read reads all transcripts in paths once, without those of subagents. It also
// returns a History if the error is not Fatal.
func Read(ctx context.Context, o Options, paths []string) (*History, error) {
	h := &History{clients: o.Clients}
	return h, o.read(ctx, paths, follow.Options{Records: h.begin, Bills: true}, h.add)
}

// Transcripts reads all transcripts in paths once and calls take with the
// totals of each, without its records, in any order. If the error is not Fatal,
// the rest was read.
func Transcripts(
	ctx context.Context,
	o Options,
	paths []string,
	take func(transcript.Change),
) error {
	return o.read(ctx, paths, follow.Options{}, take)
}

// Records reads the transcripts with all their records, and sorts originals
// before copies and older ones before newer ones. If the error is not Fatal,
// the rest was read.
func Records(ctx context.Context, o Options, paths []string) (all []transcript.Change, err error) {
	err = o.read(ctx, paths, follow.Options{Entries: true}, func(c transcript.Change) {
		c.Messages = nil
		all = append(all, c)
	})
	logOf := func(c transcript.Change) *log {
		return &log{
			change: c,
			// A record refers to its original.
			copied: slices.ContainsFunc(
				c.Compactions,
				func(e transcript.Compaction) bool { return e.Copied },
			) || slices.ContainsFunc(
				c.Entries,
				func(e transcript.Entry) bool { return e.Origin != 0 },
			),
		}
	}
	slices.SortStableFunc(all, func(a, b transcript.Change) int {
		return logOf(a).earlier(logOf(b))
	})
	return all, err
}

// read reads all transcripts in paths once and calls take with each, from one
// goroutine, in any order. what selects the records.
func (o Options) read(
	ctx context.Context,
	paths []string,
	what follow.Options,
	take func(transcript.Change),
) error {
	what.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	what.Stats = o.Stats
	what.Since = o.Since
	what.Workers = o.Workers
	// A folder may have transcripts of all clients. The format of a file is
	// determined by its beginning.
	var roots []follow.Root
	for _, path := range paths {
		formats := o.Clients.Formats()
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			formats = []*transcript.Format{o.Clients.FormatOf(path, Head(path))}
		}
		for _, format := range formats {
			roots = append(roots, follow.Root{Path: path, Format: format})
		}
	}

	changes := make(chan transcript.Change, 64)
	read := make(chan error, 1)
	go func() {
		defer close(changes)
		read <- follow.Once(ctx, what, roots, changes)
	}()
	for c := range changes {
		take(c)
	}
	return <-read
}

// Head returns the beginning of a file, nil if it cannot be read: that error is
// reported when the file is read.
func Head(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, 512)
	n, _ := io.ReadFull(f, b) // fewer bytes are as good
	return b[:n]
}

// Fatal reports whether an error of reading leaves nothing to continue with. An
// error about unreadable files does not.
func Fatal(err error) bool {
	_, ok := errors.AsType[*follow.UnreadError](err)
	return err != nil && !ok
}
