package follow

import (
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watchFolders bounds the folders watched; beyond, they are searched at each check.
const watchFolders = 16384

// watcher watches folders through inotify where it can, and knows the folders
// where it could not.
type watcher struct {
	notify  *fsnotify.Watcher // nil without inotify
	events  <-chan fsnotify.Event
	errors  <-chan error
	ended   chan struct{} // closed when no more errors come
	watched map[string]bool
	failed  map[string]bool // folders that must be searched instead
	probed  bool            // nxadm/tail can have its instance
	told    bool
	log     *slog.Logger
}

var errTooMany = errors.New("too many folders")

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
	w.notify, w.events, w.errors, w.ended = notify, notify.Events, errs, make(chan struct{})
	// fsnotify may report an error while it holds what adding a folder waits for, so
	// the goroutine that adds folders must not receive the errors. All errors mean the same:
	// one is enough.
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

// add watches a folder; that it is watched already does no harm.
func (w *watcher) add(dir string) {
	if w.notify == nil {
		return
	}
	var err error
	if w.watched[dir] || len(w.watched) < watchFolders {
		err = w.notify.Add(dir)
	} else {
		err = errTooMany
	}
	switch {
	case err == nil:
		w.watched[dir] = true
		delete(w.failed, dir)
		return
	case errors.Is(err, fs.ErrNotExist):
		return // just now
	}
	w.failed[dir] = true
	if denied := errors.Is(err, fs.ErrPermission); !denied && !w.told { // to list it is denied too, and that is logged
		w.told = true
		w.log.Warn("cannot watch all folders, searching the rest each second; raise fs.inotify.max_user_watches", "err", reason(err))
	}
}

// forget drops a folder that is no more, and those below it.
func (w *watcher) forget(dir, below string) {
	if !w.watched[dir] && !w.failed[dir] {
		return
	}
	gone := func(path string, _ bool) bool { return path == dir || strings.HasPrefix(path, below) }
	maps.DeleteFunc(w.watched, gone)
	maps.DeleteFunc(w.failed, gone)
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
		<-w.ended
	}
}

// event looks at what inotify has told.
func (f *follower) event(ev fsnotify.Event) {
	if f.clients.dirs[filepath.Dir(ev.Name)] != nil {
		f.clients.stale = true
		return
	}
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		f.removed(ev.Name)
		return
	}
	fl := f.files[ev.Name]
	if fl != nil && fl.state == live {
		fl.tail.seen.written = true
		if info, err := os.Lstat(ev.Name); err == nil {
			fl.tail.written(info.Size())
		}
		return
	}
	if _, named := f.roots.identify(ev.Name); fl == nil && !named {
		if ev.Has(fsnotify.Create) {
			f.appeared(ev.Name)
		}
		return
	}
	info, err := os.Lstat(ev.Name)
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		if fl := f.look(ev.Name); fl != nil {
			f.enqueue(fl)
		}
	case info.IsDir():
		f.appeared(ev.Name)
	default:
		f.odd(ev.Name, "not a regular file")
	}
}

// appeared searches what may be a new folder.
func (f *follower) appeared(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return
	}
	depth := f.depth(path)
	if info.Mode()&fs.ModeSymlink != 0 && (depth > 1 || f.roots.isLearnt(path)) {
		return
	}
	for _, fl := range f.find(path, depth, map[inode]bool{}) {
		f.enqueue(fl)
	}
}

// removed looks after a file, or after all files of a folder, that lost its name.
func (f *follower) removed(path string) {
	if fl := f.files[path]; fl != nil {
		f.enqueue(fl)
		return
	}
	below := path + string(filepath.Separator)
	f.watch.forget(path, below)
	for name, fl := range f.files {
		if strings.HasPrefix(name, below) {
			f.enqueue(fl)
		}
	}
}

// findUnwatched searches the folders that inotify had no room for, and looks after
// the files in them.
func (f *follower) findUnwatched() {
	if len(f.watch.failed) == 0 {
		return
	}
	visited := map[inode]bool{}
	for dir := range maps.Clone(f.watch.failed) {
		for _, fl := range f.find(dir, f.depth(dir), visited) {
			f.enqueue(fl)
		}
	}
	for path, fl := range f.files {
		if fl.state != parked || !f.watch.failed[filepath.Dir(path)] {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			f.enqueue(fl)
		}
	}
	for dir := range maps.Clone(f.watch.failed) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			f.watch.forget(dir, dir+string(filepath.Separator))
		}
	}
}

// depth is how deep a folder lies below the root that it is in.
func (f *follower) depth(dir string) int {
	for _, root := range f.roots.all {
		rel, err := filepath.Rel(root.path, dir)
		switch {
		case err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)):
		case rel == ".":
			return 0
		default:
			return strings.Count(rel, string(filepath.Separator)) + 1
		}
	}
	return 1
}

const (
	rescanShare = 100 // a search may take one part in so many of the time
	rescanMost  = 5 * time.Minute
)

// pause is how long after the begin of a search that took a time the next one comes.
func pause(rescan, took time.Duration) time.Duration {
	return max(rescan, min(rescanShare*took, rescanMost))
}

// sweep checks what cannot be left to inotify alone.
func (f *follower) sweep(all bool) {
	now := time.Now()
	for i := range f.roots.all {
		var id inode
		root := &f.roots.all[i]
		if info, err := os.Stat(root.path); err == nil {
			id = inodeOf(info)
		}
		if root.inode != id {
			root.inode = id
			all = true
		}
	}
	for path := range f.again {
		delete(f.again, path)
		if fl := f.look(path); fl != nil {
			f.enqueue(fl)
		}
	}
	for fl := range f.live {
		if fl.tail.seen.due(now, f.Check, f.watch.watched[filepath.Dir(fl.cursor.Path)]) {
			f.check(fl, now)
		}
	}
	for fl := range f.failing {
		f.enqueue(fl)
	}
	if all || f.watch.notify == nil || now.Sub(f.lastAll) >= pause(f.Rescan, f.took) {
		all = true
		f.findAll(false)
		f.missing()
		f.took = time.Since(now)
	} else {
		f.findUnwatched()
	}
	if all || f.clients.stale || f.unwatchedClients() {
		f.readClients()
	}
	f.checkClients()
	f.Stats.publish(f)
}
