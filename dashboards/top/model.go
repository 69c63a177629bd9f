package top

import (
	"slices"
	"strings"
	"time"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// view is what the screen shows.
type view uint8

const (
	viewList view = iota
	viewDetail
	viewHelp
	viewHandoffs
)

// filterMost bounds what can be typed into the filter, in characters.
const filterMost = 60

// model is all that `sm top` knows: what the observer said last, and what the user has chosen. Polls, keys and sizes come in; screen says what is to be seen. It knows no clock but the
// times it is given, and does no I/O.
type model struct {
	width, height int
	colour        bool
	central       string // the server with the sessions of many machines; "" for the observer

	all  api.Sessions
	now  time.Time // of the last poll
	gone time.Time // since when there is no answer; zero while there is one
	why  string    // there is none

	client    string // whose sessions alone are shown, "" for all
	order     Order
	backwards bool
	filter    string
	typing    bool // the filter
	hideQuiet bool
	view      view

	rows     []api.Session // what is listed, in order
	quiet    int           // sessions that hideQuiet leaves out
	selected string        // an agent's id
	first    int           // row on the screen
	line     int           // first line of the detail, the help or the handoffs

	draft  draft
	note   note
	todo   action
	handed *handed // of the selected agent; nil until the observer has answered
	from   view    // the one before that of handoffs
}

func newModel(colour bool) *model { return &model{colour: colour} }

// poll takes in what the observer answered at a time, or that it did not.
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
	t.all, t.gone, t.why = all, time.Time{}, ""
	t.arrange()
}

// arrange finds what is listed, and in which order. The selection stays on its agent; when that is gone it stays in its
// place.
func (t *model) arrange() {
	at := t.index()
	t.rows, t.quiet = nil, 0
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

// index is the selected row, -1 for none.
func (t *model) index() int {
	return slices.IndexFunc(t.rows, func(s api.Session) bool { return s.ID == t.selected })
}

// selectRow selects a row, or the nearest there is.
func (t *model) selectRow(i int) {
	t.selected = ""
	if len(t.rows) > 0 {
		t.selected = t.rows[min(len(t.rows)-1, max(0, i))].ID
	}
}

// fits says whether a session is what a filter means: part of what it is called or does, in any case.
func fits(s *api.Session, filter string) bool {
	filter = strings.ToLower(filter)
	texts := []string{s.Host, s.Title, s.Label, s.Name, s.ID, s.SessionID, s.Project, s.Model, s.Client, s.State, s.WaitingFor, s.PressureLevel}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), filter) })
}

// session is the selected one.
func (t *model) session() (api.Session, bool) {
	if i := t.index(); i >= 0 {
		return t.rows[i], true
	}
	return api.Session{}, false
}

// key does what a key means; text is what it types. quit says that it ends the program.
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
		if len(helpLines()) <= t.height-2 || !t.scrollKey(key) {
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
		t.typing, t.filter = false, ""
	case "backspace":
		r := []rune(t.filter)
		t.filter = string(r[:max(0, len(r)-1)])
	default:
		if r := []rune(t.filter + oneLineTyped(text)); len(r) <= filterMost {
			t.filter = string(r)
		}
	}
	t.arrange()
}

// oneLineTyped keeps the spaces that oneLine would trim.
func oneLineTyped(text string) string {
	if strings.TrimSpace(text) == "" {
		return strings.Repeat(" ", len(text))
	}
	return screen.Text(text)
}

func (t *model) listKey(key string) {
	switch key {
	case "up", "k":
		t.selectRow(t.index() - 1)
	case "down", "j":
		t.selectRow(t.index() + 1)
	case "pgup", "ctrl+b":
		t.selectRow(t.index() - t.room())
	case "pgdown", "ctrl+f":
		t.selectRow(t.index() + t.room())
	case "home", "g":
		t.selectRow(0)
	case "end", "G":
		t.selectRow(len(t.rows) - 1)
	case "enter":
		if _, ok := t.session(); ok {
			t.view, t.line = viewDetail, 0
		}
	case "?":
		t.view, t.line = viewHelp, 0
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
		t.order, t.backwards = order, false
	}
	t.arrange()
}

// orderKeys are the keys that choose an order.
func orderKeys() map[string]Order {
	return map[string]Order{"u": ByUrgency, "p": ByPressure, "l": ByReplies, "n": ByName, "t": ByActivity, "c": ByCompactions}
}

// detailKey does what keys mean where all about an agent is shown.
func (t *model) detailKey(key string) {
	switch key {
	case "esc", "enter", "backspace", "left":
		if t.view == viewHandoffs && t.from == viewDetail {
			t.view, t.line = viewDetail, 0
		} else {
			t.view = viewList
		}
	case "?":
		t.view, t.line = viewHelp, 0
	default:
		t.scrollKey(key)
	}
}

// scrollKey moves what has more lines than the screen.
func (t *model) scrollKey(key string) (known bool) {
	switch key {
	case "up", "k":
		t.line--
	case "down", "j":
		t.line++
	case "pgup", "ctrl+b":
		t.line -= t.height - 2
	case "pgdown", "ctrl+f":
		t.line += t.height - 2
	case "home", "g":
		t.line = 0
	default:
		return false
	}
	return true
}
