package top

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCentralKeys: what only the observer of a machine can do is not asked for, and it is said why; the rest works.
func TestCentralKeys(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"s", "a", "o", "h"} {
		x := topScene(200, 50, false)
		centralScene(x)
		x.keys("enter", key)
		if a := x.take(); a.does != nothing || x.draft.stage != noMessage || x.view != viewDetail {
			t.Errorf("%s: asks for %v, drafts at %v, shows %v", key, a.does, x.draft.stage, x.view)
		}
		if want := "only the observer on build-machine-two.example can do this; run 'sm top' there"; !x.note.failed || !strings.HasPrefix(x.note.text, want) {
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

// TestHostColumn: it is there with the first of the columns where there are several hosts, and else nowhere.
func TestHostColumn(t *testing.T) {
	t.Parallel()
	got := map[bool]string{}
	for _, many := range []bool{false, true} {
		x := topScene(60, 20, false)
		if many {
			centralScene(x)
		}
		for line := range strings.Lines(x.screen()) {
			if strings.Contains(line, "NAME") {
				got[many] = strings.Join(strings.Fields(line), " ")
			}
		}
	}
	want := map[bool]string{false: "NAME CONTEXT USED REPLIES CMP STATE FLAGS", true: "HOST NAME CONTEXT USED REPLIES CMP STATE"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
