package dashboards

// columns is the width of Grafana's grid.
const columns = 24

// place gives panels their ids and their places: from left to right, and below when the
// line is full. A row, or a panel that does not fit, begins a new line under the tallest
// panel of the one before.
func place(panels []Panel) []Panel {
	x, y, tallest := 0, 0, 0
	for i := range panels {
		p := &panels[i]
		if x+p.width > columns || p.Type == "row" {
			x, y, tallest = 0, y+tallest, 0
		}
		p.ID, p.GridPos = i+1, GridPos{H: p.height, W: p.width, X: x, Y: y}
		x, tallest = x+p.width, max(tallest, p.height)
	}
	return panels
}
