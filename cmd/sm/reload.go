package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/observer"
)

// reload returns a function that reads the configuration again. Keys that take
// effect only at the start keep their values in started; restart names those
// that differ.
func (env *environ) reload(
	source *config.Source,
	flags *pflag.FlagSet,
	started *config.Config,
	log *slog.Logger,
) func() (observer.Settings, []string, error) {
	return func() (s observer.Settings, restart []string, err error) {
		cfg, err := source.Load(flags, env.Env)
		if err != nil {
			return s, nil, err
		}
		restart = cfg.Keep(started)
		s, err = env.settings(cfg, log)
		return s, restart, err
	}
}

// configPause is the interval at which the configuration file is read. A text
// takes effect when two reads in a row return it: an editor may write it in
// several steps.
const configPause = 500 * time.Millisecond

// errTerminalGone ends an observer whose terminal was closed, which also sends
// SIGHUP.
var errTerminalGone = errors.New("the terminal was closed")

// configWatcher reloads the configuration on SIGHUP and when the file changes.
type configWatcher struct {
	path    string // "" for none
	hangups chan os.Signal
	gone    func() bool // reports whether the terminal of the observer was closed
}

// watchConfig returns a watcher that receives SIGHUP from now on.
func (env *environ) watchConfig(path string) *configWatcher {
	terminals := func() (n int) {
		for _, stream := range []any{env.Stdin, env.Stdout, env.Stderr} {
			if term.IsTerminal(stream) {
				n++
			}
		}
		return n
	}
	before := terminals()
	w := &configWatcher{
		path:    path,
		hangups: make(chan os.Signal, 1),
		gone:    func() bool { return terminals() < before },
	}
	signal.Notify(w.hangups, syscall.SIGHUP)
	return w
}

// run calls reload until ctx ends, or until the terminal is gone, which is an
// error. The observer logs the result of a reload.
func (w *configWatcher) run(ctx context.Context, reload func(context.Context) error) error {
	look := time.NewTicker(configPause)
	defer look.Stop()
	loaded := w.read(nil)
	seen := loaded
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.hangups:
			if w.gone() {
				return errTerminalGone
			}
			loaded = w.read(loaded) // a text that was just read is no change
			_ = reload(ctx)
		case <-look.C:
			text := w.read(loaded)
			if bytes.Equal(text, seen) && !bytes.Equal(text, loaded) {
				loaded = text
				_ = reload(ctx)
			}
			seen = text
		}
	}
}

// read returns the text of the file, or before if it cannot be read: a missing
// file is about to be replaced.
func (w *configWatcher) read(before []byte) []byte {
	file := config.Source{Path: w.path, Required: true}
	text, err := file.Read()
	if err != nil {
		return before
	}
	return text
}
