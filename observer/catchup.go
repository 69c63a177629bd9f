package observer

import (
	"cmp"
	"slices"

	"sm/transcript"
)

// catchUp holds back files that came while no observer ran, until what known ones
// have gained is in. Who comes first owns what several files hold, and the follower
// reads in any order: so the known come first, and then origins before copies.
type catchUp struct {
	files map[string]*arrival // by path
}

// arrival is what is told of one file, in order.
type arrival struct {
	changes []transcript.Change
	copied  bool
}

// hold keeps a change for later and says so.
func (u *catchUp) hold(c *transcript.Change) bool {
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

// release gives back what has been held, once.
func (u *catchUp) release(apply func(transcript.Change)) {
	paths := make([]string, 0, len(u.files))
	for path := range u.files {
		paths = append(paths, path)
	}
	slices.SortFunc(paths, func(a, b string) int {
		x, y := u.files[a], u.files[b]
		c, d := &x.changes[0], &y.changes[0]
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
