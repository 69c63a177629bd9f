package follow

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"

	"github.com/fsnotify/fsnotify"

	"sm/transcript"
)

// watcher watches folders through inotify if possible, and lists the folders
// that it could not watch.
type watcher struct {
	notify  *fsnotify.Watcher // nil without inotify
	events  <-chan fsnotify.Event
	errors  <-chan error
	ended   chan struct{} // closed after the last error
	watched map[string]bool
	failed  map[string]bool // folders that must be searched instead
	warned  bool
	log     *slog.Logger
}

func newWatcher(poll bool, log *slog.Logger) *watcher {
	w := &watcher{watched: map[string]bool{}, failed: map[string]bool{}, log: log}
	if poll {
		return w
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("no inotify, searching folders each second instead", "err", err)
		return w
	}
	errs := make(chan error, 1)
	w.notify = notify
	w.events = notify.Events
	w.errors = errs
	w.ended = make(chan struct{})
	// fsnotify may report an error while it holds a lock that adding a folder
	// needs, so the goroutine that adds folders must not receive the errors.
	// All errors have the same meaning: one is enough.
	go func() {
		defer close(w.ended)
		for err := range notify.Errors {
			select {
			case errs <- err:
			default:
			}
		}
	}()
	return w
}

// add watches a folder, which may be watched already.
func (w *watcher) add(dir string) {
	if w.notify == nil {
		return
	}
	err := w.notify.Add(dir)
	switch {
	case err == nil:
		w.watched[dir] = true
		delete(w.failed, dir)
		return
	case errors.Is(err, fs.ErrNotExist):
		return // it was removed just now
	}
	w.failed[dir] = true
	if !w.warned &&
		!errors.Is(err, fs.ErrPermission) { // listing the folder is denied, too, and logged
		w.warned = true
		w.log.Warn(
			"cannot watch all folders, searching the rest each second; raise fs.inotify.max_user_watches",
			"err", reason(err),
		)
	}
}

// forget removes a folder that no longer exists, and those below it.
func (w *watcher) forget(dir string) {
	if !w.watched[dir] && !w.failed[dir] {
		return
	}
	gone := func(path string, _ bool) bool { return transcript.Within(dir, path) }
	for path := range w.watched {
		if transcript.Within(dir, path) {
			// A folder that was only moved would still be watched under its old
			// name. The error means that it no longer exists.
			_ = w.notify.Remove(path)
		}
	}
	maps.DeleteFunc(w.watched, gone)
	maps.DeleteFunc(w.failed, gone)
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
		<-w.ended
	}
}
