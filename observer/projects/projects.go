// Package projects keeps the folders of the clients' transcripts: the
// configured ones, and those of clients with another configuration directory,
// which it learns from the transcripts that their hooks report. [Name] returns
// the name of a project.
//
// Invariants: a folder with several names is followed once; at most [MaxLearnt]
// are learned; folders are read without the lock, so that a disk that does not
// answer delays one caller only. The package neither follows nor stores
// anything.
package projects

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"sm/transcript"
	"sm/transcript/clients"
	"sm/transcript/follow"
)

// MaxLearnt limits the folders that are learned from clients.
const MaxLearnt = 32

// Folders has the folders of transcripts. It is safe for concurrent use. The
// folder of a client with another CLAUDE_CONFIG_DIR or CODEX_HOME is followed
// from the first hook that reports a transcript in it.
type Folders struct {
	clients clients.Table
	fixed   []string // the configured folders, also with symlinks resolved
	log     *slog.Logger

	mu     sync.Mutex
	learnt []string // with symlinks resolved
	warned bool     // the limit was logged
	// changed has the folders to store (true) or to remove from the store
	// (false).
	changed map[string]bool
}

// New returns the configured folders and those learned in earlier runs. Stored
// folders that are missing, or are not valid any more, are dropped.
func New(
	table clients.Table,
	stored []string,
	log *slog.Logger,
) (r *Folders, learnt []follow.Root) {
	r = &Folders{clients: table, log: log, changed: map[string]bool{}}
	for _, c := range table {
		for _, dir := range c.Dirs {
			r.fixed = append(r.fixed, filepath.Clean(dir))
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				r.fixed = append(r.fixed, real)
			}
		}
	}
	for _, dir := range stored {
		root, ok := r.find(func(f *transcript.Format) (string, bool) {
			return follow.IsRoot(f, dir)
		})
		if !ok || r.has(root.Path) || len(r.learnt) == MaxLearnt {
			r.changed[dir] = false
			continue
		}
		r.learnt = append(r.learnt, root.Path)
		learnt = append(learnt, root)
	}
	return r, learnt
}

// Take calls put with each folder to store, or to remove from the store, since
// the last Take.
func (r *Folders) Take(put func(path string, remember bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for dir, remember := range r.changed {
		put(dir, remember)
	}
	clear(r.changed)
}

// find returns the first result of in for any client's format.
func (r *Folders) find(in func(*transcript.Format) (path string, ok bool)) (root follow.Root, ok bool) {
	for _, c := range r.clients {
		if path, ok := in(c.Format); ok {
			return follow.Root{Path: path, Format: c.Format}, true
		}
	}
	return root, false
}

// has reports whether a path is in a known folder.
func (r *Folders) has(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(
		slices.Concat(r.fixed, r.learnt),
		func(dir string) bool { return transcript.Within(dir, path) },
	)
}

// Learn checks the transcript that a client has reported for its session. fresh
// means that it is in a folder that was not followed yet, and is from now on.
// At the limit, folders that do not exist any more are dropped.
func (r *Folders) Learn(path, session string) (root follow.Root, fresh bool) {
	if path == "" || len(session) != len("00000000-0000-0000-0000-000000000000") ||
		r.has(path) {
		return root, false
	}
	root, ok := r.find(func(f *transcript.Format) (string, bool) {
		return follow.Elsewhere(f, path, session)
	})
	if !ok || r.has(root.Path) {
		return root, false
	}
	r.makeRoom()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.learnt) == MaxLearnt {
		if !r.warned {
			r.warned = true
			r.log.Warn(
				"too many clients with a CLAUDE_CONFIG_DIR or CODEX_HOME of their own: the transcripts of further ones are not followed; name those of Claude Code in projects",
				"followed", MaxLearnt,
			)
		}
		return root, false
	}
	if slices.Contains(r.learnt, root.Path) { // by another caller, meanwhile
		return root, false
	}
	r.learnt = append(r.learnt, root.Path)
	r.changed[root.Path] = true
	return root, true
}

// makeRoom drops the learned folders that do not exist any more if MaxLearnt
// are known.
func (r *Folders) makeRoom() {
	r.mu.Lock()
	all := slices.Clone(r.learnt)
	r.mu.Unlock()
	if len(all) < MaxLearnt {
		return
	}
	gone := map[string]bool{}
	for _, dir := range all {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			gone[dir] = true
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.learnt = slices.DeleteFunc(r.learnt, func(dir string) bool {
		if gone[dir] {
			r.changed[dir] = false
		}
		return gone[dir]
	})
}
