package fleet

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sm/transcript"
)

// Arrivals keeps the changes of new files until those of known files have been
// applied, and sorts them. A message or a compaction may be in several files,
// and the file that is applied first owns it, while the follower reads files in
// any order. The zero value is empty.
type Arrivals struct {
	files map[string]*arrival // by path
}

// arrival is a file with its changes, in order.
type arrival struct {
	file
	changes []transcript.Change
}

// Hold keeps a change of a new file for later, and reports whether it did.
func (u *Arrivals) Hold(c *transcript.Change) bool {
	path := c.Cursor.Path
	x := cmp.Or(u.files[c.From], u.files[path])
	if x == nil && !c.Whole {
		return false
	}
	if x == nil {
		x = &arrival{file: file{File: File{Session: c.Session}, sub: c.Parent != ""}}
	}
	if u.files == nil {
		u.files = map[string]*arrival{}
	}
	delete(u.files, c.From)
	u.files[path] = x
	x.changes = append(x.changes, *c)
	x.backlog = append(x.backlog, past{compactions: c.Compactions})
	return true
}

// Release applies the changes that were kept, originals first, and drops them.
func (u *Arrivals) Release(apply func(transcript.Change)) {
	paths := slices.SortedFunc(maps.Keys(u.files), func(a, b string) int {
		return cmp.Or(compareOrigin(&u.files[a].file, &u.files[b].file), strings.Compare(a, b))
	})
	for _, path := range paths {
		for _, c := range u.files[path].changes {
			apply(c)
		}
	}
	u.files = nil
}
