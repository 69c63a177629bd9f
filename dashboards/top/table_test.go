package top

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestTable: a line each, those that need somebody first, in 80 cells and in more.
func TestTable(t *testing.T) {
	for width, want := range map[int]string{
		60: "NAME CONTEXT USED REPLIES CMP STATE FLAGS",
		80: "PROJECT NAME CONTEXT USED REPLIES CMP STATE FLAGS SEEN",
	} {
		all := topFleet().Sessions
		Sort(all, ByUrgency)
		var b strings.Builder
		if err := (Table{Width: width}).Write(&b, all, topNow); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != 8 || strings.Join(strings.Fields(lines[0]), " ") != want || !strings.Contains(lines[1], "asks") || strings.Contains(b.String(), "gone") {
			t.Errorf("in %d cells:\n%s", width, &b)
		}
		for _, line := range lines {
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("%d cells in %d: %s", n, width, line)
			}
		}
	}
}

// TestParseOrder: each order has its name, and an unknown one names them all.
func TestParseOrder(t *testing.T) {
	for i, name := range Orders() {
		if o, err := ParseOrder(name); err != nil || o != Order(i) || o.String() != name {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
	if _, err := ParseOrder("fullest"); err == nil || !strings.Contains(err.Error(), "urgency, pressure, replies") {
		t.Errorf("%v", err)
	}
}
