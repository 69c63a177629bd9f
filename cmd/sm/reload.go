package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/pflag"

	"sm/cmd/sm/internal/config"
	"sm/cmd/sm/internal/term"
	"sm/observer"
)

// reload reads the configuration again, as at the start. Keys that take effect at a start alone keep the value that they
// had then. A file that was read once must exist from then on.
func (env *environ) reload(
	source config.Source,
	flags *pflag.FlagSet,
	started *config.Config,
	log *slog.Logger,
) func() (observer.Reloaded, error) {
	source.Required = source.Required || source.Exists()
	return func() (r observer.Reloaded, err error) {
		cfg, err := source.Load(flags, env.LookupEnv)
		if err != nil {
			return r, err
		}
		source.Required = source.Required || source.Exists()
		r.Restart = cfg.Keep(started)
		r.Settings, err = (wiring{env}).settings(cfg, log)
		return r, err
	}
}

// configSettles is how long a file must stay as it is before it is read: an editor may write it in several steps.
const configSettles = 200 * time.Millisecond

// errTerminalGone ends an observer whose terminal was closed, which also sends
// SIGHUP.
var errTerminalGone = errors.New("the terminal was closed")

// configWatcher reloads the configuration on SIGHUP and when the file changes.
type configWatcher struct {
	path    string
	log     *slog.Logger
	hangups chan os.Signal
	events  <-chan fsnotify.Event // nil: the file is not watched
	close   func()
	gone    func() bool // reports whether the terminal of the observer was closed
	end     func(cause error)
	text    []byte // of the file when it was last read
}

// watchConfig begins to take note of signals and of changes to the file. end is called when the terminal is gone.
func (env *environ) watchConfig(path string, log *slog.Logger, end func(error)) *configWatcher {
	w := &configWatcher{
		path:    path,
		log:     log,
		hangups: make(chan os.Signal, 1),
		end:     end,
	}
	terminals := slices.DeleteFunc(
		[]any{env.Stdin, env.Stdout, env.Stderr},
		func(stream any) bool { return !term.IsTerminal(stream) },
	)
	w.gone = func() bool {
		return slices.ContainsFunc(terminals, func(stream any) bool { return !term.IsTerminal(stream) })
	}
	signal.Notify(w.hangups, syscall.SIGHUP)
	w.close = func() { signal.Stop(w.hangups) }
	if path == "" {
		return w
	}
	files, err := fsnotify.NewWatcher()
	if err == nil {
		w.close = func() {
			signal.Stop(w.hangups)
			_ = files.Close() // its watches end with it
		}
		w.events = files.Events
		err = watchFolders(files, path)
	}
	if err != nil {
		log.Debug("the configuration file is not watched: SIGHUP has it read again", "path", path, "err", err)
	}
	_ = w.changed() // remember the present text
	return w
}

// watchFolders watches the folder of a file and, where it is a link, that of what it leads to: editors, and those who
// deploy, put another file in its place.
func watchFolders(files *fsnotify.Watcher, path string) error {
	err := files.Add(filepath.Dir(path))
	if target, e := filepath.EvalSymlinks(path); e == nil && filepath.Dir(target) != filepath.Dir(path) {
		err = errors.Join(err, files.Add(filepath.Dir(target)))
	}
	return err
}

// run calls reload until ctx ends or the returned function is called, which waits for it. What comes of a reload is said
// by the observer.
func (w *configWatcher) run(ctx context.Context, reload func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.loop(ctx, reload) })
	return func() {
		cancel()
		running.Wait()
	}
}

func (w *configWatcher) loop(ctx context.Context, reload func(context.Context) error) {
	settled := time.NewTimer(0)
	settled.Stop()
	defer settled.Stop()
	events := w.events
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.hangups:
			if w.gone() {
				w.end(errTerminalGone)
				return
			}
			_ = w.changed() // a text that was just read is no change
			_ = reload(ctx)
		case _, open := <-events:
			if !open {
				events = nil
				continue
			}
			settled.Reset(configSettles)
		case <-settled.C:
			if w.changed() {
				_ = reload(ctx)
			}
		}
	}
}

// changed reports whether the text of the file differs from the last call. A
// missing file is no change: it is about to be replaced.
func (w *configWatcher) changed() bool {
	text, err := config.Source{Path: w.path, Required: true}.Read()
	if err != nil || bytes.Equal(text, w.text) {
		return false
	}
	w.text = text
	return true
}
