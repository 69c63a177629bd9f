package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

// TestCatchUp tests that after a restart originals are applied before copies: the first owns
// what both contain.
func TestCatchUp(t *testing.T) {
	change := func(path string, f func(*transcript.Change)) transcript.Change {
		c := transcript.Change{Whole: true, Cursor: transcript.Cursor{Path: path}}
		c.Session.Started = 10
		c.Session.Active = 20
		f(&c)
		return c
	}
	copied := func(c *transcript.Change) {
		c.Compactions = []transcript.Compaction{{
			Key:    1,
			Copied: true,
		}}
	}
	plain := func(*transcript.Change) {}
	grown := func(c *transcript.Change) { c.Whole = false }
	var u Arrivals
	var got []string
	take := func(c transcript.Change) {
		name := c.Cursor.Path
		if c.Gone {
			name += " gone"
		}
		if c.From != "" {
			name += " from " + c.From
		}
		got = append(got, name)
	}
	for _, c := range []transcript.Change{
		change("named copy", copied),
		change("agent", func(c *transcript.Change) { c.Parent = "p" }),
		change("known", grown),
		change("no time", func(c *transcript.Change) { c.Session.Started = 0 }),
		change("copy", func(c *transcript.Change) { c.Session.Active = 30 }),
		change("older", func(c *transcript.Change) { c.Session.Started = 5 }),
		change("origin", plain),
		change("gone", plain),
		change("known moved", func(c *transcript.Change) {
			c.Whole = false
			c.From = "before"
		}),
		change("gone", func(c *transcript.Change) {
			*c = transcript.Change{
				Cursor: c.Cursor,
				Gone:   true,
			}
		}),
		change("origin", grown), // it continues
		change("moved copy", func(c *transcript.Change) {
			c.Whole = false
			c.From = "copy"
		}),
	} {
		if !u.Hold(&c) {
			take(c)
		}
	}
	got = append(got, "caught up")
	u.Release(take)
	u.Release(take) // nothing is left
	want := []string{
		"known", "known moved from before", "caught up",
		"older", "gone", "gone gone", "origin", "origin", "copy", "moved copy from copy", "no time", "named copy", "agent",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
