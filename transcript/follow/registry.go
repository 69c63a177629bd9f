package follow

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sm/transcript"
)

const (
	// clientBytes bounds a registry entry; real ones have some 600 bytes.
	clientBytes = 64 << 10
	// indexBytes bounds an index of names, which has some 120 bytes a name.
	indexBytes = 16 << 20
)

// entry is one file of a registry.
type entry struct {
	transcript.Client
	registry *transcript.Registry
	index    string // path of the file with the names of sessions, "" for none
	stamp    stamp  // of what has been read
	runs     bool
}

// nameIndex is a file with the names of sessions.
type nameIndex struct {
	stamp stamp // of what has been read
	names map[string]string
}

// registries remembers the contents of the clients' registries.
type registries struct {
	entries map[string]*entry               // by path
	indexes map[string]*nameIndex           // by path
	clients []transcript.Client             // the valid entries, in the order of processes
	news    bool                            // these have not been sent
	dirs    map[string]*transcript.Registry // by folder
	stale   bool                            // something has happened in them
	roots   *rootList
	watch   *watcher
	alive   func(pid int, start string) bool // nil if the system does not show it
	to      chan<- []transcript.Client       // nil without a receiver
}

// outbox gives the channel and value to send, a nil channel when there is no news.
func (r *registries) outbox() (chan<- []transcript.Client, []transcript.Client) {
	if !r.news {
		return nil, nil
	}
	return r.to, r.clients
}

// unwatched reports whether a registry's folder is not watched: it may not
// be there yet.
func (r *registries) unwatched() bool {
	for dir := range r.dirs {
		if !r.watch.watched[dir] {
			return true
		}
	}
	return false
}

func (r *registries) sent() { r.news = false }

// readAll reads the registries' entries that have changed.
func (r *registries) readAll() {
	if r.to == nil {
		return
	}
	if r.entries == nil {
		r.entries = map[string]*entry{}
		r.indexes = map[string]*nameIndex{}
		r.dirs = map[string]*transcript.Registry{}
	}
	r.stale = false
	present := map[string]bool{}
	for _, root := range *r.roots {
		registry := root.formats[0].Registry
		if registry == nil {
			continue
		}
		dir := registry.Dir(root.path)
		r.dirs[dir] = registry
		index := ""
		if registry.Index != nil {
			index = registry.Index(root.path)
		}
		if is, err := stat(dir); err == nil && is.IsDir() {
			r.watch.add(dir)
		}
		files, _ := os.ReadDir(dir)
		for _, file := range files {
			if !registry.Entry(file.Name()) {
				continue
			}
			path := filepath.Join(dir, file.Name())
			is, err := lstat(path)
			if err != nil || !is.IsRegular() || is.size > clientBytes {
				continue
			}
			present[path] = true
			r.read(path, registry, index, is.stamp)
		}
	}
	for path := range r.entries {
		if !present[path] {
			delete(r.entries, path)
		}
	}
	r.check()
}

// read reads one entry, if it has changed.
func (r *registries) read(
	path string,
	registry *transcript.Registry,
	index string,
	now stamp,
) {
	if e := r.entries[path]; e != nil && e.stamp == now {
		return
	}
	var c transcript.Client
	text, err := os.ReadFile(path)
	whole := err == nil
	if whole {
		c, whole = registry.Read(filepath.Base(path), text)
	}
	if !whole { // half written: look again
		now = stamp{}
		r.stale = true
	}
	r.entries[path] = &entry{
		Client:   c,
		registry: registry,
		index:    index,
		stamp:    now,
		runs:     whole,
	}
}

// check finds the entries that are valid: a client that was killed leaves its file behind.
func (r *registries) check() {
	var valid []transcript.Client
	for path, e := range r.entries {
		switch {
		case e.registry.Runs != nil:
			e.Client, e.runs = e.registry.Runs(path, e.Client)
		case e.runs && r.alive != nil:
			e.runs = r.alive(e.PID, ticks(e.ProcStart))
		}
		if e.runs && e.index != "" {
			e.Name = r.names(e)[e.SessionID]
		}
		if e.runs {
			valid = append(valid, e.Client)
		}
	}
	slices.SortFunc(valid, func(a, b transcript.Client) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), strings.Compare(a.SessionID, b.SessionID))
	})
	if !slices.Equal(valid, r.clients) {
		r.clients = valid
		r.news = true
	}
}

// names returns the names of sessions in an index, which is read again if it has
// changed.
func (r *registries) names(e *entry) map[string]string {
	is, err := stat(e.index)
	if err != nil || !is.IsRegular() || is.size > indexBytes {
		return nil
	}

	known := r.indexes[e.index]
	if known == nil || known.stamp != is.stamp {
		text, err := os.ReadFile(e.index)
		if err != nil {
			return nil
		}
		known = &nameIndex{is.stamp, e.registry.Names(text)}
		r.indexes[e.index] = known
	}
	return known.names
}

// ticks is the start of a process as the kernel has it, in ticks since boot; empty for anything
// else, which cannot be compared.
func ticks(start string) string {
	if _, err := strconv.ParseUint(start, 10, 64); err != nil {
		return ""
	}
	return start
}
