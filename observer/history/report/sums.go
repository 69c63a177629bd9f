package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/fleet"
	"sm/observer/history"
	"sm/transcript"
)

// The minimum widths of the bins of a report.
const (
	tokenBin   = 10_000
	percentBin = 5
	turnBin    = 1
)

// sums is a report in progress.
type sums struct {
	engine *alerts.Engine // for storms
	// projects has the projects of agents, byProject the rows of projects.
	projects  map[string]string
	byProject map[string]*Row
	models    map[string]*Row
	months    map[string]*Row
	total     Row
	sizes     map[string][]int64 // of pre, by agent
	cycle

	// The known figures.
	pre, manual, idle, post, percent, perCycle []int64
}

// cycle is the present cycle of the transcript that is added, and its last
// compaction, which waits for the first reading after it.
type cycle struct {
	turns int  // including copied ones
	shown bool // the transcript has an event of it
	// at is the time of the compaction that is waiting for a reading.
	waiting bool
	at      time.Time
}

// take adds a session's transcript.
func (s *sums) take(t *history.Timeline) {
	id := t.Events[0].Agent
	s.cycle = cycle{}
	// A turn is answered by the model of the next reading, else of the last.
	models := make([]string, len(t.Events))
	model := t.Change.Session.Model
	for i := range slices.Backward(t.Events) {
		if ev := &t.Events[i]; ev.Kind == alerts.EventReading && ev.Model != "" {
			model = ev.Model
		}
		models[i] = model
	}
	for i := range t.Events {
		ev := &t.Events[i]
		switch ev.Kind {
		case alerts.EventTurnStart:
			s.turns++
			s.shown = true
			if !t.First[i] {
				break
			}
			for _, row := range s.rows(id, models[i], ev.At) {
				row.Turns++
			}
		case alerts.EventReading:
			s.shown = true
			s.read(ev)
		case alerts.EventReset: // a rewind removes the turns of the cycle except for the one that continues
			s.turns = 0
			if i > 0 && t.Events[i-1].Kind == alerts.EventTurnStart {
				s.turns = 1
			}
		case alerts.EventCompacted:
			s.waiting = false
			if t.First[i] {
				s.compacted(ev, t.Sizes[i])
			}
			s.turns = 0
			s.shown = true // only the first cycle may begin before the transcript
		}
		if t.First[i] {
			s.engine.Step(*ev)
		}
	}
	s.engine.Forget(id)
}

func (s *sums) read(ev *alerts.Event) {
	if !s.waiting || !ev.At.IsZero() && ev.At.Before(s.at) {
		return // not waiting, or a late record of the previous cycle
	}
	s.waiting = false
	window := transcript.Window{Tokens: ev.Window, Reserved: ev.Reserved}
	s.post = append(s.post, ev.Tokens)
	s.percent = append(s.percent, int64(window.Percent(ev.Tokens)))
}

func (s *sums) compacted(ev *alerts.Event, size int64) {
	s.waiting = true
	s.at = ev.At
	if s.shown {
		s.perCycle = append(s.perCycle, int64(s.turns))
	}
	for _, row := range s.rows(ev.Agent, ev.Model, ev.At) {
		*row.Compactions.By(ev.Trigger.String())++
	}
	switch {
	case size <= 0:
	case ev.Trigger == transcript.Manual:
		s.manual = append(s.manual, size)
	case ev.Trigger == transcript.Idle:
		s.idle = append(s.idle, size)
	default:
		s.pre = append(s.pre, size)
		s.sizes[ev.Agent] = append(s.sizes[ev.Agent], size)
	}
}

// rows returns the rows in which an event of an agent and a model at a time
// counts.
func (s *sums) rows(agent, model string, at time.Time) [4]*Row {
	month := "" // of the local calendar
	if !at.IsZero() {
		month = at.Local().Format("2006-01")
	}
	return [...]*Row{
		&s.total,
		rowOf(s.byProject, s.projects[agent]),
		rowOf(s.models, model),
		rowOf(s.months, month),
	}
}

func rowOf(rows map[string]*Row, name string) *Row {
	if rows[name] == nil {
		rows[name] = &Row{Name: name}
	}
	return rows[name]
}

// report returns the report of the sums and of the sessions.
func (s *sums) report(views []fleet.View) *Report {
	r := &Report{Storms: int(s.engine.Counters().Storms)}
	var most []Session
	for i := range views {
		v := &views[i]
		for _, row := range s.rows(v.Agent.ID, v.Model, v.Started.Time()) {
			row.Sessions++
		}
		if v.Started != 0 {
			if at := v.Started.Time(); r.From == nil || at.Before(*r.From) {
				r.From = &at
			}
			if at := v.Active.Time(); r.To == nil || at.After(*r.To) {
				r.To = &at
			}
		}
		if sizes := s.sizes[v.Agent.ID]; len(sizes) > 1 {
			most = append(
				most,
				Session{
					v.SessionID,
					s.projects[v.Agent.ID],
					len(sizes),
					slices.Min(sizes),
					slices.Max(sizes),
				},
			)
		}
	}
	r.Sessions = s.total.Sessions
	r.Turns = s.total.Turns
	r.Compactions = s.total.Compactions
	c := &r.Compactions
	r.Pre = DistributionOf(s.pre, c.Auto+c.Unknown, tokenBin)
	r.ManualPre = DistributionOf(s.manual, c.Manual, tokenBin)
	r.IdlePre = DistributionOf(s.idle, c.Idle, tokenBin)
	r.Post = DistributionOf(s.post, c.Total(), tokenBin)
	r.PostPercentage = DistributionOf(s.percent, c.Total(), percentBin)
	r.TurnsPerCycle = DistributionOf(s.perCycle, c.Total(), turnBin)
	r.Threshold = s.threshold(r, most)
	r.Projects = ordered(s.byProject, busier)
	r.Models = ordered(s.models, busier)
	r.Months = ordered(s.months, func(a, b Row) int { // without a month last
		return cmp.Compare(cmp.Or(a.Name, "z"), cmp.Or(b.Name, "z"))
	})
	return r
}

// busier orders rows by their compactions, then by turns and sessions.
func busier(a, b Row) int {
	return cmp.Or(
		cmp.Compare(b.Compactions.Total(), a.Compactions.Total()),
		cmp.Compare(b.Turns, a.Turns),
		cmp.Compare(b.Sessions, a.Sessions),
		cmp.Compare(a.Name, b.Name),
	)
}

// ordered returns the sorted values of a map. compare must not find two of them
// equal.
func ordered[K comparable, V any](values map[K]*V, compare func(a, b V) int) []V {
	list := []V{}
	for _, v := range values {
		list = append(list, *v)
	}
	slices.SortFunc(list, compare)
	return list
}

// threshold summarizes the sizes at which clients compact.
func (s *sums) threshold(r *Report, sessions []Session) Threshold {
	slices.SortStableFunc(sessions, func(a, b Session) int {
		return cmp.Or(
			cmp.Compare(b.Compactions, a.Compactions),
			cmp.Compare(a.SessionID, b.SessionID),
		)
	})
	t := Threshold{
		Typical:  rangeOf(&r.Pre),
		After:    rangeOf(&r.Post),
		Sessions: append([]Session{}, sessions[:min(2, len(sessions))]...),
	}
	if len(s.pre) == 0 {
		return t
	}
	counts := map[int64]int{}
	for _, x := range s.pre {
		counts[x/tokenBin*tokenBin]++
	}
	most := slices.MaxFunc(
		slices.Sorted(maps.Keys(counts)),
		func(a, b int64) int { return counts[a] - counts[b] },
	)
	t.MostCommon = &Range{most, most + tokenBin}
	return t
}

// rangeOf returns the range of four of five figures, nil if there are none.
func rangeOf(d *Distribution) *Range {
	if d.Known == 0 {
		return nil
	}
	return &Range{*d.P10, *d.P90}
}
