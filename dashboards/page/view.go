package page

import (
	"cmp"
	"time"

	"sm/dashboards/urgency"
)

// View is all that the page shows at one moment.
type View struct {
	// Build names the observer's version, for the footer.
	Build string
	// Mark identifies the state of the rows; the script sends it back when it asks for
	// changes. "" if Rows are incomplete: then the script asks for all.
	Mark string
	Head Head
	Rows []Line // in the order of Before
	// Name is the one of Views that this is, "" for this machine's own. Views are all that can be looked at, none where that
	// is this machine alone.
	Name  string
	Views []Link
	// Detail is what Detail has drawn, "" for none.
	Detail string
}

// Link leads to a view: Name is "" for this machine's own.
type Link struct{ Name string }

// Line is a row as it is drawn, with what the script orders and filters it by.
type Line struct {
	HTML string
	Data Data
}

// Head is what stands above the rows.
type Head struct {
	// Agents counts those shown; Hidden those known that have been quiet for too long to be shown.
	Agents, Hidden int
	// States counts those shown that wait for a person, are at work, are idle, and are quiet.
	States [4]int
	// Pressures counts those shown: calm, rising, high, imminent, unknown.
	Pressures [5]int
	// Clients counts those shown by the client that wrote their transcripts.
	Clients map[string]int
	// TodayTokens and TodayDollars are what was used since midnight, 0 while that is not known; DollarsSince is the time of
	// day from when on dollars are known, "" for all of it.
	TodayTokens  int64
	TodayDollars float64
	DollarsSince string
	// Limits are those of the account, as its client reports them.
	Limits []Limit
	// CatchingUp means that the observer still reads existing files: Done of Files.
	CatchingUp  bool
	Done, Files int64
	// Projects are the folders that are watched.
	Projects []string
	// Demo means that all agents are simulated.
	Demo bool
	// NotWarned is true while no hook was ever seen: agents get no notices.
	NotWarned bool
	// Server is the central server of the agents, "" for the observer. Hosts counts
	// their machines, Down names those whose observers do not answer. Problem is why the
	// server has not answered since Since, in seconds since 1970.
	Server  string
	Hosts   int
	Down    []string
	Problem string
	Since   int64
	// Unanswered is true until the first query has succeeded or failed.
	Unanswered bool
}

// Limit is how far an account's rate limit is used, 0 to 1, and when it begins anew, in seconds since 1970.
type Limit struct {
	Name string // of the time that it is for
	Used float64
	At   int64
}

// Row is one agent. Two rows that are equal, with the same history, look the same.
type Row struct {
	ID string // of the agent
	// Name is what commands take; Title is what people call it, "" for its Name.
	Name, Title            string
	Host, View             string // where agents of several machines are looked at: its own, and View.Name
	Project                string
	Client                 string // that writes its transcript: claude, codex
	Model, Parent, Waiting string // "" for none
	// Pressure is calm, rising, high or imminent, and Ratio the share of Threshold that the context has reached,
	// 0 or more; "" and 0 while unknown.
	Pressure string
	Ratio    float64
	// Level is the agent's level: ok, early_warn, warn or critical; "" while the context is unknown.
	Level string
	// Tokens is the size of the context, 0 while unknown; Estimate means that it is
	// estimated. Percent is its share of the window as the client shows it.
	Tokens   int64
	Estimate bool
	Percent  int
	// Window is the context window, Threshold the size at which the client compacts, 0
	// while unknown, and Source where that is from: configured, seen, assumed. Warning and
	// Critical are from where the levels hold, 0 for nowhere.
	Window, Threshold, Warning, Critical int64

	// NoticePercent is the share of the window, 1 to 100, from which on Level holds; 0
	// while the window is unknown.
	NoticePercent int
	Source        string
	// Replies, Turns and Work say how far the compaction is, in replies of the model, turns, and seconds of work.
	Replies, Turns, Work Range
	// Compactions by trigger: auto, manual, unknown, idle.
	Compactions [4]int
	// State is busy, idle, waiting, quiet, ended, or whatever else the client calls it.
	State      string
	Compacting bool
	Storming   bool
	Silenced   bool // no notices are said
	Heard      bool // it has heard the notice of Level in this cycle
	// Subagents counts those at work, SubagentTokens is the largest context of them, 0 while unknown.
	Subagents      int
	SubagentTokens int64
	// Check is agrees, lagging, drift, or "" with nothing to compare; Drift is the number
	// of tokens that the status line has more.
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
	// First means that a cycle begins here: no line leads from the point before to this one.
	First bool
}

// Mark is something that happened to a context.
type Mark struct {
	At     int64
	Kind   string // compaction, clear, session, handoff, rewind, or the kind of a notice
	Cause  string // what made the client compact: auto, manual, unknown; else ""
	Tokens int64  // of the context just then, 0 when unknown
}

// opens reports whether a mark ends one cycle and begins the next.
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
	Commands []Command
	Messages []Message // the newest first
	// Under are the agents and subagents that work for this one.
	Under    []Under
	Problem  string // why there is nothing to show: no such session
	Asked    string // the id that was asked for
	Location *time.Location
}

// Fact is one line about an agent. At, if it is not 0, is a time in seconds since 1970
// that replaces Value. Copy adds a button that copies the value.
type Fact struct {
	Name, Value string
	At          int64
	Copy        bool
}

// Command is what somebody may want to type, and what it does.
type Command struct{ Does, Text string }

// Message is one message to an agent and what has become of it.
type Message struct {
	At       int64  // when it was made, in seconds since 1970
	From     string // "" for the observer itself
	What     string // the kind of a notice, or the mode of delivery
	Text     string
	Fate     string // waiting, offered, confirmed, …
	Way      string // how it went: hook, tmux, restart; "" for not yet
	WaitsFor string // "" where nothing but the moment is missing
}

// Under is an agent or a subagent that works for another. One with an ID has a page of its own.
type Under struct {
	ID, Name, Kind, State, Pressure string
	Tokens, Window                  int64
	// Peak and Compactions are those of a subagent.
	Peak        int64
	Compactions int
	Seen        int64
}

// need is what a row's state means; the order of needs is that of Head.States.
func (r *Row) need() urgency.Need { return urgency.Of(r.State, r.Compacting) }

// repliesNever is the number of replies where no forecast is possible.
const repliesNever = 100_000

// left is in how many replies a compaction is due, in the figure that is shown: by the forecast, else by the pressure alone.
func (r *Row) left() float64 {
	switch {
	case r.Replies.Known:
		return float64(urgency.Replies(r.Replies.Likely))
	case r.Pressure != "":
		return urgency.RepliesAt(r.Ratio)
	}
	return repliesNever
}

// order is one figure for the order of the rows: who needs a person first, and among equals who has the fewest replies
// left.
func (r *Row) order() float64 { return float64(r.need())*2*repliesNever + r.left() }

// Before is the order of the rows: those that wait for a person, those at work by what is left until the compaction,
// then the idle and the quiet.
func Before(a, b *Row) bool {
	if x, y := a.order(), b.order(); x != y {
		return x < y
	}
	if a.Ratio != b.Ratio {
		return a.Ratio > b.Ratio
	}
	if x, y := a.heading(), b.heading(); x != y {
		return x < y
	}
	return a.ID < b.ID
}

// heading is what the row is called.
func (r *Row) heading() string { return cmp.Or(r.Title, r.Name) }

// share is how full the window is, 0..1; -1 while unknown.
func (r *Row) share() float64 {
	if r.Tokens <= 0 || r.Window <= 0 {
		return -1
	}
	return min(1, float64(r.Tokens)/float64(r.Window))
}

// pressures are the names of Head.Pressures, states those of Head.States.
func pressures() [5]string { return [5]string{"calm", "rising", "high", "imminent", "unknown"} }

func states() [4]string { return [4]string{"waiting", "work", "idle", "quiet"} }

// Count adds a row to the figures above.
func (h *Head) Count(r *Row) {
	h.Agents++
	if r.Client != "" {
		if h.Clients == nil {
			h.Clients = map[string]int{}
		}
		h.Clients[r.Client]++
	}
	h.States[r.need()]++
	at := len(h.Pressures) - 1
	for i, name := range pressures() {
		if name == r.Pressure {
			at = i
		}
	}
	h.Pressures[at]++
}

// Data is what the script orders, filters and groups a row by.
type Data struct {
	Key     string `json:"key"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Host    string `json:"host,omitempty"`
	Project string `json:"project"`
	// Find is what the filter looks in, in lower case.
	Find string `json:"find"`
	// Pressure, State and Client are those of the chips.
	Pressure string `json:"pressure"`
	State    string `json:"state"`
	Client   string `json:"client"`
	// Order is that of Before, the least first. The others are what the columns are sorted by; Ratio and Used are
	// thousandths, -1 while unknown.
	Order       float64 `json:"order"`
	Ratio       int     `json:"ratio"`
	Used        int     `json:"used"`
	Left        float64 `json:"left"`
	Compactions int     `json:"compactions"`
	Seen        int64   `json:"seen"`
	Drift       int64   `json:"drift"` // -1 with nothing to compare, 0 while they agree
}
