package top

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// view is one of the screens.
type view uint8

const (
	viewList view = iota
	viewDetail
	viewHelp
	viewHandoffs
)

// maxFilter limits the filter, in characters.
const maxFilter = 60

// model is the state of the view. It does no I/O and has no clock: poll, key and
// paste change it, screen draws it.
type model struct {
	width   int
	height  int
	colour  bool
	central string // the server that is asked in the observer's place

	all  api.Sessions
	now  time.Time // of the last poll
	gone time.Time // since when there is no answer; zero while there is one
	why  string    // there is no answer

	client    string // "" for all
	order     Order
	backwards bool
	filter    string
	typing    bool // the filter is typed
	hideQuiet bool
	view      view

	rows     []api.Session // the listed sessions, in order
	quiet    int           // sessions that hideQuiet leaves out
	selected string        // an agent's id
	first    int           // row on the screen
	line     int           // first line on the screen, where views scroll

	draft  draft
	note   note
	todo   action
	handed *handed // of the selected agent; nil until the observer has answered
	from   view    // the view before viewHandoffs
}

func newModel(colour bool) *model { return &model{colour: colour} }

// poll takes over an answer of the observer, or the error in its place.
func (t *model) poll(all api.Sessions, err error, now time.Time) {
	t.now = now
	if err != nil {
		if t.gone.IsZero() {
			t.gone = now
		}
		t.why = err.Error()
		return
	}
	all.Sessions = OnlyClient(all.Sessions, t.client)
	t.all = all
	t.gone = time.Time{}
	t.why = ""
	t.arrange()
}

// arrange filters and sorts the sessions. The selection stays on its agent, or
// on its row if the agent is gone.
func (t *model) arrange() {
	at := t.index()
	t.rows = nil
	t.quiet = 0
	for _, s := range t.all.Sessions {
		switch {
		case s.State == "left" || !fits(&s, t.filter):
		case t.hideQuiet && (s.State == "quiet" || s.State == "ended"):
			t.quiet++
		default:
			t.rows = append(t.rows, s)
		}
	}
	sortSessions(t.rows, t.order, t.backwards)
	if t.index() < 0 {
		t.selectRow(at)
	}
}

// index returns the selected row, or -1.
func (t *model) index() int {
	return slices.IndexFunc(t.rows, func(s api.Session) bool { return s.ID == t.selected })
}

// selectRow selects a row, or the nearest one.
func (t *model) selectRow(i int) {
	t.selected = ""
	if len(t.rows) > 0 {
		t.selected = t.rows[min(len(t.rows)-1, max(0, i))].ID
	}
}

// fits reports whether the filter is part of a name, place or state of s,
// ignoring case.
func fits(s *api.Session, filter string) bool {
	filter = strings.ToLower(filter)
	texts := []string{
		s.Host, s.Title, s.Label, s.Name, s.ID, s.SessionID, s.Project,
		s.Model, s.Client, s.State, s.WaitingFor, s.PressureLevel,
	}
	return slices.ContainsFunc(
		texts,
		func(text string) bool { return strings.Contains(strings.ToLower(text), filter) },
	)
}

// session returns the selected session.
func (t *model) session() (api.Session, bool) {
	if i := t.index(); i >= 0 {
		return t.rows[i], true
	}
	return api.Session{}, false
}

// show changes to another view.
func (t *model) show(v view) {
	t.view = v
	t.line = 0
}

// key handles a key, and the text that it types.
func (t *model) key(key, text string) (quit bool) {
	switch {
	case key == "ctrl+c":
		return true
	case t.draft.stage != noMessage:
		t.draftKey(key, text)
		return false
	case t.typing:
		t.typeKey(key, text)
		return false
	case key == "q":
		return true
	}
	t.note = note{}
	switch {
	case t.view == viewHelp:
		if !t.scrollKey(key) {
			t.view = viewList
		}
	case t.actKey(key):
	case t.view == viewList:
		t.listKey(key)
	default:
		t.detailKey(key)
	}
	return false
}

func (t *model) typeKey(key, text string) {
	switch key {
	case "enter":
		t.typing = false
	case "esc":
		t.typing = false
		t.filter = ""
	case "backspace":
		t.filter = withoutLast(t.filter)
	default:
		if longer := t.filter + oneLineTyped(text); utf8.RuneCountInString(longer) <= maxFilter {
			t.filter = longer
		}
	}
	t.arrange()
}

// oneLineTyped keeps the spaces that screen.Text would trim.
func oneLineTyped(text string) string {
	if strings.TrimSpace(text) == "" {
		return strings.Repeat(" ", len(text))
	}
	return screen.Text(text)
}

func (t *model) listKey(key string) {
	if rows, known := lines(key, t.room()); known {
		t.selectRow(t.index() + rows)
	}
	switch key {
	case "end", "G":
		t.selectRow(len(t.rows) - 1)
	case "enter":
		if _, ok := t.session(); ok {
			t.show(viewDetail)
		}
	case "?":
		t.show(viewHelp)
	case "/":
		t.typing = true
	case "esc":
		t.filter = ""
	case "x":
		t.hideQuiet = !t.hideQuiet
	case "r":
		t.backwards = !t.backwards
	default:
		order, ok := orderKeys()[key]
		if !ok {
			return
		}
		t.order = order
		t.backwards = false
	}
	t.arrange()
}

// orderKeys returns the keys that choose an order.
func orderKeys() map[string]Order {
	return map[string]Order{
		"u": ByUrgency,
		"p": ByPressure,
		"l": ByReplies,
		"n": ByName,
		"t": ByActivity,
		"c": ByCompactions,
	}
}

// detailKey handles keys in the views of one agent.
func (t *model) detailKey(key string) {
	switch key {
	case "esc", "enter", "backspace", "left":
		if t.view == viewHandoffs && t.from == viewDetail {
			t.show(viewDetail)
		} else {
			t.view = viewList
		}
	case "?":
		t.show(viewHelp)
	default:
		t.scrollKey(key)
	}
}

// scrollKey scrolls a view with more lines than the screen.
func (t *model) scrollKey(key string) (known bool) {
	n, known := lines(key, t.height-2)
	t.line = max(0, t.line+n)
	return known
}

// lines returns by how many lines a key moves, on a screen with room for so many.
func lines(key string, room int) (n int, known bool) {
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b":
		return -room, true
	case "pgdown", "ctrl+f":
		return room, true
	case "home", "g":
		return math.MinInt32, true
	}
	return 0, false
}
