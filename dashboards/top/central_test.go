package top

import "testing"

// TestCentralKeys checks that keys that need the observer of a machine show that, and that
// the others work.
func TestCentralKeys(t *testing.T) {
	t.Parallel()
	x := topScene(200, 50, false)
	centralScene(x)
	want := note{"only the observer on build-machine-two.example can do this; run 'sm top' there", true}
	for _, key := range []string{"s", "a", "o", "h"} {
		if x.keys(key); x.take().does != nothing || x.note != want {
			t.Errorf("%s: got %+v, want %+v", key, x.note, want)
		}
	}
	x.keys("y")
	if a := x.take(); a.does != copyID {
		t.Errorf("y asks for %v", a.does)
	}
	x.keys("/", "b", "u", "i", "l", "d", "-", "enter")
	for _, s := range x.rows {
		if s.Host != "build-machine-two.example" {
			t.Errorf("the filter shows %s of %s", s.Label, s.Host)
		}
	}
	if len(x.rows) == 0 {
		t.Error("no session has this host")
	}
}
