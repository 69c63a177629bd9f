package follow

import (
	"path/filepath"
	"slices"
	"strings"

	"sm/transcript"
)

// Root is a folder to search for transcripts, at any depth, and the format of those in it.
// It may appear later. For [Once] it may be a file. A folder that is given with several
// formats holds transcripts of each: those that the first one knows by their names are of
// that, and so on.
type Root struct {
	Path   string
	Format *transcript.Format
}

// Roots gives paths whose transcripts have one format.
func Roots(format *transcript.Format, paths ...string) []Root {
	roots := make([]Root, len(paths))
	for i, path := range paths {
		roots[i] = Root{path, format}
	}
	return roots
}

// Elsewhere finds the root that a transcript lies in which a client has named. ok is false
// unless the transcript is there, a regular file of this user and no link, the root belongs to
// this user, too, and the path has the form that the format wants when all links in it are
// resolved. The root returned is resolved.
func Elsewhere(format *transcript.Format, path, session string) (root string, ok bool) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", false
	}
	real := filepath.Join(dir, filepath.Base(path))
	if root, ok = format.RootOf(real, session); !ok {
		return "", false
	}
	is, err := lstat(real)
	if err != nil || !is.isRegular() || !is.ours() {
		return "", false
	}
	return IsRoot(format, root)
}

// IsRoot reports whether a folder that a client reported may be followed: its name is
// that of the format, it belongs to this user, no link leads to it, and it is on a
// disk.
func IsRoot(format *transcript.Format, dir string) (root string, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Clean(dir) || filepath.Base(real) != format.Root {
		return "", false
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if within(kernel, real) && !within("/dev/shm", real) {
			return "", false
		}
	}
	is, err := lstat(real)
	return real, err == nil && is.isDir() && is.ours()
}

// within reports whether a path is a folder or in it.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok &&
		(rest == "" || rest[0] == filepath.Separator ||
			strings.HasSuffix(dir, string(filepath.Separator)))
}

// rootList are the roots, and the formats of their files.
type rootList struct {
	all []followed
	// formats are found by their number in a file. Numbers are given by the loop; workers
	// see only those of files that they were handed, and so none that is just being given.
	formats [256]*transcript.Format
	known   int
}

// followed is one root.
type followed struct {
	path   string
	format uint8
	others []uint8 // formats besides, nil for most
	learnt bool    // reported by a client, not configured
	inode  inode   // as last seen
}

// add takes in a root. fresh is false for one that is there already.
func (l *rootList) add(root Root, learnt bool) (path string, fresh bool) {
	path = filepath.Clean(root.Path)
	if i := slices.IndexFunc(l.all, func(r followed) bool { return r.path == path }); i >= 0 {
		r := &l.all[i]
		if n := l.number(root.Format); n != r.format && !slices.Contains(r.others, n) {
			r.others = append(r.others, n)
		}
		return path, false
	}
	l.all = append(l.all, followed{path: path, format: l.number(root.Format), learnt: learnt})
	return path, true
}

// number gives a format its number; formats of one client are the same.
func (l *rootList) number(format *transcript.Format) uint8 {
	for n, known := range l.formats[:l.known] {
		if known.Client == format.Client {
			return uint8(n)
		}
	}
	l.formats[l.known] = format
	l.known++
	return uint8(l.known - 1)
}

// of gives the innermost root that a path lies in; ok is false for a path in none.
func (l *rootList) of(path string) (root followed, ok bool) {
	for _, r := range l.all {
		if within(r.path, path) && (!ok || len(r.path) > len(root.path)) {
			root = r
			ok = true
		}
	}
	return root, ok
}

// isLearnt reports whether a path is in a learnt root and in no configured one.
func (l *rootList) isLearnt(path string) bool {
	learnt := false
	for _, r := range l.all {
		if within(r.path, path) {
			if !r.learnt {
				return false
			}
			learnt = true
		}
	}
	return learnt
}

// format is that of the files in a path's root. A path in no root any more has the format
// that takes it for a transcript, else the first.
func (l *rootList) format(path string) uint8 {
	if r, ok := l.of(path); ok {
		if _, named := l.formats[r.format].Identify(path); named || r.others == nil {
			return r.format
		}
		for _, n := range r.others {
			if _, named := l.formats[n].Identify(path); named {
				return n
			}
		}
		return r.format
	}
	for n, format := range l.formats[:l.known] {
		if _, ok := format.Identify(path); ok {
			return uint8(n)
		}
	}
	return 0
}

// identify reads a path; ok is false for one that is no transcript.
func (l *rootList) identify(path string) (f transcript.File, ok bool) {
	if l.known == 0 {
		return f, false
	}
	return l.formats[l.format(path)].Identify(path)
}
