package dashboards

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlace(t *testing.T) {
	of := func(w, h int) Panel { return Panel{Type: "stat", width: w, height: h} }
	panels := place([]Panel{of(8, 4), of(12, 6), of(8, 2), of(16, 3), row("r"), of(24, 5)})
	want := []GridPos{{4, 8, 0, 0}, {6, 12, 8, 0}, {2, 8, 0, 6}, {3, 16, 8, 6}, {1, 24, 0, 9}, {5, 24, 0, 10}}
	for i, p := range panels {
		if diff := cmp.Diff(want[i], p.GridPos); diff != "" || p.ID != i+1 {
			t.Errorf("panel %d, id %d (-want +got):\n%s", i, p.ID, diff)
		}
	}
}

// overlaps are the titles of panels that share a place or leave the grid.
func overlaps(panels []Panel) (wrong []string) {
	taken := map[[2]int]string{}
	for _, p := range panels {
		g := p.GridPos
		if g.X < 0 || g.Y < 0 || g.W <= 0 || g.H <= 0 || g.X+g.W > columns {
			wrong = append(wrong, p.Title+" leaves the grid")
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					return append(wrong, p.Title+" lies on "+other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	return wrong
}

// checkGrid: panels from a line on do not overlap, and their lines are full: a gap at the end is a mistake in the widths.
func checkGrid(t *testing.T, name string, from int, panels []Panel) {
	t.Helper()
	for _, w := range overlaps(panels) {
		t.Errorf("%s: %s", name, w)
	}
	filled, end := 0, from
	for _, p := range panels {
		filled += p.GridPos.W * p.GridPos.H
		end = max(end, p.GridPos.Y+p.GridPos.H)
	}
	if filled != columns*(end-from) {
		t.Errorf("%s: %d cells of %d are filled", name, filled, columns*(end-from))
	}
}

func TestGrafanaNoOverlaps(t *testing.T) {
	for name, d := range Boards() {
		checkGrid(t, name, 0, d.Panels)
		hidden := 0
		for _, p := range d.Panels {
			if len(p.Panels) > 0 {
				hidden++
				checkGrid(t, name+": "+p.Title, p.GridPos.Y+1, p.Panels)
			}
			if p.Type == "row" && *p.Collapsed != (len(p.Panels) > 0) {
				t.Errorf("%s: %s hides %d panels: %v", name, p.Title, len(p.Panels), *p.Collapsed)
			}
		}
		if hidden < 2 {
			t.Errorf("%s: %d collapsed rows", name, hidden)
		}
	}
	bad := []Panel{{Title: "a", GridPos: GridPos{4, 12, 0, 0}}, {Title: "b", GridPos: GridPos{4, 12, 11, 3}}, {Title: "c", GridPos: GridPos{1, 4, 22, 9}}}
	if diff := cmp.Diff([]string{"b lies on a"}, overlaps(bad)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c leaves the grid"}, overlaps(bad[2:])); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
