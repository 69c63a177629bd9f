package fleet

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/transcript"
	"sm/transcript/claude"
	"sm/transcript/clients"
)

// Views returns all sessions that have a transcript, and the agents without
// one, by newest activity, then by key. There are none before Settle, since it
// is not known yet which files are copies.
func (f *Fleet) Views(now time.Time) []View { return slices.Collect(f.All(now)) }

// All is like Views but needs memory for one view only. The fleet must not be
// changed during the iteration.
func (f *Fleet) All(now time.Time) iter.Seq[View] {
	return func(yield func(View) bool) {
		for _, r := range f.rowsInOrder() {
			if !yield(f.view(r, now)) {
				return
			}
		}
	}
}

// View finds one session. The id is, in this order, an agent's id, which refers
// to the agent's present session; an agent's name, or the name that its client
// uses; a session's id; a label; the first characters, at least 8, of an
// agent's or session's id; or the name or else the title, in any letter case,
// of an agent that was active lately. A title is text of a transcript and never
// takes precedence over an id.
func (f *Fleet) View(id string, now time.Time) (v View, err error) {
	r, err := f.find(id, fitsTitle)
	if err != nil {
		return v, err
	}
	return f.view(r, now), nil
}

func (f *Fleet) view(r row, now time.Time) View {
	t, in := f.totals(r)
	a := r.of
	if a == nil {
		a = f.agentIn(r.s)
	}
	v := View{
		Session:   *t,
		Agent:     a.Agent,
		SessionID: a.Session,
		Title:     r.title(),
		Program:   f.client(t).Client,
		Window:    f.windowOf(a, t),
		Inherited: in.Compactions,
		Last:      r.last(),
		Client:    f.clients[a.Session],
		Left:      f.left(&r),
	}
	_, v.Basis = f.client(t).CompactsAt(&a.AutoCompact, 0, t.Model, f.version(a, t))
	v.Subtract(in)
	v.Agent.Parent = cmp.Or(a.Parent, t.Details().Parent)
	v.Agent.Provider = cmp.Or(a.Provider, v.Program)
	if r.s != nil {
		f.viewSession(r.s, a, now, &v)
	}
	f.viewReports(a, r.s != nil, now, &v)
	if tokens, known := v.Context(); known {
		v.Level = f.options.Thresholds.Level(
			tokens,
			0,
			v.Window,
			f.compactsAt(a, t, v.Window.Tokens),
		)
	}
	v.Ended = !v.Left && !v.Client.Runs() && f.ended(&r)
	if !v.Left && !v.Ended {
		v.Reason, v.Asked, v.Waits = f.waits(&r)
	}
	v.Live = v.Client.Runs() || !v.Left && !v.Ended && f.lately(&r, now)
	if v.Live && r.s != nil {
		v.SubagentsAtWork, v.SubagentContext = r.s.atWork(now)
	}
	return v
}

// totals returns the session of a row as a plain value, and its inherited part.
func (f *Fleet) totals(r row) (*transcript.Session, *transcript.Sums) {
	if r.s != nil {
		return r.s.whole()
	}
	return f.sessionOf(r.of), &transcript.Sums{}
}

// viewSession sets the fields of a session with a transcript.
func (f *Fleet) viewSession(s *session, a *agent, now time.Time, v *View) {
	x := s.own[0]
	prices := f.options.Prices
	cost, priced := prices.Cost(v.Model, v.Tokens.Plus(v.SideTokens))
	v.SessionID = s.id()
	v.Path = x.Cursor.Path
	v.Project = cmp.Or(f.project(v.CWD), lastElement(strings.TrimSuffix(v.Path, lastElement(v.Path))))
	v.Written = changedAt(&x.Cursor)
	for _, y := range s.subagents() {
		sums := y.own()
		v.SubagentFiles++
		v.SideMessages += sums.Messages
		v.SideTokens = v.SideTokens.Plus(sums.Tokens)
		if sums.Tokens != (transcript.Usage{}) {
			usd, known := prices.Cost(y.Session.Model, sums.Tokens)
			cost += usd
			priced = priced && known
		}
	}
	reported := &v.Agent.Report.Cost
	if f.overdue(x, now) || s.newestTotal().USD != reported.USD {
		reported.Known = false
	}
	if priced && v.Tokens.Plus(v.SideTokens) != (transcript.Usage{}) && !reported.Known {
		v.EstimatedUSD = &cost
	}
	b := s.record.Totals.Bills
	v.DearBills = b.Dear
	if len(b.List) > 0 {
		v.Bill = &b.List[len(b.List)-1]
	}
	if _, known := v.Context(); known {
		return
	}
	if n := f.estimate(x, a); n > 0 {
		v.report(v.Active, n, transcript.FromEstimate)
	}
}

// viewReports sets the fields that hooks and status lines reported of an agent.
func (f *Fleet) viewReports(a *agent, read bool, now time.Time, v *View) {
	hasStatusLine := f.options.Clients.Named(v.Program).StatusLine
	if !hasStatusLine {
		v.Agent.Statusline = 0
	}
	x := &a.Sample
	v.Check, v.Drift = x.check(transcript.InstantOf(now))
	tokens, known := v.Context()
	// A hook may have reported a response that is not in the transcript yet.
	ahead := !hasStatusLine && x.Tokens > 0 && x.At > v.Active && !(known && tokens == x.Tokens)
	if read && x.Back && known || ahead {
		v.report(x.At, x.Tokens, transcript.FromStatusline)
	}
	if v.Reading.At < a.Begun {
		v.CacheWriteUSD = a.CacheWriteUSD
	}
	at := (*claude.AutoCompact)(&a.AutoCompact).IdleCompaction(
		v.Reading.Tokens,
		a.Report.CacheTTL,
		a.Report.CacheExpires.Time(),
	)
	if at.After(now) && !v.InTurn {
		v.IdleCompaction = at
	}
}

// report replaces the reading by one that is not from the transcript.
func (v *View) report(at transcript.Instant, tokens int64, source transcript.Source) {
	v.Session.Reading = transcript.Reading{At: at, Tokens: tokens}
	v.Blank = false
	v.Source = source
}

// title returns the title of the session: the best one of its own files and the
// status line, and of equally good ones that of the newest file.
func (r *row) title() string {
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

// ProjectOf returns the name of a working directory's project by the path
// alone: its last element that is not a number, for a worktree of Claude Code
// that of the repository.
func ProjectOf(dir string) string {
	dir, _, _ = strings.Cut(dir, "/.claude/worktrees/")
	parts := strings.FieldsFunc(dir, func(r rune) bool { return r == '/' || r == '\\' })
	for _, name := range slices.Backward(parts) {
		if strings.Trim(name, "0123456789") != "" {
			return name
		}
	}
	return lastElement(dir)
}

// project returns the name of a working directory's project.
func (f *Fleet) project(cwd string) string {
	name, known := f.projects[cwd]
	if !known {
		name = f.options.Project(cwd)
		f.projects[cwd] = name
	}
	return name
}

// NameProject renames the project of a working directory.
func (f *Fleet) NameProject(cwd, name string) { f.projects[cwd] = name }

// lastElement returns the last element of a path from any system, with slashes
// or backslashes.
func lastElement(path string) string {
	path = strings.TrimRight(path, `/\`)
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

// Recent returns, in no order, the views of sessions whose client runs or whose
// View.Last is within ttl, 0 for any time; others counts the rest. Sessions
// that their agent has left are in neither. A client's name restricts both to
// its sessions. Unlike All it costs almost nothing for old sessions.
func (f *Fleet) Recent(
	now time.Time,
	ttl time.Duration,
	client string,
) (views []View, others int) {
	for r := range f.rows() {
		if f.left(&r) {
			continue
		}
		if client != "" {
			if t, _ := f.totals(r); f.client(t).Client != client {
				continue
			}
		}
		if ttl > 0 && !f.clients[r.session()].Runs() && now.Sub(r.last().Time()) > ttl {
			others++
			continue
		}
		views = append(views, f.view(r, now))
	}
	return views, others
}

// present returns the readings of recently active sessions.
func (f *Fleet) present(now time.Time) (events []alerts.Event) {
	for i, r := range f.rowsInOrder() {
		if r.s == nil { // an agent without a transcript
			continue
		}
		x := r.s.own[0]
		t := &x.Session
		if f.left(&r) ||
			now.Sub(max(t.Active, changedAt(&x.Cursor)).Time()) > ActiveFor {
			continue
		}
		a := f.agentIn(r.s)
		ev := f.reading(a, t, t.Reading)
		if t.Blank {
			ev.Tokens = 0
		}
		level := f.options.Thresholds.Level(ev.Tokens, 0, f.windowOf(a, t), ev.CompactsAt)
		if i >= maxUnconfirmed && r.of == nil && ev.Tokens < smallContext &&
			level == alerts.OK {
			continue // nothing is due before its first event
		}
		ev.History = true
		sums := x.own()
		ev.Cycle = 1 + sums.Total()
		events = append(events, ev)
	}
	return events
}

// Claude is the value of the metrics label client for Claude Code.
const Claude = clients.Claude

// View describes one session at one moment, for /metrics, the API and the
// tables. It is a plain value.
type View struct {
	// Session is the session according to its transcript, without the records
	// that were copied from another session. Its Side sums include the files of
	// its subagents; its Reading is the reported one if that is newer.
	transcript.Session
	// Agent is the session's agent. If the agent is only the session, or has
	// left it, only ID, Session, Parent, Provider, Label and Counted are set;
	// Label is "" if the agent has left the session. Parent and Provider are
	// those of the transcript if no others are known. Statusline is 0 for a
	// client without a status line.
	Agent Agent
	// SessionID is the id in the transcript's name; if the name has none, the
	// id in its records, else the name. In the last two cases two sessions may
	// have the same.
	SessionID string
	// Title is the title of the session, "" for none: one line of at most
	// [transcript.MaxTitle] characters. It is text of a transcript.
	Title string
	// IdleCompaction is when the client compacts if it stays idle until then,
	// zero for never. CacheWriteUSD is the value of [Agent], 0 after the first
	// reply.
	IdleCompaction time.Time
	CacheWriteUSD  float64
	Program        string // the client that wrote the session, see [clients.Table.Of]
	Path           string // of the transcript
	Project        string // see [Options.Project]; without a working directory the folder's name

	Source transcript.Source // of the reading: the transcript, a report, or an estimate
	Window transcript.Window
	Level  alerts.Level
	// Basis is the source of the size at which the client is assumed to
	// compact.
	Basis clients.Basis

	// Inherited compactions were copied into the session's file from another one.
	Inherited transcript.TriggerCounts

	// EstimatedUSD is the cost of the session and its subagents by
	// Options.Prices; nil without tokens, if one of their models has no price,
	// or if Report.Cost is known.
	EstimatedUSD *float64

	SubagentFiles int
	// SubagentsAtWork counts the subagents with a recent record.
	// SubagentContext is the largest of their contexts, in tokens; 0 if
	// unknown. See [Fleet.Subagents].
	SubagentsAtWork int
	SubagentContext int64

	Written transcript.Instant // modification time of the transcript
	// Last is when the session was last active: by its newest record or a
	// signal of its client, and by the modification time of its file once that
	// has grown while it was followed. A fresh copy of an old transcript has an
	// old Last.
	Last transcript.Instant
	// Live means that the session's client runs, or had activity within
	// ActiveFor and is neither Ended nor Left. A fresh copy of an old
	// transcript is not live, though its Seen is recent.
	Live bool
	// Ended means that the session's client has ended: by its last hook, or because
	// its process is gone.
	Ended bool

	// Waits means that the client waits for a person to answer a dialog. Reason
	// is "" if unknown; Asked is when the wait began, 0 if unknown.
	Waits  bool
	Reason string
	Asked  transcript.Instant

	// Bill is the bill of the newest boundary of the session's context, nil for
	// none; DearBills counts the last consecutive bills in the most expensive
	// tenth.
	Bill      *transcript.Bill
	DearBills int

	// Client is the entry of the process that holds the session in the client's
	// registry; Client.Runs is false without one.
	Client Client

	// Left means that the agent of this session has continued in another one:
	// the session is listed separately, under its own id.
	Left bool

	// Check is the result of comparing the agent's newest sample with the
	// transcript: None and so on. Drift is the number of tokens that the sample
	// has more, nil if unknown.
	Check string
	Drift *int64
}

// Seen returns the time of a session's last activity: by its newest record, by
// the time of its file, since not all records have a time, or by a signal of
// its client.
func (v *View) Seen() transcript.Instant {
	return max(v.Active, v.Written, v.Agent.Statusline, v.Agent.Hooked)
}

// Client is one running client.
type Client = transcript.Client

// Subagent is a subagent of a session, by its own transcript. Its tokens are
// not in the session's context.
type Subagent struct {
	// Session is the session according to its transcript, without copied
	// records.
	transcript.Session
	ID     string // the client's id, as in hooks
	Path   string // of its transcript
	Window transcript.Window
}

const (
	// MaxSubagents limits the listed subagents of one session to those that
	// were last active.
	MaxSubagents = 32
	// subagentFor is how long a subagent counts as active after its last
	// record. No record marks its end.
	subagentFor = time.Minute
)

// Subagents returns the last active MaxSubagents subagents of the session with
// an id as in View, the newest first. It omits the client's internal subagents,
// which repeat the session's records.
func (f *Fleet) Subagents(id string) (all []Subagent) {
	r, err := f.find(id, fitsTitle)
	if err != nil || r.s == nil {
		return nil
	}
	files := slices.DeleteFunc(
		r.s.subagents(),
		func(x *file) bool { return isInternal(x.Name) },
	)
	slices.SortFunc(files, newestFirst)
	for _, x := range files[:min(len(files), MaxSubagents)] {
		a := Subagent{
			Session: x.Session,
			ID:      strings.TrimPrefix(x.Name, "agent-"),
			Path:    x.Cursor.Path,
			Window:  f.client(&x.Session).WindowOf(&x.Session, 0, f.options.Windows),
		}
		a.Subtract(&x.Inherited)
		all = append(all, a)
	}
	return all
}

// isInternal reports whether a file is of a subagent that the client starts for
// its own purposes: to compact, to answer an aside, or to suggest a prompt.
func isInternal(name string) bool {
	return strings.HasPrefix(name, "agent-acompact-") ||
		strings.HasPrefix(name, "agent-aside_question-") ||
		strings.HasPrefix(name, "agent-aprompt_suggestion-")
}

// atWork counts a session's subagents with a recent record, and returns the largest
// of their contexts.
func (s *session) atWork(now time.Time) (n int, largest int64) {
	recent := transcript.InstantOf(now.Add(-subagentFor))
	for _, x := range s.subagents() {
		if x.Session.Active >= recent && !isInternal(x.Name) {
			n++
			if tokens, known := x.Session.Context(); known {
				largest = max(largest, tokens)
			}
		}
	}
	return n, largest
}

// subagents returns the files of a session's subagents, the newest of each
// name.
func (s *session) subagents() []*file {
	same := func(a, b *file) bool { return a.Name == b.Name }
	return slices.CompactFunc(slices.Clone(s.side), same)
}
