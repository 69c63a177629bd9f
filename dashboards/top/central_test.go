package top

import (
	"strings"
	"testing"
)

// TestCentralKeys checks that keys for which only the observer of a machine has
// an answer say so, and that the others work.
func TestCentralKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"s", "a", "o", "h"} {
		x := topScene(200, 50, false)
		centralScene(x)
		x.keys("enter", key)
		if a := x.take(); a.does != nothing || x.draft.stage != noMessage ||
			x.view != viewDetail {
			t.Errorf(
				"%s: asks for %v, drafts at %v, shows %v",
				key,
				a.does,
				x.draft.stage,
				x.view,
			)
		}
		if want := "only the observer on build-machine-two.example can do this; run 'sm top' there"; !x.note.failed ||
			!strings.HasPrefix(x.note.text, want) {
			t.Errorf("%s: %q, want %q", key, x.note.text, want)
		}
	}
	x := topScene(200, 50, false)
	centralScene(x)
	x.keys("y")
	if a := x.take(); a.does != copyID {
		t.Errorf("y asks for %v", a.does)
	}
	x.keys("/", "b", "u", "i", "l", "d", "-", "enter")
	for _, s := range x.rows {
		if s.Host != "build-machine-two.example" {
			t.Errorf("the filter lets %s of %s through", s.Label, s.Host)
		}
	}
	if len(x.rows) == 0 {
		t.Error("no session has this host")
	}
}
