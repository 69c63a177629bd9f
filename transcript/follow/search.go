package follow

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// findAll searches all roots. At the start the files found are read
// newest first.
func (f *follower) findAll(start bool) {
	f.lastAll = time.Now()
	f.index.round++
	f.index.told = true
	var found []*file
	visited := map[inode]bool{}
	for _, root := range f.index.roots.all {
		found = append(found, f.index.search(root.path, 0, visited)...)
	}
	if start {
		sortByAge(found)
		f.Stats.expect(found)
	}
	for _, fl := range found {
		f.enqueue(fl)
	}
}

// missing looks after the files that the last search did not find.
func (f *follower) missing() {
	for _, fl := range f.index.files {
		if fl.round == f.index.round || fl.state != parked {
			continue
		}
		if _, err := os.Lstat(fl.cursor.Path); errors.Is(err, fs.ErrNotExist) {
			f.enqueue(fl)
		}
	}
}

// moved ends the waiting of what is new under the old name of a file. One that could
// not be read under its new name is another file from now on, so that its old name
// waits no longer than that.
func (f *follower) moved(fl *file, err error) {
	old := fl.moved
	delete(f.index.leaving, old)
	fl.moved = ""
	if err == nil {
		return
	}
	fl.known = false
	before := f.index.enter(old, fl.format)
	before.known = true // and so reported as gone, if nothing is there
	f.enqueue(before)
}

// event looks at what inotify has reported.
func (f *follower) event(ev fsnotify.Event) {
	if f.clients.dirs[filepath.Dir(ev.Name)] != nil || f.clients.dirs[ev.Name] != nil && ev.Has(fsnotify.Chmod) {
		f.clients.stale = true
		return
	}
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		f.removed(ev.Name)
		return
	}
	fl := f.index.files[ev.Name]
	if fl != nil && fl.state == live {
		if fl.tail.seen.written = true; !fl.tail.tails {
			fl.tail.poke()
		} else if info, err := os.Lstat(ev.Name); err == nil {
			fl.tail.written(info.Size())
		}
		return
	}
	if _, named := f.index.roots.identify(ev.Name); fl == nil && !named {
		if ev.Has(fsnotify.Create | fsnotify.Chmod) { // of a folder that may be searched now, too
			f.appeared(ev.Name)
		}
		return
	}
	info, err := os.Lstat(ev.Name)
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		if fl := f.index.look(ev.Name); fl != nil {
			f.enqueue(fl)
		}
	case info.IsDir():
		f.appeared(ev.Name)
	default:
		f.index.odd(ev.Name, "not a regular file")
	}
}

// appeared searches what may be a new folder.
func (f *follower) appeared(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() && info.Mode()&fs.ModeSymlink == 0 {
		return
	}
	depth := f.index.depth(path)
	f.index.told = f.index.told && info.IsDir()
	roots := &f.index.roots
	learnt := roots.isLearnt(path)
	if info.Mode()&fs.ModeSymlink != 0 && (depth > 1 || learnt) ||
		learnt && depth == 1 && !roots.formats[roots.format(path)].Folder(filepath.Base(path)) {
		return // as in a search of all folders
	}
	for _, fl := range f.index.search(path, depth, map[inode]bool{}) {
		f.enqueue(fl)
	}
}

// removed looks after a file, or after all files of a folder, that lost its name.
func (f *follower) removed(path string) {
	if fl := f.index.files[path]; fl != nil {
		f.enqueue(fl)
		return
	}
	below := path + string(filepath.Separator)
	f.index.watch.forget(path, below)
	for name, fl := range f.index.files {
		if strings.HasPrefix(name, below) {
			f.enqueue(fl)
		}
	}
}

// findUnwatched searches the folders that inotify had no room for, and looks after
// the files in them.
func (f *follower) findUnwatched() {
	if len(f.index.watch.failed) == 0 {
		return
	}
	visited := map[inode]bool{}
	for dir := range maps.Clone(f.index.watch.failed) {
		for _, fl := range f.index.search(dir, f.index.depth(dir), visited) {
			f.enqueue(fl)
		}
	}
	for path, fl := range f.index.files {
		if fl.state != parked || !f.index.watch.failed[filepath.Dir(path)] {
			continue
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			f.enqueue(fl)
		}
	}
	for dir := range maps.Clone(f.index.watch.failed) {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			f.index.watch.forget(dir, dir+string(filepath.Separator))
		}
	}
}

const (
	rescanShare = 100    // a search may take one part in so many of the time,
	toldShare   = 10_000 // or in so many if inotify reports every change: it would find nothing
	rescanMost  = 5 * time.Minute
)

// pause returns the time from the beginning of a search to the next one, by the time
// that it took and whether inotify reports every change.
func pause(rescan, took time.Duration, told bool) time.Duration {
	share := time.Duration(rescanShare)
	if told {
		share = toldShare
	}
	return max(rescan, min(share*took, rescanMost))
}

// sweep checks what cannot be left to inotify alone.
func (f *follower) sweep(all bool) {
	now := time.Now()
	for i := range f.index.roots.all {
		var id inode
		root := &f.index.roots.all[i]
		if info, err := os.Stat(root.path); err == nil {
			id = inodeOf(info)
		}
		if root.inode != id {
			root.inode = id
			all = true
		}
	}
	for path := range f.index.again {
		delete(f.index.again, path)
		if fl := f.index.look(path); fl != nil {
			f.enqueue(fl)
		}
	}
	if all {
		for fl := range f.live {
			fl.tail.seen.written = true // perhaps, with no event to say so
		}
	}
	f.checkLive(now)
	for fl := range f.failing {
		f.enqueue(fl)
	}
	if all || f.index.watch.notify == nil || now.Sub(f.lastAll) >= pause(f.Rescan, f.took, f.index.told) {
		all = true
		f.findAll(false)
		f.missing()
		f.took = time.Since(now)
	} else {
		f.findUnwatched()
	}
	if all || f.clients.stale || f.clients.unwatched() {
		f.clients.readAll()
	}
	f.clients.check()
	f.Stats.publish(f)
}

// learn follows one more root.
func (f *follower) learn(root Root) {
	path, fresh := f.index.roots.add(root, true)
	if !fresh {
		return
	}
	if info, err := os.Lstat(path); err == nil {
		f.index.roots.all[len(f.index.roots.all)-1].inode = inodeOf(info)
	}
	for _, fl := range f.index.search(path, 0, map[inode]bool{}) {
		f.enqueue(fl)
	}
	f.clients.readAll()
}
