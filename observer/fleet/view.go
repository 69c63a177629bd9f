package fleet

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/observer/tally"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients"
)

// Views returns all sessions that have a transcript, and the agents that have none, the
// newest activity first; of equal ones in the order of their keys. There are none before
// Settle, since the first file of copies is not known yet.
func (f *Fleet) Views(now time.Time) []View { return slices.Collect(f.All(now)) }

// All is Views without the memory for all at once. The fleet must not be changed
// meanwhile.
func (f *Fleet) All(now time.Time) iter.Seq[View] {
	return func(yield func(View) bool) {
		for _, r := range f.Rows() {
			if !yield(f.view(r, now)) {
				return
			}
		}
	}
}

// ViewOf returns the view of a row; ok is false for one that has been removed since.
func (f *Fleet) ViewOf(r Row, now time.Time) (v View, ok bool) {
	switch {
	case r.s.read():
		r.of = f.currentAgent(r.s)
	case r.of != nil && f.agents[r.of.ID] == r.of:
		r = f.agentRow(r.of)
	default:
		return v, false
	}
	return f.view(r, now), true
}

// View finds one session. The id is, in this order, an agent's id, which names the
// agent's present session; an agent's name, or the one that its client goes by; a
// session's id; a label; or the first characters, at least 8, of an agent's or
// session's id.
func (f *Fleet) View(id string, now time.Time) (v View, err error) {
	r, err := f.find(id, fitsBeginning)
	if err != nil {
		return v, err
	}
	return f.view(r, now), nil
}

func (f *Fleet) view(r Row, now time.Time) View {
	a := r.of
	t, in := f.totals(r)
	details := t.Details()
	v := View{
		Session:   *t,
		SessionID: r.session(),
		Title:     r.title(),
		ParentID:  details.Parent,
		Provider:  f.client(t).Client,
		Program:   f.client(t).Client,
		Reading:   t.Reading.At.Time(),
		Window:    f.windowOf(a, t),
		Inherited: in.Compactions,
		Cycle:     1,
		Cost:      t.Tokens.Minus(in.Tokens),
		Started:   t.Started.Time(),
		Active:    t.Active.Time(),
		Last:      r.last().Time(),
		Client:    f.clients[r.session()],
		Basis:     f.basis(a, t),
	}
	v.Messages = max(0, t.Messages-in.Messages)
	for i, n := range t.Compactions {
		v.Compactions[i] = max(0, n-in.Compactions[i])
		v.Cycle += v.Compactions[i]
	}
	if v.Tokens, v.Known = t.Context(); v.Known {
		v.Cleared = t.Reading.Cleared
	}
	if r.s != nil {
		f.viewSession(r.s, a, &v)
		v.SubagentMessages += max(0, t.SideMessages-in.SideMessages)
		v.SubagentTokens = v.SubagentTokens.Plus(t.SideTokens.Minus(in.SideTokens))
	}
	if a != nil {
		f.viewAgent(a, t, now, &v)
	} else {
		v.Left = f.agents[r.s.record.Agent] != nil
	}
	if v.Known {
		v.Level = f.options.Thresholds.Level(
			v.Tokens,
			v.Window,
			f.compactsAt(a, t, v.Window.Tokens),
		)
	}
	if v.Left {
		v.Agent = r.s.key
		v.Label = ""
	} else if v.Ended = !v.Client.Runs() && f.ended(&r); !v.Ended {
		v.Reason, v.Waits = f.waits(&r)
	}
	v.Live = v.Client.Runs() || !v.Left && !v.Ended && f.lately(&r, now)
	if v.Live && r.s != nil {
		v.SubagentsAtWork, v.SubagentContext = r.s.atWork(now)
	}
	return v
}

// totals returns the session of a row as a plain value, and what it inherited.
func (f *Fleet) totals(r Row) (*transcript.Session, *Inherited) {
	if r.s != nil {
		return r.s.whole()
	}
	return f.sessionOf(r.of), &Inherited{}
}

// viewSession adds what is known of a session with a transcript.
func (f *Fleet) viewSession(s *session, a *agent, v *View) {
	x := s.own[0]
	v.Agent = s.record.Agent
	v.Label = s.record.Label
	v.SessionID = s.id()
	v.Path = x.Cursor.Path
	v.Project = project(v.CWD, v.Path)
	v.Counted = s.record.Counted
	v.Written = changedAt(&x.Cursor).Time()
	for y := range s.subagents() {
		v.SubagentFiles++
		v.SubagentMessages += max(0, y.Session.Messages-y.Inherited.Messages)
		v.SubagentTokens = v.SubagentTokens.Plus(y.Session.Tokens.Minus(y.Inherited.Tokens))
	}
	b := s.record.Totals.Bills
	v.DearBills = b.Dear
	if len(b.List) > 0 {
		v.Bill = &b.List[len(b.List)-1]
	}
	if v.Known {
		return
	}
	if n := f.estimate(x, a); n > 0 {
		v.Tokens = n
		v.Known = true
		v.Source = transcript.FromEstimate
		v.Reading = v.Active
	} else {
		v.Estimate = x.Session.Details().Estimate
	}
}

// viewAgent adds what is known of an agent besides its transcript t.
func (f *Fleet) viewAgent(a *agent, t *transcript.Session, now time.Time, v *View) {
	v.Agent = a.ID
	v.Name = a.Name
	v.ParentID = cmp.Or(a.Parent, v.ParentID)
	v.Provider = cmp.Or(a.Provider, v.Provider)
	v.Label = cmp.Or(a.Label, v.Label)
	v.Counted = a.Counted
	v.Hooked = a.Hooked.Time()
	if f.client(t).StatusLine {
		v.Spoke = a.Spoke.Time()
	}
	v.Paid = a.Report.Cost
	v.CacheHit = a.Report.CacheHit
	v.CacheHitKnown = a.Report.CacheHitKnown
	v.CacheExpires = a.Report.CacheExpires.Time()
	v.Place = a.Place
	v.Sample = a.Sample
	v.Check, v.Drift, v.DriftKnown = a.Sample.check(transcript.InstantOf(now))
	reported := func(tokens int64, at transcript.Instant) {
		v.Tokens = tokens
		v.Known = tokens > 0
		v.Source = transcript.FromStatusline
		v.Reading = at.Time()
	}
	if f.transcript(a.Session) != nil && a.Sample.Back && v.Known ||
		f.aheadOfTranscript(a, v) {
		reported(a.Sample.Tokens, a.Sample.At)
		v.Cleared = 0
	}
	if o := &a.Opening; v.Reading.Before(o.At.Time()) {
		v.CacheWriteUSD = o.CacheWriteUSD
		if o.Tokens > 0 && !v.Known {
			reported(o.Tokens, o.At)
		}
	}
	setting, _ := f.autoCompact(a, t)
	at := (*claude.AutoCompact)(setting).IdleCompaction(v.Tokens, a.Report.CacheTTL, v.CacheExpires)
	if at.After(now) && !t.InTurn {
		v.IdleCompaction = at
	}
}

// CacheHits is the share of all input that was read from the cache, 0 to 1: by the status
// line, else by the transcript's tokens.
func (v *View) CacheHits() (ratio float64, known bool) {
	if n := v.Cost.Context(); n > 0 && !v.CacheHitKnown {
		return float64(v.Cost.CacheRead) / float64(n), true
	}
	return v.CacheHit, v.CacheHitKnown
}

// title is what people call the session: the best that its own files and the status line
// say; of files that say equally much the newest.
func (r *Row) title() string {
	var t transcript.Title
	if r.of != nil && r.of.Report.Name != "" {
		t = transcript.NewTitle(r.of.Report.Name, transcript.TitleStatus)
	}
	if r.s != nil {
		for _, x := range r.s.own {
			t = t.Or(x.Title)
		}
	}
	return t.Text
}

// project names what a session works on: the working directory without its
// parents, else the folder in which its transcript lies.
func project(cwd, path string) string {
	if name := lastElement(cwd); name != "" {
		return name
	}
	return lastElement(path[:len(path)-len(lastElement(path))])
}

// lastElement takes both separators for one, whichever machine wrote the path.
func lastElement(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// Recent returns, in no order, the views of sessions whose client runs or whose
// View.Last is within ttl, 0 for any time; others counts the rest. Sessions that their
// agent has left are neither. With a client's name only its sessions count. Unlike All
// it costs almost nothing for old sessions.
func (f *Fleet) Recent(
	now time.Time,
	ttl time.Duration,
	client string,
) (views []View, others int) {
	for r := range f.rows() {
		if r.of == nil && f.agents[r.s.record.Agent] != nil {
			continue
		}
		if t, _ := f.totals(r); client != "" && f.client(t).Client != client {
			continue
		}
		if ttl > 0 && !f.clients[r.session()].Runs() && now.Sub(r.last().Time()) > ttl {
			others++
			continue
		}
		views = append(views, f.view(r, now))
	}
	return views, others
}

// present returns the contexts of recently active sessions.
func (f *Fleet) present(now time.Time) (events []alerts.Event) {
	for i, r := range f.Rows() {
		x := r.s.own[0]
		t := &x.Session
		id, current := f.agentOf(r.s)
		_, known := t.Context()
		if !current || !known ||
			now.Sub(max(t.Active, changedAt(&x.Cursor)).Time()) > f.options.ActiveFor {
			continue
		}
		ev := f.reading(id, t, r.of, t.Reading)
		level := f.options.Thresholds.Level(ev.Tokens, f.windowOf(r.of, t), ev.CompactsAt)
		if i >= maxUnconfirmed && r.of == nil && ev.Tokens < smallContext &&
			level == alerts.OK {
			continue // nothing is due before its first event
		}
		ev.History = true
		ev.Cycle = 1 + max(0, t.Total()-x.Inherited.Compactions.Total())
		events = append(events, ev)
	}
	return events
}

// Claude is Claude Code, as the label client of metrics names it.
const Claude = clients.Claude

// View describes one session at one moment, for /metrics, the API and the tables.
// It is a plain value.
type View struct {
	// Session is the session by its transcript. Its Compactions happened in this session,
	// its Messages are without those copied from another session's file.
	transcript.Session
	// Agent is the agent's id; without any signal but the transcript, the
	// session's own id.
	Agent string
	// Label names the agent in metrics: given at first sight, unique, kept; "" for a
	// session that it has left.
	Label string
	// SessionID is the id in the transcript's name; where that is none, the id that
	// its records name, else the name. Only then may two sessions have the same.
	SessionID string
	Name      string // the agent's name, "" for none; the client's own is Client.Name
	// Title is what people call the session, "" for none: one line of at most
	// [transcript.MaxTitle] characters. It is text of a transcript.
	Title string
	// Paid is what the client reckons that the session has cost. CacheHit is the cache's
	// share of all input by the status line, where CacheHitKnown; see [View.CacheHits].
	Paid          tally.Cost
	CacheHit      float64
	CacheHitKnown bool
	// CacheExpires is when the newest entry of the prompt cache expires, and
	// IdleCompaction when the client compacts if it stays idle until then; zero for
	// unknown or never. CacheWriteUSD is that of [Opening], 0 after the first reply.
	CacheExpires   time.Time
	IdleCompaction time.Time
	CacheWriteUSD  float64
	ParentID       string // the agent's parent, "" for none
	Provider       string // the same unless registered otherwise
	Program        string // the client that wrote the session, see [clients.Table.Of]
	Path           string // of the transcript
	Project        string // last element of the working directory, else of the folder's name

	Tokens  int64 // of the context
	Cleared int64 // tokens that are not in it, but that the client's compaction counts besides
	Known   bool  // false while Tokens is unknown
	// Estimate is what the client itself takes for the size while it is unknown, 0 for nothing.
	Estimate int64
	Source   transcript.Source // of Tokens: the transcript, or an estimate
	Reading  time.Time
	Window   transcript.Window
	Level    alerts.Level
	// Basis is how the size is known at which the client is assumed to compact.
	Basis clients.Basis

	// Inherited compactions were copied into the session's file from another one.
	Inherited transcript.TriggerCounts
	// Counted are those that happened since the state directory was made.
	Counted transcript.TriggerCounts
	Cycle   int // 1 plus the compactions of the session

	Cost transcript.Usage

	SubagentFiles    int
	SubagentMessages int
	SubagentTokens   transcript.Usage
	// SubagentsAtWork are those with a record of late, SubagentContext the
	// largest of their contexts, in tokens; 0 while unknown. See
	// [Fleet.Subagents].
	SubagentsAtWork int
	SubagentContext int64

	Started, Active time.Time // first and last timestamp; zero for none
	Written         time.Time // modification time of the transcript
	// Last is when the session was last active: by its newest record or a
	// signal of its client, and by the time of its file once that has grown. A
	// fresh copy of an old transcript has an old one.
	Last time.Time
	// Live means that the session's client runs, or had activity within
	// Options.ActiveFor and is neither Ended nor Past. A copy of an old transcript is
	// not live, though Seen.
	Live bool
	// Ended means that the session's client has ended: by its last hook, or because
	// its process is gone.
	Ended bool

	// Waits means that the client waits for a person to answer a dialog; Reason is
	// "" while unknown.
	Waits  bool
	Reason string

	// Bill is that of the newest boundary of the session's context, nil for
	// none; DearBills counts those in a row that were in the worst tenth.
	Bill      *transcript.Bill
	DearBills int

	// Client is the entry of the client's own registry for the process that holds the
	// session; Client.Runs is false without one.
	Client Client

	// Left means that the agent of this session has gone on to another: it is shown by
	// itself, under its own id.
	Left bool

	// Sample is the newest report of the status line, Check the result of comparing it
	// with the transcript: None and so on; Drift is the number of tokens that
	// it has more, if DriftKnown.
	Sample     Sample
	Check      string
	Drift      int64
	DriftKnown bool
	// Spoke is when the status line last spoke, Hooked when a hook last did; zero for
	// never.
	Spoke, Hooked time.Time
	Place         // of the agent, as far as its hooks have reported it
}

// Seen is when a session last did anything: by its newest record, or by the time
// of its file, since not all records carry a time, or by a signal of its client.
func (v *View) Seen() time.Time {
	seen := v.Active
	for _, t := range [...]time.Time{v.Written, v.Spoke, v.Hooked} {
		if t.After(seen) {
			seen = t
		}
	}
	return seen
}

// Client is one running client.
type Client = transcript.Client

// Subagent is one of a session's subagents, by its own transcript. Nothing of
// it is in the session's context.
type Subagent struct {
	ID    string // the client's, as hooks name it
	Path  string // of its transcript, which has so many Bytes
	Bytes int64
	// Tokens is the size of its context, Known false while that is unknown;
	// Peak is the largest.
	Tokens      int64
	Known       bool
	Peak        int64
	Window      transcript.Window
	Compactions int
	Reading     time.Time // of Tokens
	Active      time.Time // its last record
}

const (
	// MaxSubagents bounds the subagents of one session that are shown: those
	// that did something last.
	MaxSubagents = 32
	// subagentFor is how long a subagent counts as working after its last record. No
	// record marks its end.
	subagentFor = time.Minute
)

// Subagents are the latest MaxSubagents of the session that an id names, as
// View reads it; the newest first. The client's own helpers, which repeat the
// session's records, are not among them.
func (f *Fleet) Subagents(id string) (all []Subagent) {
	r, err := f.find(id, fitsBeginning)
	if err != nil || r.s == nil {
		return nil
	}
	files := slices.DeleteFunc(
		slices.SortedFunc(r.s.subagents(), newestFirst),
		func(x *file) bool { return isInternal(x.Name) },
	)
	for _, x := range files[:min(len(files), MaxSubagents)] {
		t := &x.Session
		a := Subagent{
			ID:          strings.TrimPrefix(x.Name, "agent-"),
			Path:        x.Cursor.Path,
			Bytes:       t.Bytes,
			Peak:        t.Peak,
			Window:      f.client(t).WindowOf(t, 0, f.options.Windows),
			Compactions: max(0, t.Total()-x.Inherited.Compactions.Total()),
			Reading:     t.Reading.At.Time(),
			Active:      t.Active.Time(),
		}
		a.Tokens, a.Known = t.Context()
		all = append(all, a)
	}
	return all
}

// isInternal reports whether a file is of a subagent that the client starts for
// itself: to compact, to answer an aside, or to suggest a prompt.
func isInternal(name string) bool {
	helpers := []string{
		"agent-acompact-",
		"agent-aside_question-",
		"agent-aprompt_suggestion-",
	}
	return slices.ContainsFunc(
		helpers,
		func(prefix string) bool { return strings.HasPrefix(name, prefix) },
	)
}

// atWork counts a session's subagents with a recent record, and returns the largest
// of their contexts.
func (s *session) atWork(now time.Time) (n int, largest int64) {
	recent := transcript.InstantOf(now.Add(-subagentFor))
	for x := range s.subagents() {
		if x.Session.Active >= recent && !isInternal(x.Name) {
			n++
			if tokens, known := x.Session.Context(); known {
				largest = max(largest, tokens)
			}
		}
	}
	return n, largest
}

// subagents iterates over the files of a session's subagents. Of files of the same
// name it yields the newest, as with sessions.
func (s *session) subagents() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for i, x := range s.side {
			if i+1 == len(s.side) || s.side[i+1].Name != x.Name {
				if !yield(x) {
					return
				}
			}
		}
	}
}
