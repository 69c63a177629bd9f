package follow

import (
	"path/filepath"
	"slices"
	"strings"

	"sm/transcript"
)

// Root is a folder to search for transcripts, at any depth, and their format.
// It need not exist yet. For [Once] it may be a file. A folder that is given
// with several formats holds transcripts of each: a file has the first format
// that accepts its name.
type Root struct {
	Path   string
	Format *transcript.Format
}

// Elsewhere returns the root of a transcript that a client has reported, with
// all links resolved. ok is false unless the transcript is a regular file of
// this user and no link, the root belongs to this user, too, and the resolved
// path has the form that the format requires.
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
	if err != nil || !is.IsRegular() || !is.ours {
		return "", false
	}
	return IsRoot(format, root)
}

// IsRoot reports whether a folder that a client reported may be followed: its
// name is that of the format, it belongs to this user, no link leads to it, and
// it is on a disk.
func IsRoot(format *transcript.Format, dir string) (root string, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Clean(dir) || filepath.Base(real) != format.Root {
		return "", false
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if transcript.Within(kernel, real) && !transcript.Within("/dev/shm", real) {
			return "", false
		}
	}
	is, err := lstat(real)
	return real, err == nil && is.IsDir() && is.ours
}

// rootList are the roots that are followed.
type rootList []followed

// followed is one root.
type followed struct {
	path    string
	formats []*transcript.Format // rarely more than one
	learnt  bool                 // reported by a client, not configured
}

// depth returns the depth of a folder below the root.
func (r followed) depth(dir string) int {
	if dir == r.path {
		return 0
	}
	const separator = string(filepath.Separator)
	below := strings.TrimPrefix(dir, strings.TrimSuffix(r.path, separator)) // also below /
	return strings.Count(below, separator)
}

// add adds a root. fresh is false if the root is already in the list.
func (l *rootList) add(root Root, learnt bool) (path string, fresh bool) {
	path = filepath.Clean(root.Path)
	for i := range *l {
		if r := &(*l)[i]; r.path == path {
			same := func(f *transcript.Format) bool { return f.Client == root.Format.Client }
			if !slices.ContainsFunc(r.formats, same) {
				r.formats = append(r.formats, root.Format)
			}
			return path, false
		}
	}
	*l = append(*l, followed{path, []*transcript.Format{root.Format}, learnt})
	return path, true
}

// of returns the innermost root of a path. It counts as learnt if the path is
// in no configured root. For a path in no root it has no formats.
func (l rootList) of(path string) (in followed) {
	for _, r := range l {
		if !transcript.Within(r.path, path) {
			continue
		}
		learnt := r.learnt && (in.formats == nil || in.learnt)
		if len(r.path) > len(in.path) {
			in = r
		}
		in.learnt = learnt
	}
	return in
}

// identify returns the format of a path; ok is false if the path is no
// transcript. The format is that of its root. For a path that is no longer in
// any root it is the format that identifies the path as a transcript, else the
// first.
func (l rootList) identify(path string) (format *transcript.Format, ok bool) {
	formats := l.of(path).formats
	if formats == nil {
		for _, r := range l {
			formats = append(formats, r.formats...)
		}
	}
	for _, format := range formats {
		if _, ok := format.Identify(path); ok {
			return format, true
		}
	}
	if len(formats) > 0 {
		format = formats[0]
	}
	return format, false
}
