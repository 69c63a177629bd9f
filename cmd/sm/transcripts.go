package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/dashboards/screen"
	"sm/handoff/files"
	"sm/observer/history"
	"sm/transcript/follow"
)

// transcripts returns the configuration and the files and folders to read:
// args, or the transcripts of this user if there are none.
func (env *environ) transcripts(
	cmd *cobra.Command,
	args []string,
) (*config.Config, []string, error) {
	cfg, err := env.config(cmd)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(args, "") {
		return nil, nil, usagef("PATH is empty")
	}
	for _, path := range args {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || filepath.Ext(path) == ".jsonl" ||
			strings.HasSuffix(path, ".jsonl.zst") {
			continue
		}
		head := history.Head(path) // nil if it cannot be read; reading it gives the error
		if head != nil && !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) {
			return nil, nil, usagef(
				"%s is no transcript: give a .jsonl file of a client, or a folder with such files",
				quote(path),
			)
		}
	}
	if len(args) == 0 {
		args, err = existingProjects(cfg, env)
	}
	return cfg, args, err
}

// existingProjects returns the existing folders with transcripts, of all
// clients.
func existingProjects(cfg *config.Config, env *environ) ([]string, error) {
	dirs, err := cfg.ProjectDirs(env.Env)
	if err != nil {
		return nil, err
	}
	dirs = append(dirs, env.CodexDirs()...)
	there := slices.DeleteFunc(
		slices.Clone(dirs),
		func(dir string) bool { return !files.IsDir(dir) },
	)
	if len(there) == 0 {
		return nil, fmt.Errorf(
			"no transcripts: none of %s exists; run Claude Code or Codex once, or name a PATH",
			strings.Join(dirs, ", "),
		)
	}
	return there, nil
}

// reading returns the options to read transcripts, and shows the progress on a
// terminal until end is called. It lets garbage grow to about 128 MiB in all,
// as the command ends soon.
func (env *environ) reading() (o history.Options, end func()) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(128 << 20)
	o = history.Options{
		Logger:  plainLog(env.Stderr),
		Clients: clientTable(nil, nil, nil),
		Stats:   &follow.Stats{},
	}
	return o, term.ShowProgress(env.Stderr, progressText(o.Stats))
}

// history reads all transcripts in paths once. An error with a history is about
// files that were left out.
func (env *environ) history(ctx context.Context, paths []string) (*history.History, error) {
	o, end := env.reading()
	defer end()
	h, err := history.Read(ctx, o, paths)
	if history.Fatal(err) {
		return nil, unread(err)
	}
	return h, err
}

// unread adds the remedy to the error of a failed reading.
func unread(err error) error { return fmt.Errorf("%w; check the path", err) }

// plainLog returns a logger that writes warnings as lines without the time.
func plainLog(stderr io.Writer) *slog.Logger {
	withoutTime := func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{
		Level:       slog.LevelWarn,
		ReplaceAttr: withoutTime,
	}))
}

// progressText returns a function that formats the progress of reading
// transcripts.
func progressText(s *follow.Stats) func(passed time.Duration) string {
	return func(passed time.Duration) string {
		done := float64(s.BytesDone.Load())
		return fmt.Sprintf("reading %d of %d transcripts, %s of %s, %s/s", s.FilesDone.Load(), s.Files.Load(),
			screen.Bytes(done), screen.Bytes(float64(s.Bytes.Load())), screen.Bytes(done/max(
				passed.Seconds(),
				0.001,
			)))
	}
}
