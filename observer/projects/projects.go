// Package projects knows the folders in which clients keep their transcripts: those that are configured, and those of
// clients with a configuration directory of their own, which it learns from the transcripts that their hooks name.
//
// Invariants: a folder is known once, under whatever names; no more than [MaxLearnt] are learnt; it looks at folders without
// its lock, so that a disk that does not answer delays one caller alone. It follows and stores nothing.
package projects

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sm/transcript"
	"sm/transcript/follow"
)

const (
	// MaxLearnt bounds the projects folders that are learnt from clients, maxAliases the
	// other paths by which these and the configured ones are known.
	MaxLearnt  = 32
	maxAliases = 256
)

// Folders knows the projects folders. It is for any number of goroutines. A client whose CLAUDE_CONFIG_DIR or CODEX_HOME is
// another one names its transcript in each hook: that folder is followed from then on.
type Folders struct {
	formats []*transcript.Format // of all clients

	mu     sync.Mutex
	real   []string // as they are followed, resolved where learnt
	known  []string // the same and other names of them
	fixed  int      // how many of known, at its start, are configured
	learnt int      // how many of real, at its end
	warned bool     // that there is no room for more
	log    *slog.Logger
}

// New goes on from the folders learnt in earlier runs. Those that are not there any
// more, or are no longer fit to be followed, are forgotten.
func New(
	formats []*transcript.Format,
	configured, stored []string,
	log *slog.Logger,
) (r *Folders, learnt []follow.Root, forgotten []string) {
	r = &Folders{formats: formats, log: log}
	for _, dir := range configured {
		dir = filepath.Clean(dir)
		r.known = append(r.known, dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		r.real = append(r.real, dir)
	}
	r.known = append(r.known, r.real...)
	r.fixed = len(r.known)
	for _, dir := range stored {
		root, ok := r.find(func(f *transcript.Format) (string, bool) {
			return follow.IsRoot(
				f,
				dir,
			)
		})
		if !ok || r.holds(r.real, root.Path) || r.learnt == MaxLearnt {
			forgotten = append(forgotten, dir)
			continue
		}
		r.add(root.Path)
		learnt = append(learnt, root)
	}
	return r, learnt, forgotten
}

// find gives what the first format finds that finds anything.
func (r *Folders) find(in func(*transcript.Format) (path string, ok bool)) (root follow.Root, ok bool) {
	for _, format := range r.formats {
		if path, ok := in(format); ok {
			return follow.Root{Path: path, Format: format}, true
		}
	}
	return root, false
}

func (r *Folders) add(real string) {
	r.learnt++
	r.real, r.known = append(r.real, real), append(r.known, real)
}

// holds reports whether a path is in one of the folders.
func (r *Folders) holds(list []string, path string) bool {
	return slices.ContainsFunc(list, func(dir string) bool {
		rest, ok := strings.CutPrefix(path, dir)
		return ok && (rest == "" || rest[0] == filepath.Separator)
	})
}

// knows reports whether a path is in a known folder.
func (r *Folders) knows(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds(r.known, path)
}

// Learn looks at the transcript that a client has named for its session. fresh says
// that it lies in a projects folder that is not followed yet, and which from now on counts
// as known. Where there is no room for it, the folders that do not exist any more are dropped.
func (r *Folders) Learn(path, session string) (root follow.Root, dropped []string, fresh bool) {
	none := follow.Root{}
	if path == "" || len(session) != len("00000000-0000-0000-0000-000000000000") ||
		r.knows(path) {
		return none, nil, false
	}
	root, ok := r.find(func(f *transcript.Format) (string, bool) {
		return follow.Elsewhere(
			f,
			path,
			session,
		)
	}) // without the lock: a disk that does not answer delays this hook alone
	if !ok {
		return none, nil, false
	}
	vanished := r.vanished()
	r.mu.Lock()
	defer r.mu.Unlock()
	dropped = r.drop(vanished)
	known := r.holds(r.real, root.Path)
	if !known && r.learnt == MaxLearnt {
		if !r.warned {
			r.warned = true
			r.log.Warn(
				"too many clients with a CLAUDE_CONFIG_DIR or CODEX_HOME of their own: the transcripts of further ones are not followed; name those of Claude Code in projects",
				"followed", MaxLearnt,
			)
		}
		return none, dropped, false
	}
	if len(r.known) < maxAliases {
		if name, ok := root.Format.RootOf(path, session); ok {
			r.known = append(r.known, name)
		}
	}
	if known {
		return none, dropped, false
	}
	r.add(root.Path)
	return root, dropped, true
}

// vanished lists the learnt folders, and other names of them, that do not exist any more, when
// there is no room for more.
func (r *Folders) vanished() map[string]bool {
	r.mu.Lock()
	var names []string
	if r.learnt == MaxLearnt || len(r.known) >= maxAliases {
		names = slices.Clone(r.known[r.fixed:])
	}
	r.mu.Unlock()
	gone := map[string]bool{}
	for _, name := range names { // without the lock, as above
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			gone[name] = true
		}
	}
	return gone
}

// drop makes room, and returns the learnt folders that have gone.
func (r *Folders) drop(vanished map[string]bool) (dropped []string) {
	kept := r.real[:len(r.real)-r.learnt]
	for _, dir := range r.real[len(kept):] {
		if vanished[dir] {
			dropped = append(dropped, dir)
		} else {
			kept = append(kept, dir)
		}
	}
	r.real, r.learnt = kept, r.learnt-len(dropped)
	known := slices.DeleteFunc(
		r.known[r.fixed:],
		func(name string) bool { return vanished[name] },
	)
	r.known = r.known[:r.fixed+len(known)]
	return dropped
}
