package fleet

import (
	"fmt"
	"testing"
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

// TestLabelsStay tests that a label stays with its session when the file is removed and comes
// back, and after a restart, and that no later session gets it.
func TestLabelsStay(t *testing.T) {
	const a, b = "12345678-aaaa-4000-8000-000000000001", "12345678-bbbb-4000-8000-000000000001"
	files := []*testFile{
		newTestFile("/p/x/"+b+".jsonl", prompt(before(1), "p1")),
		newTestFile("/p/x/"+a+".jsonl", prompt(before(2), "p2")),
	}
	f := inAllOrders(t, files)
	disk := newStore()
	check := func(f *Fleet, id, want string) {
		t.Helper()
		if v, err := f.View(id, created); err != nil || v.Agent.Label != want {
			t.Errorf("%s is called %q, want %q: %v", id, v.Agent.Label, want, err)
		}
	}
	check(f, a, "12345678") // the older one
	check(f, b, "12345678-bbb")
	f.Apply(files[1].gone())
	f.Apply(newTestFile(
		"/p/x/12345678-cccc-4000-8000-000000000001.jsonl",
		prompt(after(1), "p3"),
	).whole())
	check(f, "12345678-cccc-4000-8000-000000000001", "12345678-ccc")
	d, _ := f.Take()
	disk.put(d)
	f = disk.restored(t)
	f.Apply(files[1].whole())
	check(f, a, "12345678")
}
