package follow

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sm/transcript"
)

const (
	// clientBytes limits a registry entry; real ones have some 600 bytes.
	clientBytes = 64 << 10
	// startingFor is how long an entry that has not been updated does not count.
	// With --continue, Claude Code 2.1.330 updates it within 0.7 s.
	startingFor = 5 * time.Second
	// indexBytes limits an index of names, which has some 120 bytes per name.
	indexBytes = 16 << 20
)

// entry is one file of a registry.
type entry struct {
	transcript.Client
	registry *transcript.Registry
	index    string // path of the file with the names of sessions, "" for none
	stamp    stamp  // of the content that was read
	runs     bool
}

// nameIndex is a file with the names of sessions.
type nameIndex struct {
	stamp stamp // of the content that was read
	names map[string]string
}

// registries has the contents of the clients' registries.
type registries struct {
	entries map[string]*entry               // by path
	indexes map[string]nameIndex            // by path
	clients []transcript.Client             // the valid entries, ordered by process
	unsent  bool                            // clients has not been sent
	dirs    map[string]*transcript.Registry // by folder
	stale   bool                            // an event has occurred in these folders
	roots   *rootList
	watch   *watcher
	alive   func(pid int, start string) bool // nil if the system does not show it
	to      chan<- []transcript.Client       // nil without a receiver
}

// unwatched reports whether the folder of a registry is not watched; it may not
// exist yet.
func (r *registries) unwatched() bool {
	for dir := range r.dirs {
		if !r.watch.watched[dir] {
			return true
		}
	}
	return false
}

// readAll reads the registries' entries that have changed.
func (r *registries) readAll() {
	if r.to == nil {
		return
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
			path := filepath.Join(dir, file.Name())
			is, err := lstat(path)
			if err != nil || !is.IsRegular() || is.size > clientBytes ||
				!registry.Entry(file.Name()) {
				continue
			}
			present[path] = true
			if e := r.entries[path]; e == nil || e.stamp != is.stamp {
				r.entries[path] = r.read(path, registry, index, is.stamp)
			}
		}
	}
	maps.DeleteFunc(r.entries, func(path string, _ *entry) bool { return !present[path] })
	r.check()
}

// read reads one entry.
func (r *registries) read(
	path string,
	registry *transcript.Registry,
	index string,
	is stamp,
) *entry {
	e := &entry{
		registry: registry,
		index:    index,
		stamp:    is,
	}
	if text, err := os.ReadFile(path); err == nil {
		e.Client, e.runs = registry.Read(filepath.Base(path), text)
	}
	if !e.runs { // incomplete: read it again
		e.stamp = stamp{}
		r.stale = true
	}
	return e
}

// check finds the valid entries: a client that was killed leaves its entry
// behind.
func (r *registries) check() {
	var valid []transcript.Client
	for path, e := range r.entries {
		switch {
		case e.registry.Runs != nil:
			e.Client, e.runs = e.registry.Runs(path, e.Client)
		case e.runs && r.alive != nil:
			e.runs = r.alive(e.PID, ticks(e.ProcStart))
		}
		age := time.Since(time.Unix(0, e.stamp.modified))
		if !e.runs || e.Starting && age < startingFor {
			continue
		}
		if e.index != "" {
			e.Name = r.names(e)[e.SessionID]
		}
		valid = append(valid, e.Client)
	}
	slices.SortFunc(valid, func(a, b transcript.Client) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), strings.Compare(a.SessionID, b.SessionID))
	})
	if !slices.Equal(valid, r.clients) {
		r.clients = valid
		r.unsent = true
	}
}

// names returns the names of sessions in an index, which it reads again if it
// has changed.
func (r *registries) names(e *entry) map[string]string {
	is, err := stat(e.index)
	if err != nil || !is.IsRegular() || is.size > indexBytes {
		return nil
	}
	if r.indexes[e.index].stamp != is.stamp {
		text, err := os.ReadFile(e.index)
		if err != nil {
			return nil
		}
		r.indexes[e.index] = nameIndex{is.stamp, e.registry.Names(text)}
	}
	return r.indexes[e.index].names
}

// ticks returns the start of a process if the kernel wrote it, in ticks since
// boot. It returns "" for any other form, which cannot be compared.
func ticks(start string) string {
	if _, err := strconv.ParseUint(start, 10, 64); err != nil {
		return ""
	}
	return start
}
