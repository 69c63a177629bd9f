package projects

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"sm/handoff/files"
	"sm/observer/fleet"
)

const (
	maxNames  = 20_000 // names that are kept
	maxWanted = 1024   // directories that wait for Run
	maxPath   = 4096   // bytes of a path
)

// Names has the names of projects, each by a working directory: that of the repository which
// the directory or its worktree belongs to, else one by the path, see [fleet.ProjectOf]. The
// zero value looks at the disk in Of.
type Names struct {
	mu     sync.Mutex
	known  map[string]string // by directory
	wanted chan string       // nil for the zero value
}

// NewNames makes names whose Of never waits for a disk: it goes by the path until Run has
// looked at the directory.
func NewNames() *Names { return &Names{wanted: make(chan string, maxWanted)} }

// Run looks at the directories that Of is asked for, until ctx ends.
func (n *Names) Run(ctx context.Context) {
	for {
		select {
		case dir := <-n.wanted:
			name := projectOn(dir)
			n.mu.Lock()
			n.known[dir] = name
			n.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// Of names the project of a working directory.
func (n *Names) Of(dir string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, known := n.known[dir]
	if known {
		return name
	}
	if n.wanted == nil {
		name = projectOn(dir)
	} else {
		name = fleet.ProjectOf(dir)
		select {
		case n.wanted <- dir:
		default:
			return name // it is asked for again
		}
	}
	if n.known == nil || len(n.known) >= maxNames {
		n.known = map[string]string{}
	}
	n.known[dir] = name
	return name
}

// projectOn names the project of a directory by what is on the disk.
func projectOn(dir string) string {
	return cmp.Or(fleet.ProjectOf(repository(dir)), fleet.ProjectOf(dir))
}

// repository returns the main directory of the repository that a directory is in, "" for none.
// One in the home directory has the user's settings: it is not that of what lies below.
func repository(dir string) string {
	if !filepath.IsAbs(dir) || len(dir) > maxPath {
		return ""
	}
	home, _ := os.UserHomeDir()
	for dir = filepath.Clean(dir); dir != home && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err != nil:
		case info.IsDir():
			return dir
		case info.Mode().IsRegular():
			return mainOf(dir, git)
		}
	}
	return ""
}

// mainOf returns the main directory of a repository by the file .git of a worktree; a
// submodule, which has one too, is a repository of its own.
func mainOf(dir, git string) string {
	text, _ := files.Read(git, maxPath)
	to := strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir: "))
	if !filepath.IsAbs(to) {
		to = filepath.Join(dir, to)
	}
	i := strings.LastIndex(to, "/worktrees/")
	if i <= 0 {
		return dir
	}
	to = filepath.Clean(to[:i])
	if strings.HasPrefix(filepath.Base(to), ".") { // .git; for a bare one also .bare
		return filepath.Dir(to)
	}
	return strings.TrimSuffix(to, ".git")
}
