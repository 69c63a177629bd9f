// Package projects keeps the folders in which clients keep their transcripts: those that
// are configured, and those of clients with a configuration directory of their own, which
// it learns from the transcripts that their hooks name. [Name] names a project.
//
// Invariants: a folder with several names is followed once; no more than [MaxLearnt]
// are learnt; it looks at folders without its lock, so that a disk that does not answer
// delays one caller alone. It follows and stores nothing.
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

// MaxLearnt bounds the projects folders that are learnt from clients.
const MaxLearnt = 32

// Folders are the projects folders, for any number of goroutines. A client with a
// CLAUDE_CONFIG_DIR or CODEX_HOME of its own names its transcript in each hook: its folder
// is followed from then on.
type Folders struct {
	clients clients.Table
	fixed   []string // those that are configured, as named and resolved
	log     *slog.Logger

	mu     sync.Mutex
	learnt []string // resolved
	warned bool     // that there is no room for more
	// changed are folders that are to be remembered, or forgotten.
	changed map[string]bool
}

// New goes on from the folders learnt in earlier runs. Those that are not there any
// more, or are no longer fit to be followed, are forgotten.
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

// Take calls put with each folder that is to be remembered, or forgotten, since the last Take.
func (r *Folders) Take(put func(path string, remember bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for dir, remember := range r.changed {
		put(dir, remember)
	}
	clear(r.changed)
}

// find returns what the first format finds that finds anything.
func (r *Folders) find(in func(*transcript.Format) (path string, ok bool)) (root follow.Root, ok bool) {
	for _, c := range r.clients {
		if path, ok := in(c.Format); ok {
			return follow.Root{Path: path, Format: c.Format}, true
		}
	}
	return root, false
}

// has reports whether a path is in one of the folders.
func (r *Folders) has(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(
		slices.Concat(r.fixed, r.learnt),
		func(dir string) bool { return transcript.Within(dir, path) },
	)
}

// Learn looks at the transcript that a client has named for its session. fresh means that
// it lies in a projects folder that was not followed yet, and is from now on. Where there
// is no room for it, the folders that do not exist any more are dropped.
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

// makeRoom drops the learnt folders that do not exist any more if there is no room for
// more.
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
