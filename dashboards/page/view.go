package page

import "time"

// View is all that the page shows at one moment.
type View struct {
	// Build names the observer's version, for the footer.
	Build string
	// Mark says up to where the rows are told; the script gives it back when it asks
	// for news.
	Mark string
	Head Head
	Rows []string // as Row has drawn them, in the order of Before
	// Detail is what Detail has drawn, "" for none.
	Detail string
}

// Head is what stands above the rows.
type Head struct {
	// Agents counts those shown, Busy those of them that are at work, Waiting those that
	// wait for a human; Hidden those known that have been quiet for too long to be shown.
	Agents, Busy, Waiting, Hidden int
	// Levels counts those shown: ok, early_warn, warn, critical, unknown.
	Levels [5]int
	// CatchingUp says that what existed at the start is still being read: Done of Files.
	CatchingUp  bool
	Done, Files int64
	// Projects are the folders that are watched.
	Projects []string
	// Demo says that all of it is made up.
	Demo bool
}

// Row is one agent. Two rows that are equal, with the same history, look the same.
type Row struct {
	ID                     string // of the agent
	Name, Project          string
	Model, Parent, Waiting string // "" for none
	// Level is ok, early_warn, warn or critical; "" while the context is unknown.
	Level string
	// Tokens is the size of the context, 0 while unknown; Estimate says that it is a guess.
	// Percent is its share of the window as the client shows it.
	Tokens   int64
	Estimate bool
	Percent  int
	// Window is the context window, Threshold the size at which the client compacts, 0
	// while unknown; Warning and Critical are from where the levels hold, 0 for nowhere.
	Window, Threshold, Warning, Critical int64
	// Turns and Work say how far the compaction is, in turns and seconds of work.
	Turns, Work Range
	// Compactions by trigger: auto, manual, unknown.
	Compactions [3]int
	// State is busy, idle, waiting, quiet, ended, or whatever else the client calls it.
	State      string
	Compacting bool
	Storming   bool
	Silenced   bool // no notices are said
	// Check is agrees, lagging, drift, or "" with nothing to compare; Drift is how many
	// tokens more the status line tells.
	Check string
	Drift int64
	// Seen is when the agent last did anything, in seconds since 1970; 0 for never.
	Seen int64
}

// Range is a likely figure and its bounds.
type Range struct {
	Low, Likely, High float64
	Known             bool
}

// History is what is remembered of one agent's context, oldest first.
type History struct {
	Points []Point
	Marks  []Mark
}

// Point is a context size at a time.
type Point struct {
	At     int64 // seconds since 1970
	Tokens int64
	// First says that a cycle begins here: nothing leads from the point before to this one.
	First bool
}

// Mark is something that happened to a context.
type Mark struct {
	At     int64
	Kind   string // compaction, clear, session, handoff, rewind, or the kind of a notice
	Cause  string // what made the client compact: auto, manual, unknown; else ""
	Tokens int64  // of the context just then, 0 when unknown
}

// opens says whether a mark ends one cycle and begins the next.
func (m *Mark) opens() bool {
	switch m.Kind {
	case "compaction", "clear", "session", "handoff", "rewind":
		return true
	}
	return false
}

// Detail is all that the page shows of one agent.
type Detail struct {
	Row      Row
	History  History
	Facts    []Fact
	Problem  string // why there is nothing to show: no such session
	Asked    string // the id that was asked for
	Location *time.Location
}

// Fact is one line about an agent. At, where it is not 0, is a time in seconds since 1970
// that stands for Value.
type Fact struct {
	Name, Value string
	At          int64
}

// Before is the order of the rows: the highest level first, then the fullest window.
func Before(a, b *Row) bool {
	if x, y := rank(a.Level), rank(b.Level); x != y {
		return x > y
	}
	if x, y := a.share(), b.share(); x != y {
		return x > y
	}
	if a.Name != b.Name {
		return a.Name < b.Name
	}
	return a.ID < b.ID
}

// share is how full the window is, 0..1; -1 while unknown.
func (r *Row) share() float64 {
	if r.Tokens <= 0 || r.Window <= 0 {
		return -1
	}
	return min(1, float64(r.Tokens)/float64(r.Window))
}

// levels are the names of Head.Levels.
func levels() [5]string { return [5]string{"ok", "early_warn", "warn", "critical", "unknown"} }

// rank orders levels; unknown is the lowest.
func rank(level string) int {
	for i, name := range levels() {
		if name == level && i < 4 {
			return i + 1
		}
	}
	return 0
}

// Count adds a row to the figures above.
func (h *Head) Count(r *Row) {
	h.Agents++
	switch {
	case r.State == "waiting":
		h.Waiting++
	case r.State != "idle" && r.State != "quiet" && r.State != "ended" || r.Compacting:
		h.Busy++
	}
	h.Levels[(rank(r.Level)+4)%5]++
}
