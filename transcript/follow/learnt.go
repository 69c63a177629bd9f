package follow

import (
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Elsewhere finds the projects folder that a transcript lies in which a client has named:
// <config>/projects/<project>/<session>.jsonl. ok is false unless the transcript is there, a
// regular file of this user and no link, the folder belongs to this user, too, and the
// path has this form when all links in it are resolved. The folder returned is resolved.
func Elsewhere(path, session string) (root string, ok bool) {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || session == "" || filepath.Base(path) != session+".jsonl" {
		return "", false
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || !ours(info) {
		return "", false
	}
	project, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil || !isProject(filepath.Base(project)) {
		return "", false
	}
	return IsRoot(filepath.Dir(project))
}

// IsRoot says whether a folder may be followed that was learnt from a client: it is called
// projects, belongs to this user, is reached without a link, and lies on a disk.
func IsRoot(dir string) (root string, ok bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || real != filepath.Clean(dir) || filepath.Base(real) != "projects" {
		return "", false
	}
	for _, kernel := range []string{"/proc", "/sys", "/dev"} {
		if within(kernel, real) && !within("/dev/shm", real) {
			return "", false
		}
	}
	info, err := os.Lstat(real)
	return real, err == nil && info.IsDir() && ours(info)
}

// isProject says whether a folder is called as clients call a project's: by its absolute
// path with dashes.
func isProject(name string) bool { return strings.HasPrefix(name, "-") }

// within says whether a path is a folder or lies in it.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == filepath.Separator || strings.HasSuffix(dir, string(filepath.Separator)))
}

// allRoots are the projects folders: those configured and those learnt.
func (f *follower) allRoots() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, list := range [][]string{f.Projects, f.Learnt} {
			for _, root := range list {
				if !yield(root) {
					return
				}
			}
		}
	}
}

// isLearnt says whether a path lies in a folder that was learnt, and in none configured.
func (f *follower) isLearnt(path string) bool {
	if len(f.Learnt) == 0 {
		return false
	}
	for _, root := range f.Projects {
		if within(root, path) {
			return false
		}
	}
	for _, root := range f.Learnt {
		if within(root, path) {
			return true
		}
	}
	return false
}

// learn follows one more projects folder.
func (f *follower) learn(root string) {
	root = filepath.Clean(root)
	for known := range f.allRoots() {
		if known == root {
			return
		}
	}
	f.Learnt = append(f.Learnt, root)
	if info, err := os.Lstat(root); err == nil {
		f.roots[root] = inodeOf(info)
	}
	for _, fl := range f.find(root, 0, map[inode]bool{}) {
		f.enqueue(fl)
	}
	f.readClients()
}
