package follow

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// missing checks files that may no longer exist.
func (f *follower) missing(among func(path string, fl *file) bool) {
	for path, fl := range f.index.files {
		if among(path, fl) && (fl.state != parked || isGone(path)) {
			f.enqueue(fl)
		}
	}
}

// missingBelow checks the files in a folder.
func (f *follower) missingBelow(dir string) {
	dir += string(filepath.Separator)
	f.missing(func(path string, _ *file) bool { return strings.HasPrefix(path, dir) })
}

// searchAll searches all roots, and checks the files that this did not find. At
// the start the files found are read newest first.
func (f *follower) searchAll(start bool) {
	f.lastAll = time.Now()
	f.index.round++
	found := f.index.searchAll()
	if start {
		slices.SortFunc(
			found,
			func(a, b *file) int { return cmp.Compare(a.stamp.modified, b.stamp.modified) },
		)
		f.Stats.expect(found)
	}
	f.enqueue(found...)
	f.missing(func(_ string, fl *file) bool { return fl.round != f.index.round })
}

// event handles an event of inotify.
func (f *follower) event(ev fsnotify.Event) {
	if f.clients.dirs[filepath.Dir(ev.Name)] != nil ||
		f.clients.dirs[ev.Name] != nil && ev.Has(fsnotify.Chmod) {
		f.clients.stale = true
		return
	}
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		f.removed(ev.Name)
		return
	}
	fl := f.index.files[ev.Name]
	_, named := f.index.roots.identify(ev.Name)
	named = named || fl != nil
	is, err := lstat(ev.Name)
	switch {
	case err != nil:
	case fl != nil && fl.state == live:
		fl.tail.grown(is.size)
	case is.IsDir(), is.isLink() && !named:
		f.appeared(ev.Name, is)
	case !named:
	case is.IsRegular():
		f.enqueue(f.index.look(ev.Name))
	default:
		f.index.odd(ev.Name, errNotRegular.Error())
	}
}

// appeared searches a new folder, a link to one, or one that has become
// readable.
func (f *follower) appeared(path string, is fact) {
	root := f.index.roots.of(path)
	depth := root.depth(path)
	if is.isLink() && (depth > 1 || root.learnt) ||
		root.learnt && depth == 1 && !root.formats[0].Folder(filepath.Base(path)) {
		return // as in a search of all folders
	}
	f.enqueue(f.index.search(path, map[inode]bool{})...)
	f.missingBelow(path) // files found before the folder was watched
}

// removed checks a file, or all files of a folder, that lost its name.
func (f *follower) removed(path string) {
	if fl := f.index.files[path]; fl != nil {
		f.enqueue(fl)
		return
	}
	f.index.watch.forget(path)
	f.missingBelow(path)
}

// findUnwatched searches the roots that did not exist and the folders that
// inotify could not watch, and checks the files in them.
func (f *follower) findUnwatched() {
	watch := f.index.watch
	visited := map[inode]bool{}
	for _, root := range f.index.roots {
		if !watch.watched[root.path] {
			f.enqueue(f.index.search(root.path, visited)...)
		}
	}
	if len(watch.failed) == 0 {
		return
	}
	for dir := range maps.Clone(watch.failed) {
		f.enqueue(f.index.search(dir, visited)...)
		if isGone(dir) {
			f.removed(dir)
		}
	}
	f.missing(func(path string, _ *file) bool { return watch.failed[filepath.Dir(path)] })
}

const (
	rescanShare = 2000 // the interval of searches is this multiple of their duration
	rescanMost  = 5 * time.Minute
)

// pause returns the time from the beginning of a search to the next one, given
// the duration of the last one.
func pause(rescan, took time.Duration) time.Duration {
	return max(rescan, min(rescanShare*took, rescanMost))
}

// sweep makes the regular checks. With all, or when it is due, it searches all
// folders.
func (f *follower) sweep(all bool) {
	now := time.Now()
	for path := range f.index.again {
		delete(f.index.again, path)
		f.enqueue(f.index.look(path))
	}
	for fl := range f.live {
		f.check(fl, now)
	}
	for fl := range f.failing {
		f.enqueue(fl)
	}
	if all || f.index.watch.notify == nil || now.Sub(f.lastAll) >= pause(f.Rescan, f.took) {
		all = true
		f.searchAll(false)
		f.took = time.Since(now)
	} else {
		f.findUnwatched()
	}
	if all || f.clients.stale || f.clients.unwatched() {
		f.clients.readAll()
	}
	f.clients.check()
	f.publish()
}

// learn follows another root.
func (f *follower) learn(root Root) {
	path, fresh := f.index.roots.add(root, true)
	if !fresh {
		return
	}
	f.enqueue(f.index.search(path, map[inode]bool{})...)
	f.clients.readAll()
}
