package projects

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sm/handoff/files"
	"sm/observer/fleet"
)

// maxGit limits the size of a .git file, in bytes.
const maxGit = 4096

// Name returns the name of a working directory's project: by the repository
// that the directory or its worktree belongs to, else by the path alone. It
// reads the disk.
func Name(dir string) string {
	return fleet.ProjectOf(cmp.Or(repository(dir), dir))
}

// Names is like [Name] until a disk takes too long, and then uses the path
// alone.
type Names struct{ slow bool }

// Of returns the name of a working directory's project.
func (n *Names) Of(dir string) string {
	if !n.slow {
		found := make(chan string, 1)
		go func() { found <- Name(dir) }() // never ends if the disk does not answer
		select {
		case name := <-found:
			return name
		case <-time.After(time.Second):
			n.slow = true
		}
	}
	return fleet.ProjectOf(dir)
}

// repository returns the main directory of the repository that contains a
// directory, "" for none. A repository in the home directory contains the
// user's settings, and does not count for the directories below.
func repository(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	home, _ := os.UserHomeDir()
	for dir = filepath.Clean(dir); dir != home && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		git := filepath.Join(dir, ".git")
		if text, err := files.Read(git, maxGit); err == nil {
			return mainOf(dir, string(text))
		}
		if _, err := os.Stat(git); err == nil { // usually a directory
			return dir
		}
	}
	return ""
}

// mainOf returns the main directory of a repository, or a bare one without its
// suffix, by the content of the .git file in a worktree. A submodule, which
// also has such a file, is a repository of its own.
func mainOf(dir, git string) string {
	git = filepath.Dir(strings.TrimSpace(strings.TrimPrefix(git, "gitdir: ")))
	git, isWorktree := strings.CutSuffix(git, "/worktrees")
	if !isWorktree || git == "" {
		return dir
	}
	git = strings.TrimSuffix(strings.TrimSuffix(git, ".git"), ".bare")
	if filepath.IsAbs(git) {
		return git
	}
	return filepath.Join(dir, git)
}
