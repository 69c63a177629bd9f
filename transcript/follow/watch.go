package follow

import (
	"errors"
	"io/fs"
	"log/slog"
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
	w.notify, w.events, w.errors = notify, notify.Events, notify.Errors
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
	if err == nil {
		w.watched[dir] = true
		delete(w.failed, dir)
		return
	}
	w.failed[dir] = true
	if denied := errors.Is(err, fs.ErrPermission); !denied && !w.told { // to list it is denied too, and that is logged
		w.told = true
		w.log.Warn("cannot watch all folders, searching the rest each second; raise fs.inotify.max_user_watches", "err", reason(err))
	}
}

func (w *watcher) close() {
	if w.notify != nil {
		w.notify.Close()
	}
}

// event looks at what inotify has told.
func (f *follower) event(ev fsnotify.Event) {
	if f.clients.dirs[filepath.Dir(ev.Name)] {
		f.clients.stale = true
		return
	}
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		f.removed(ev.Name)
		return
	}
	fl := f.files[ev.Name]
	if fl != nil && fl.state == live {
		if info, err := os.Lstat(ev.Name); err == nil {
			fl.tail.written(info.Size())
		}
		return
	}
	if fl == nil && !isTranscript(ev.Name) {
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
	depth := 1
	for _, root := range f.Projects {
		if rel, err := filepath.Rel(root, path); err == nil && !strings.HasPrefix(rel, "..") {
			depth = strings.Count(rel, string(filepath.Separator)) + 1
		}
	}
	if info.Mode()&fs.ModeSymlink != 0 && depth > 1 {
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
	for name, fl := range f.files {
		if strings.HasPrefix(name, path) && len(name) > len(path) && name[len(path)] == filepath.Separator {
			f.enqueue(fl)
		}
	}
}

// sweep checks what cannot be left to inotify alone.
func (f *follower) sweep(all bool) {
	now := time.Now()
	for _, root := range f.Projects {
		var id inode
		if info, err := os.Stat(root); err == nil {
			id = inodeOf(info)
		}
		if f.roots[root] != id {
			f.roots[root] = id
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
		f.check(fl, now)
	}
	for fl := range f.failing {
		f.enqueue(fl)
	}
	if all || f.watch.notify == nil || now.Sub(f.lastAll) >= f.Rescan {
		f.findAll(false)
		f.missing()
	} else {
		for dir := range f.watch.failed {
			for _, fl := range f.find(dir, maxFolders, map[inode]bool{}) {
				f.enqueue(fl)
			}
		}
	}
	if f.watch.notify == nil || f.clients.stale || all {
		f.readClients()
	}
	f.clients.bury()
	f.Stats.publish(f)
}
