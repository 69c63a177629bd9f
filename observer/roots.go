package observer

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sm/transcript/claude"
	"sm/transcript/follow"
)

const (
	// maxLearnt bounds the projects folders that are learnt from clients, maxAliases the
	// other paths by which these and the configured ones are known.
	maxLearnt  = 32
	maxAliases = 256
)

// roots knows the projects folders. A client whose CLAUDE_CONFIG_DIR is another one names
// its transcript in each hook: that folder is followed from then on.
type roots struct {
	mu     sync.Mutex
	real   []string // as they are followed, resolved where learnt
	known  []string // the same and other names of them
	fixed  int      // how many of known, at its start, are configured
	learnt int      // how many of real, at its end
	told   bool     // that there is no room for more
	log    *slog.Logger
}

// newRoots goes on from the folders learnt in earlier runs. Those that are not there any
// more, or are no longer fit to be followed, are forgotten.
func newRoots(configured, stored []string, log *slog.Logger) (r *roots, learnt, forgotten []string) {
	r = &roots{log: log}
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
		real, ok := follow.IsRoot(claude.Format(), dir)
		if !ok || r.holds(r.real, real) || r.learnt == maxLearnt {
			forgotten = append(forgotten, dir)
			continue
		}
		r.add(real)
		learnt = append(learnt, real)
	}
	return r, learnt, forgotten
}

func (r *roots) add(real string) {
	r.learnt++
	r.real, r.known = append(r.real, real), append(r.known, real)
}

// holds says whether a path lies in one of the folders.
func (r *roots) holds(list []string, path string) bool {
	return slices.ContainsFunc(list, func(dir string) bool {
		rest, ok := strings.CutPrefix(path, dir)
		return ok && (rest == "" || rest[0] == filepath.Separator)
	})
}

// knows says whether a path lies in a folder that is known.
func (r *roots) knows(path string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds(r.known, path)
}

// elsewhere looks at the transcript that a client has named for its session. fresh says
// that it lies in a projects folder that is not followed yet, and which from now on counts
// as known. Where there is no room for it, the folders that do not exist any more are dropped.
func (r *roots) elsewhere(path, session string) (root string, dropped []string, fresh bool) {
	if path == "" || len(session) != len("00000000-0000-0000-0000-000000000000") {
		return "", nil, false
	}
	if r.knows(path) {
		return "", nil, false
	}
	root, ok := follow.Elsewhere(claude.Format(), path, session) // without the lock: a disk that does not answer delays this hook alone
	if !ok {
		return "", nil, false
	}
	vanished := r.vanished()
	r.mu.Lock()
	defer r.mu.Unlock()
	dropped = r.drop(vanished)
	known := r.holds(r.real, root)
	if !known && r.learnt == maxLearnt {
		if !r.told {
			r.told = true
			r.log.Warn("too many clients with a CLAUDE_CONFIG_DIR of their own: the transcripts of further ones are not followed; name them in projects", "followed", maxLearnt)
		}
		return "", dropped, false
	}
	if len(r.known) < maxAliases {
		r.known = append(r.known, filepath.Dir(filepath.Dir(path)))
	}
	if known {
		return "", dropped, false
	}
	r.add(root)
	return root, dropped, true
}

// vanished lists the learnt folders, and other names of them, that do not exist any more, when
// there is no room for more.
func (r *roots) vanished() map[string]bool {
	r.mu.Lock()
	var names []string
	if r.learnt == maxLearnt || len(r.known) >= maxAliases {
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
func (r *roots) drop(vanished map[string]bool) (dropped []string) {
	kept := r.real[:len(r.real)-r.learnt]
	for _, dir := range r.real[len(kept):] {
		if vanished[dir] {
			dropped = append(dropped, dir)
		} else {
			kept = append(kept, dir)
		}
	}
	r.real, r.learnt = kept, r.learnt-len(dropped)
	known := slices.DeleteFunc(r.known[r.fixed:], func(name string) bool { return vanished[name] })
	r.known = r.known[:r.fixed+len(known)]
	return dropped
}

// learn follows the projects folder of a transcript that a client has named, if it is new.
func (a *App) learn(ctx context.Context, path, session string) {
	if a.o.Demo {
		return
	}
	root, dropped, fresh := a.roots.elsewhere(path, session)
	changes := make([]rootChange, 0, len(dropped)+1)
	for _, dir := range dropped {
		changes = append(changes, rootChange{path: dir})
	}
	if fresh {
		select {
		case a.learnt <- (follow.Root{Path: root, Format: claude.Format()}): // there is room, but for a follower that has not read the last 32
		case <-a.loopEnded:
		}
		a.log.Info("a client keeps its transcripts elsewhere: following them, too")
		a.log.Debug("following", "projects", root)
		changes = append(changes, rootChange{root, true})
	}
	if len(changes) == 0 {
		return
	}
	// Who has hung up has told it all the same.
	if err := a.do(context.WithoutCancel(ctx), func(c *core) { c.roots = append(c.roots, changes...) }); err != nil {
		a.log.Debug("a projects folder is not remembered", "err", err)
	}
}

// rootChange is a projects folder that is to be remembered, or forgotten.
type rootChange struct {
	path string
	kept bool
}
