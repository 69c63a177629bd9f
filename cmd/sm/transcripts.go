package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sm/transcript"
	"sm/transcript/follow"
)

// transcripts are the files and folders that a command line names, without any the projects of this user, and the
// configuration that says where those are.
func (env *environ) transcripts(cmd *cobra.Command, args []string) (*config, []string, error) {
	cfg, err := loadConfig(cmd.Flags(), env)
	if err != nil {
		return nil, nil, err
	}
	if slices.Contains(args, "") {
		return nil, nil, usagef("PATH is empty")
	}
	if len(args) == 0 {
		args, err = existingProjects(cfg, env)
	}
	return cfg, args, err
}

// existingProjects are the projects folders that there are.
func existingProjects(cfg *config, env *environ) ([]string, error) {
	dirs, err := projectDirs(cfg, env)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, dir := range dirs {
		if isDir(dir) {
			there = append(there, dir)
		}
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("no transcripts: none of %s exists; run Claude Code once, or name a PATH", strings.Join(dirs, ", "))
	}
	return there, nil
}

// readAll reads all transcripts in paths once and gives each to take, in any order, while a line on the terminal tells
// how far it is. Options say what to read of the records. Some files may fail while all others are read: see fatal.
func (env *environ) readAll(ctx context.Context, paths []string, o follow.Options, take func(transcript.Change)) error {
	stats := &follow.Stats{}
	o.Logger, o.Stats = env.plainLog(), stats
	changes := make(chan transcript.Change, 64)
	read := make(chan error, 1)
	end := showProgress(env.stderr, stats)
	go func() {
		defer close(changes)
		read <- follow.Once(ctx, o, paths, changes)
	}()
	for c := range changes {
		take(c)
	}
	end()
	return <-read
}

// sparing lets garbage grow, as a command may that is over soon, but not far beyond 128 MiB in all.
func sparing() {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(128 << 20)
}

// fatal reports whether an error of readAll leaves nothing to go on with: that some files could not be read does not.
func fatal(err error) bool {
	_, ok := errors.AsType[*follow.UnreadError](err)
	return err != nil && !ok
}

// plainLog writes warnings as lines for people.
func (env *environ) plainLog() *slog.Logger {
	return slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
