package follow

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"sm/transcript"
)

// maxFolders is how deep below a root transcripts are searched. The deepest
// folders of clients are <project>/<session>/subagents/workflows/<run>/.
const maxFolders = 12

// index is the index of files and folders: the path of each file, the position
// up to which it has been read, and the reasons for which folders are skipped.
// Only the loop uses it; it starts no work.
type index struct {
	files   map[string]*file
	inodes  map[inode]*file
	roots   rootList
	watch   *watcher
	round   int32             // number of the search of all folders
	again   map[string]bool   // paths to check again
	leaving map[string]bool   // old paths of moved files, until the move has been reported
	logged  map[string]string // logged reasons, by path
	unread  []error           // folders that could not be searched, for Once
	once    bool              // no file will be followed
	log     *slog.Logger
}

// inode returns the inode of the file that was read last.
func (fl *file) inode() inode { return inode{fl.cursor.Dev, fl.cursor.Ino} }

func newIndex(watch *watcher, log *slog.Logger) *index {
	return &index{
		files:   map[string]*file{},
		inodes:  map[inode]*file{},
		watch:   watch,
		log:     log,
		again:   map[string]bool{},
		leaving: map[string]bool{},
		logged:  map[string]string{},
	}
}

// restore adds the files of an earlier run, before the first search.
func (x *index) restore(from []transcript.Cursor) {
	if len(x.roots) == 0 {
		return
	}
	for _, c := range from {
		format, _ := x.roots.identify(c.Path)
		fl := x.enter(c.Path, format)
		fl.cursor = c
		fl.known = true
		x.inodes[fl.inode()] = fl
	}
}

// enter adds a path to the index.
func (x *index) enter(path string, format *transcript.Format) *file {
	fl := &file{format: format, learnt: x.roots.of(path).learnt}
	fl.place(path)
	x.files[path] = fl
	return fl
}

// place sets the path of a file.
func (fl *file) place(path string) {
	fl.cursor.Path = path
	fl.id, _ = fl.format.Identify(path)
}

// searchAll searches all roots, and returns the files in them that have
// changed.
func (x *index) searchAll() (found []*file) {
	visited := map[inode]bool{}
	for _, root := range x.roots {
		found = append(found, x.search(root.path, visited)...)
	}
	return found
}

// search searches a folder, unless it was visited under this name or another,
// and returns the files in it that have changed. Below a learnt root it follows
// no link.
func (x *index) search(dir string, visited map[inode]bool) (found []*file) {
	root := x.roots.of(dir)
	depth := root.depth(dir)
	look := stat
	if root.learnt {
		look = lstat
	}
	is, err := look(dir)
	if err != nil {
		x.denied(dir, err)
	}
	if !is.IsDir() || visited[is.inode] || depth > maxFolders {
		return nil
	}
	visited[is.inode] = true
	// The folder is watched before it is listed, so that a file that appears in
	// between is found twice, not never.
	x.watch.add(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		x.denied(dir, err)
	}
	for _, e := range entries { // as many as could be listed
		path := filepath.Join(dir, e.Name())
		_, named := x.roots.identify(path)
		switch mode := e.Type(); {
		case depth == 0 && root.learnt &&
			(!mode.IsDir() || !root.formats[0].Folder(e.Name())):
		case mode.IsDir() && named:
			x.odd(path, "a folder named like a transcript")
			fallthrough
		case mode.IsDir(), mode&fs.ModeSymlink != 0 && depth == 0:
			// A folder of a root may be a link; visited ends loops. Changes of
			// a link are not reported.
			found = append(found, x.search(path, visited)...)
		case !named:
		case mode.IsRegular():
			if fl := x.look(path); fl != nil {
				found = append(found, fl)
			}
		default:
			x.odd(path, errNotRegular.Error())
		}
	}
	return found
}

// look compares a path with its file in the index, and returns the file if it
// must be read.
func (x *index) look(path string) *file {
	is, err := lstat(path)
	if err != nil || !is.IsRegular() {
		return nil
	}
	if x.roots.of(path).learnt && !is.ours {
		x.odd(path, errNotOurs.Error())
		return nil
	}
	fl := x.files[path]
	if fl == nil {
		if x.leaving[path] {
			x.again[path] = true // the move of the previous file must be reported first
			return nil
		}
		if fl = x.movedHere(path, is.inode); fl == nil {
			if x.again[path] {
				return nil
			}
			format, _ := x.roots.identify(path)
			fl = x.enter(path, format)
		}
	}
	fl.round = x.round
	if fl.state == live {
		return nil
	}
	if fl.known && fl.moved == "" && is.inode == fl.inode() &&
		is.size == fl.cursor.Size && is.modified == fl.cursor.Modified {
		return nil
	}
	fl.stamp = is.stamp
	return fl
}

// movedHere returns the file that has been renamed to path: the client moves a
// transcript when its session changes directory. If the old name is in use, the
// file was not moved: path is another link, or another file with the inode of a
// deleted one.
func (x *index) movedHere(path string, id inode) *file {
	old := x.inodes[id]
	if old == nil || filepath.Base(old.cursor.Path) != filepath.Base(path) ||
		!isGone(old.cursor.Path) {
		return nil
	}
	if old.state != parked {
		// Its reader will find that it has gone; then the new name is checked
		// again.
		old.lookAgain()
		x.again[path] = true
		return nil
	}
	delete(x.files, old.cursor.Path)
	if old.moved == "" {
		old.moved = old.cursor.Path
		x.leaving[old.moved] = true
	}
	old.place(path)
	x.files[path] = old
	return old
}

// odd logs, once for a path, why it is skipped.
func (x *index) odd(path, why string) {
	if x.logged[path] == why {
		return
	}
	x.logged[path] = why
	name := filepath.Base(path)
	_, named := x.roots.identify(path)
	switch {
	case x.once: // the user has named the path
		x.log.Warn("left alone: "+why, "path", path)
	case named:
		x.log.Warn("left alone: "+why, "name", name)
	default: // the name of a folder may contain the path of its project
		x.log.Warn("a folder is left alone: " + why)
	}
	x.log.Debug("left alone", "path", path)
}

// denied records a folder that cannot be searched, unless it does not exist.
func (x *index) denied(dir string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err = reason(err); x.logged[dir] != err.Error() {
		x.unread = append(x.unread, fmt.Errorf("search %s: %w", dir, err))
	}
	x.odd(dir, err.Error())
}
