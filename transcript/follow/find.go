package follow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxFolders is how deep below a root transcripts are looked for. The deepest of clients
// are <project>/<session>/subagents/workflows/<run>/.
const maxFolders = 12

// findAll searches all roots. At the start the files found are read
// newest first.
func (f *follower) findAll(start bool) {
	f.lastAll = time.Now()
	f.round++
	var found []*file
	visited := map[inode]bool{}
	for _, root := range f.roots.all {
		found = append(found, f.find(root.path, 0, visited)...)
	}
	if start {
		sortByAge(found)
		f.Stats.expect(found)
	}
	for _, fl := range found {
		f.enqueue(fl)
	}
}

// find searches a folder and returns the files in it that have news.
func (f *follower) find(dir string, depth int, visited map[inode]bool) (found []*file) {
	learnt, format := f.roots.isLearnt(dir), f.roots.formats[f.roots.format(dir)]
	stat := os.Stat
	if learnt {
		stat = os.Lstat
	}
	info, err := stat(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.denied(dir, err)
		}
		return nil
	}
	id := inodeOf(info)
	if !info.IsDir() || visited[id] || depth > maxFolders {
		return nil
	}
	visited[id] = true
	// Watch first, then list: what appears in between is seen twice, not never.
	f.watch.add(dir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		f.denied(dir, err)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		_, named := f.roots.identify(path)
		switch mode := e.Type(); {
		case learnt && depth == 0 && (!mode.IsDir() || !format.Folder(e.Name())):
		case mode.IsDir() && named:
			f.odd(path, "a folder named like a transcript")
			fallthrough
		case mode.IsDir():
			found = append(found, f.find(path, depth+1, visited)...)
		case mode&fs.ModeSymlink != 0 && depth == 0:
			// A folder of a root may live elsewhere; visited ends loops.
			found = append(found, f.find(path, depth+1, visited)...)
		case !named:
		case mode.IsRegular():
			if fl := f.look(path); fl != nil {
				found = append(found, fl)
			}
		default:
			f.odd(path, "not a regular file")
		}
	}
	return found
}

// look compares a path with what is known of it, and returns the file if it has
// to be read.
func (f *follower) look(path string) *file {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if f.roots.isLearnt(path) && !ours(info) {
		f.odd(path, "not this user's own")
		return nil
	}
	id := inodeOf(info)
	fl := f.files[path]
	if fl == nil {
		if f.leaving[path] {
			f.again[path] = true // first what was here has to be reported as moved
			return nil
		}
		if fl = f.movedHere(path, id); fl == nil {
			if f.again[path] {
				return nil
			}
			fl = f.enter(path, f.roots.format(path))
		}
	}
	fl.round = f.round
	if fl.state == live {
		return nil
	}
	if fl.known && fl.moved == "" && id == (inode{fl.cursor.Dev, fl.cursor.Ino}) &&
		info.Size() == fl.cursor.Size && info.ModTime().UnixNano() == fl.cursor.Modified {
		return nil
	}
	fl.modified = info.ModTime().UnixNano()
	return fl
}

// movedHere finds the file that has been renamed to path: the client moves a
// transcript when its session changes directory. Where the old name is in use this
// is no move but another link, or another file with the number of a deleted one.
func (f *follower) movedHere(path string, id inode) *file {
	old := f.inodes[id]
	if old == nil || filepath.Base(old.cursor.Path) != filepath.Base(path) {
		return nil
	}
	if _, err := os.Lstat(old.cursor.Path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if old.state != parked {
		// Its reader will find it gone; then the new name is looked at again.
		f.enqueue(old)
		f.again[path] = true
		return nil
	}
	delete(f.files, old.cursor.Path)
	if old.moved == "" {
		old.moved = old.cursor.Path
		f.leaving[old.moved] = true
	}
	old.cursor.Path = path
	old.place(path, &f.roots)
	f.files[path] = old
	return old
}

// moved ends the waiting of what is new under the old name of a file. One that could
// not be read under its new name is another file from now on, so that its old name
// waits no longer than that.
func (f *follower) moved(fl *file, err error) {
	old := fl.moved
	delete(f.leaving, old)
	fl.moved = ""
	if err == nil {
		return
	}
	fl.known = false
	before := f.enter(old, fl.format)
	before.known = true // and so reported as gone, if nothing is there
	f.enqueue(before)
}

// missing looks after the files that the last search did not find.
func (f *follower) missing() {
	for _, fl := range f.files {
		if fl.round == f.round || fl.state != parked {
			continue
		}
		if _, err := os.Lstat(fl.cursor.Path); errors.Is(err, fs.ErrNotExist) {
			f.enqueue(fl)
		}
	}
}
