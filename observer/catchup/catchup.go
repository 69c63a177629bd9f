// Package catchup puts the changes of transcripts that came while no observer ran into the order in which they count.
//
// A message or a compaction may be in several files, and the file that is applied first owns it. The follower reads files
// in any order. So changes of files that were known before come first; the others wait, and then originals come before
// copies. It keeps no more than the changes that wait.
package catchup

import (
	"cmp"
	"maps"
	"slices"

	"sm/transcript"
)

// Queue keeps the changes of new files until those of known files have been applied. The zero value is empty.
type Queue struct {
	files map[string]*arrival // by path
}

// arrival is the changes of one file, in order.
type arrival struct {
	changes []transcript.Change
	copied  bool
}

// Hold keeps a change of a new file for later, and reports whether it did.
func (u *Queue) Hold(c *transcript.Change) bool {
	path := c.Cursor.Path
	x := u.files[path]
	if moved := u.files[c.From]; c.From != "" && moved != nil {
		delete(u.files, c.From)
		x = moved
	}
	if x == nil && !c.Whole {
		return false
	}
	if x == nil {
		x = &arrival{}
	}
	if u.files == nil {
		u.files = map[string]*arrival{}
	}
	u.files[path] = x
	x.changes = append(x.changes, *c)
	x.copied = x.copied || slices.ContainsFunc(c.Compactions, func(e transcript.Compaction) bool { return e.Copied })
	return true
}

// Release applies the changes that were kept, the originals first. The queue is empty then.
func (u *Queue) Release(apply func(transcript.Change)) {
	paths := slices.SortedFunc(maps.Keys(u.files), func(a, b string) int {
		x := u.files[a]
		y := u.files[b]
		c := &x.changes[0]
		d := &y.changes[0]
		return cmp.Or(
			rank(c.Parent != "")-rank(d.Parent != ""),
			rank(x.copied)-rank(y.copied),
			cmp.Compare(uint64(c.Session.Started)-1, uint64(d.Session.Started)-1), // 0, for no time at all, comes last
			cmp.Compare(c.Session.Active, d.Session.Active),
			cmp.Compare(a, b),
		)
	})
	for _, path := range paths {
		for _, c := range u.files[path].changes {
			apply(c)
		}
	}
	u.files = nil
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}
