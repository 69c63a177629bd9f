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

// maxGit bounds a file .git, in bytes.
const maxGit = 4096

// Name names the project of a working directory: by the repository that the directory or its
// worktree belongs to, else by the path alone. It reads the disk.
func Name(dir string) string {
	return fleet.ProjectOf(cmp.Or(repository(dir), dir))
}

// Names names projects like [Name] until a disk takes too long: then by the path alone.
type Names struct{ slow bool }

// Of names the project of a working directory.
func (n *Names) Of(dir string) string {
	if !n.slow {
		found := make(chan string, 1)
		go func() { found <- Name(dir) }() // left alone if the disk never answers
		select {
		case name := <-found:
			return name
		case <-time.After(time.Second):
			n.slow = true
		}
	}
	return fleet.ProjectOf(dir)
}

// repository returns the main directory of the repository that a directory is in, "" for none.
// One in the home directory has the user's settings: it is not that of what lies below.
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
		if _, err := os.Stat(git); err == nil { // mostly a directory
			return dir
		}
	}
	return ""
}

// mainOf returns the main directory of a repository, or a bare one without its suffix, by the
// file .git in a worktree. A submodule, which has one too, is a repository of its own.
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
