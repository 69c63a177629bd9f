package top

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"sm/dashboards/screen"
	"sm/dashboards/urgency"
	"sm/observer/api"
	"sm/transcript/wording"
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
// paste change it, screen draws it. Templates read the exported fields.
type model struct {
	Width   int
	height  int
	colour  bool
	Central string // the central server that is queried instead of the observer

	All  api.Sessions
	now  time.Time // of the last poll
	Gone time.Time // when the first failed poll ended; zero if the last one succeeded
	Why  string    // the error of the last poll

	Client    string // "" for all
	Order     string // one of Orders
	Backwards bool
	Filter    string
	typing    bool // the user types the filter
	HideQuiet bool
	view      view

	rows     []api.Session // the listed sessions, in order
	Quiet    int           // the number of sessions that HideQuiet omits
	selected string        // an agent's id
	first    int           // the first row on the screen
	line     int           // the first line on the screen, in views that scroll

	draft  draft
	note   note
	todo   action
	handed *handed // of the selected agent; nil until the observer has answered
	from   view    // the view before this one
}

func newModel(colour bool) *model { return &model{colour: colour, Order: ByUrgency} }

// poll takes an answer of the observer, or the error of the query.
func (t *model) poll(all api.Sessions, err error, now time.Time) {
	t.now = now
	if err != nil {
		if t.Gone.IsZero() {
			t.Gone = now
		}
		t.Why = err.Error()
		return
	}
	all.Sessions = OnlyClient(all.Sessions, t.Client)
	t.All = all
	t.Gone = time.Time{}
	t.Why = ""
	t.arrange()
}

// arrange filters and sorts the sessions. The selection stays on its agent, or
// on its row if the agent is gone.
func (t *model) arrange() {
	at := t.index()
	t.rows = nil
	t.Quiet = 0
	for _, s := range t.All.Sessions {
		switch {
		case s.State == "left" || !fits(&s, t.Filter):
		case t.HideQuiet && (s.State == "quiet" || s.State == "ended"):
			t.Quiet++
		default:
			t.rows = append(t.rows, s)
		}
	}
	Sort(t.rows, t.Order, t.Backwards)
	if t.index() < 0 {
		t.selectRow(at)
	}
}

// index returns the selected row, or -1.
func (t *model) index() int {
	return slices.IndexFunc(t.rows, func(s api.Session) bool { return s.ID == t.selected })
}

// selectRow selects the row i, or the nearest one.
func (t *model) selectRow(i int) {
	t.selected = ""
	if len(t.rows) > 0 {
		t.selected = t.rows[min(len(t.rows)-1, max(0, i))].ID
	}
}

// fits reports whether a name, place or state of s contains the filter,
// ignoring case.
func fits(s *api.Session, filter string) bool {
	texts := []string{
		s.Host, s.Title, s.Label, s.Name, s.ID, s.SessionID, s.Project,
		s.Model, s.Client, s.State, stateText(s, math.MaxInt), s.PressureLevel,
	}
	if urgency.Unreached(s) {
		texts = append(texts, "no notices")
	}
	all := strings.Join(texts, "\n") // a filter has no line break
	return strings.Contains(strings.ToLower(all), strings.ToLower(filter))
}

// session returns the selected session, or nil.
func (t *model) session() *api.Session {
	if i := t.index(); i >= 0 {
		return &t.rows[i]
	}
	return nil
}

// show changes to another view.
func (t *model) show(v view) {
	t.from = t.view
	t.view = v
	t.line = 0
}

// key handles a key, and the text of that key.
func (t *model) key(key, text string) (quit bool) {
	switch {
	case key == "ctrl+c":
		return true
	case t.draft.stage != noMessage:
		t.draftKey(key, text)
	case t.typing:
		switch key {
		case "enter":
			t.typing = false
		case "esc":
			t.typing = false
			t.Filter = ""
		default:
			t.Filter = edited(t.Filter, key, text, maxFilter)
		}
		t.arrange()
	case key == "q":
		return true
	default:
		t.note = note{}
		t.viewKey(key)
	}
	return false
}

// edited returns a line after a key, and the text of that key or of a paste.
// limit is in characters.
func edited(line, key, text string, limit int) string {
	switch key {
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(line)
		return line[:len(line)-size]
	case "ctrl+u":
		return ""
	}
	r := []rune(line + wording.OneLine(text, unicode.IsPrint))
	return string(r[:min(len(r), limit)])
}

// editing returns a line with its cursor. It keeps a space at the end, which
// screen.Text would trim.
func editing(line string) string {
	text := screen.Text(line)
	if strings.HasSuffix(line, " ") {
		text += " "
	}
	return text + bold("▏")
}

// viewKey handles keys that type nothing.
func (t *model) viewKey(key string) {
	page := t.height - 2
	if t.view == viewList {
		page = t.room()
	}
	const all = 1 << 20
	n, moves := map[string]int{
		"up":     -1,
		"k":      -1,
		"down":   1,
		"j":      1,
		"pgup":   -page,
		"ctrl+b": -page,
		"pgdown": page,
		"ctrl+f": page,
		"home":   -all,
		"g":      -all,
		"end":    all,
		"G":      all,
	}[key]
	switch {
	case moves:
		t.move(n)
	case t.view != viewHelp && t.actKey(key):
	case t.view == viewHelp,
		t.view != viewList && slices.Contains([]string{"esc", "enter", "backspace", "left"}, key):
		t.show(t.from)
		t.from = viewList
	case key == "?":
		t.show(viewHelp)
	case t.view != viewList || !t.listKey(key):
		t.note.text = "no such key; ? shows help"
	}
}

func (t *model) listKey(key string) (known bool) {
	switch key {
	case "enter":
		if t.selected != "" {
			t.show(viewDetail)
		}
	case "/":
		t.typing = true
	case "esc":
		t.Filter = ""
	case "x":
		t.HideQuiet = !t.HideQuiet
	case "r":
		t.Backwards = !t.Backwards
	case "u", "p", "l", "n", "t", "c":
		t.Order = Orders()[strings.Index("uplntc", key)] // Orders has the same sequence
		t.Backwards = false
	default:
		return false
	}
	t.arrange()
	return true
}

// move moves the selection of the list by n rows, and scrolls other views by n
// lines.
func (t *model) move(n int) {
	if t.view == viewList {
		t.selectRow(t.index() + n)
	} else {
		t.line = max(0, t.line+n)
	}
}

// click selects the row on a line of the screen. A click on the selected row
// opens it.
func (t *model) click(line int) {
	i := line - len(t.header()) - 1 // among the rows on the screen
	if t.view != viewList || i < 0 || i >= min(t.room(), len(t.rows)-t.first) {
		return
	}
	if t.rows[t.first+i].ID == t.selected {
		t.typing = false
		t.show(viewDetail)
	}
	t.selectRow(t.first + i)
}
