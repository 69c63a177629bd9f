package fleet

import (
	"fmt"
	"sm/transcript"
	"sm/transcript/clients/clientstest"
	"testing"
	"time"
)

func TestLabels(t *testing.T) {
	f := settled()
	for _, c := range []struct{ name, want string }{
		{"12345678-aaaa-4000-8000-000000000001", "12345678"},
		{"12345678-aaaa-4000-8000-000000000002", "12345678-aaa"},
		{"12345678-aaaa-4000-8000-000000000003", "12345678-aaaa-40"},
		{"12345678-aaa", "12345678-aaa-2"},
		{"12345678", "12345678-2"},
		{"full", "full"},
		{"full", "full-2"},
		{"full-2", "full-2-2"},
		{"", "session"},
		{"a b/c:d\né", "a_b_c_d_"},
		{"a b/c:d\né", "a_b_c_d__"},
		{"a b/c:d\né", "a_b_c_d__-2"},
	} {
		if got := f.label(c.name, labelLength); got != c.want {
			t.Errorf("%q: got %q, want %q", c.name, got, c.want)
		}
	}
	given := map[string]bool{}
	for i := range 3_000 {
		label := f.label(fmt.Sprintf("%036d", i%7), labelLength)
		if given[label] {
			t.Fatal(label, " given twice")
		}
		given[label] = true
	}
}

// A label stays with its session: when the file goes and comes back, and after a
// restart; no session that comes later gets it.
func TestLabelsStay(t *testing.T) {
	const a, b = "12345678-aaaa-4000-8000-000000000001", "12345678-bbbb-4000-8000-000000000001"
	papers := []*paper{
		newPaper("/p/x/"+b+".jsonl", prompt(before(1), "p1")),
		newPaper("/p/x/"+a+".jsonl", prompt(before(2), "p2")),
	}
	f := inAllOrders(t, papers)
	disk := newStore()
	check := func(f *Fleet, id, want string) {
		t.Helper()
		if v, err := f.View(id, created); err != nil || v.Label != want {
			t.Errorf("%s is called %q, want %q: %v", id, v.Label, want, err)
		}
	}
	check(f, a, "12345678") // the older one
	check(f, b, "12345678-bbb")
	f.Apply(papers[1].gone())
	f.Apply(newPaper("/p/x/12345678-cccc-4000-8000-000000000001.jsonl", prompt(after(1), "p3")).whole())
	check(f, "12345678-cccc-4000-8000-000000000001", "12345678-ccc")
	d, _ := f.Take()
	disk.put(d)
	f = New(Options{Clients: clientstest.Table()}, disk.stored(t))
	f.Apply(papers[1].whole())
	check(f, a, "12345678")
	if seen := f.recordOf(a).Seen; !seen.Equal(created.Add(-2 * time.Minute)) {
		t.Error("first seen", seen)
	}
}

func TestMove(t *testing.T) {
	lines := []string{reply(after(1), "m1", 9_000, 10), boundary(after(2), "b1", "auto", 9_000)}
	for _, c := range []struct{ name, from, to, label string }{
		{"to another project", "/p/a/" + uuid(1) + ".jsonl", "/p/b/" + uuid(1) + ".jsonl", labelled(1)},
		{"of a file without an id", "/p/a/full.jsonl", "/p/b/full.jsonl", "full"},
		{"that takes the id away", "/p/a/" + uuid(1) + ".jsonl", "/p/a/" + uuid(1) + ".old.jsonl", labelled(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := settled()
			disk := newStore()
			p := newPaper(c.from, lines...)
			f.Apply(p.whole())
			want := map[string]figures{c.label: {one(auto), transcript.TriggerCounts{}, 2, 30, 0, 0}}
			p.move(c.to)
			moved := p.add(reply(after(3), "m2", 9_000, 20)).grown()
			moved.From = c.from
			f.Apply(moved)
			diff(t, "figures", want, figuresOf(f))
			d, _ := f.Take()
			disk.put(d)
			if len(disk.files) != 1 || disk.files[c.to].Cursor.Path != c.to {
				t.Errorf("stored: %+v", disk.files)
			}
			f = New(Options{Clients: clientstest.Table(), Created: created, Ledger: disk}, disk.stored(t))
			diff(t, "figures after a restart", want, figuresOf(f))
			f.Apply(p.whole())
			diff(t, "figures read again", want, figuresOf(f))
			if n := f.Counters(); n.Tokens.Output != 30 || n.Compactions[auto] != 1 {
				t.Errorf("counted %+v", n)
			}
			if v := f.Views(created)[0]; v.Path != c.to {
				t.Error(v.Path)
			}
		})
	}
}

// A move over another file is the end of that one; a move that was seen as two
// files and then one counts nothing twice either.
func TestMoveOver(t *testing.T) {
	f := settled()
	a := ofSession(1, reply(after(1), "m1", 9_000, 10))
	b := newPaper("/p/b/full.jsonl", reply(after(1), "m2", 9_000, 7))
	f.Apply(a.whole())
	f.Apply(b.whole())
	c := b.grown()
	c.From = b.path
	c.Cursor.Path = a.path
	c.Name = a.name
	f.Apply(c)
	diff(t, "moved over", map[string]figures{labelled(1): {Messages: 1, Output: 7}}, figuresOf(f))
	late := newPaper("/p/z/"+uuid(2)+".jsonl", reply(after(1), "m3", 9_000, 8))
	f.Apply(late.whole())
	gone := late.gone()
	late.move("/p/y/" + uuid(2) + ".jsonl")
	f.Apply(late.add(reply(after(3), "m4", 9_000, 1)).whole())
	f.Apply(gone)
	f.Apply(gone)
	if v, err := f.View(
		uuid(2),
		created,
	); err != nil || v.Path != late.path || v.Messages != 2 ||
		f.Counters().Tokens.Output != 26 {
		t.Errorf("%+v %v, counted %d", v, err, f.Counters().Tokens.Output)
	}
}

func TestTwins(t *testing.T) {
	f := settled()
	a := ofSession(1, reply(after(1), "m1", 9_000, 10))
	b := newPaper("/p/z/"+uuid(1)+".jsonl", reply(after(1), "m1", 9_000, 10))
	f.Apply(a.whole())
	f.Apply(b.whole())
	shown := func() string { return f.Views(created)[0].Path }
	if shown() != a.path { // all is equal but the path
		t.Error(shown())
	}
	f.Apply(b.add(`{"type":"mode"}`).grown())
	if shown() != b.path { // of equal times the longer one
		t.Error(shown())
	}
	f.Apply(a.add(reply(after(2), "m2", 9_000, 5)).grown())
	if v := f.Views(created); len(v) != 1 || v[0].Path != a.path || v[0].Messages != 2 {
		t.Error(v)
	}
	f.Apply(a.gone())
	if v := f.Views(created); len(v) != 1 || v[0].Path != b.path || v[0].Messages != 1 {
		t.Error(v)
	}
	f.Apply(b.gone())
	if len(f.Views(created)) != 0 || f.Counters().Tokens.Output != 15 {
		t.Error("something is left")
	}
}
