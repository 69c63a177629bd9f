package dashboards

// columns is the width of Grafana's grid.
const columns = 24

// place gives panels their ids and their places: from left to right, and below when the
// line is full. A row, or a panel that does not fit, begins a new line under the tallest
// panel of the one before. What a collapsed row hides is placed below it, where nothing
// else knows of it until it is opened.
func place(panels []Panel) []Panel {
	id := 0
	return placed(panels, 0, &id)
}

func placed(panels []Panel, y int, id *int) []Panel {
	x, tallest := 0, 0
	for i := range panels {
		p := &panels[i]
		if x+p.width > columns || p.Type == "row" {
			x, y, tallest = 0, y+tallest, 0
		}
		*id++
		p.ID, p.GridPos = *id, GridPos{H: p.height, W: p.width, X: x, Y: y}
		x, tallest = x+p.width, max(tallest, p.height)
		placed(p.Panels, y+p.height, id)
	}
	return panels
}

// collapsed hides panels. The first is the row that heads them. They ask nothing
// until somebody opens it.
func collapsed(panels []Panel) []Panel {
	head := panels[0]
	head.Collapsed, head.Panels = new(true), panels[1:]
	return []Panel{head}
}
