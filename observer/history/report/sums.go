package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/history"
	"sm/transcript"
)

// The least widths of the bins of a report.
const (
	tokenBin   = 10_000
	percentBin = 5
	turnBin    = 1
)

// sums is a report in progress.
type sums struct {
	engine   *alerts.Engine // for storms
	sessions map[string]*sessionSums
	models   map[string]*Row
	months   map[string]*Row
	total    Row

	pre, manual, idle, post, percent, turns figures
}

// figures are those of a distribution, and how many are not known.
type figures struct {
	known   []int64
	unknown int
}

// add adds a figure, known or not.
func (f *figures) add(x int64, known bool) {
	if known {
		f.known = append(f.known, x)
	} else {
		f.unknown++
	}
}

func (f *figures) distribution(width int64) Distribution {
	return DistributionOf(f.known, f.unknown, width)
}

// sessionSums is the part of one session. What is kept of its last compaction
// waits for the first reading after it.
type sessionSums struct {
	id          string
	turns       int
	compactions api.Compactions
	pre         []int64 // those of known size that were not manual

	cycle int  // turns of the present cycle, with those that were copied
	shown bool // the transcript has shown something of it
	// at is that of the compaction that no reading has followed yet; waiting is
	// false without one.
	waiting bool
	at      time.Time
}

func newSums(o alerts.Options) (*sums, error) {
	engine, err := alerts.New(o)
	return &sums{
		engine:   engine,
		sessions: map[string]*sessionSums{},
		models:   map[string]*Row{},
		months:   map[string]*Row{},
	}, err
}

// take adds a session's transcript.
func (s *sums) take(t *history.Timeline) {
	id := t.Events[0].Agent
	one := s.sessions[id]
	if one == nil {
		one = &sessionSums{id: id}
		s.sessions[id] = one
	}
	models := modelsOf(t)
	for i := range t.Events {
		ev := &t.Events[i]
		switch ev.Kind {
		case alerts.EventTurnStart:
			one.cycle++
			one.shown = true
			if !t.First[i] {
				break
			}
			one.turns++
			for _, row := range s.rows(models[i], ev.At) {
				row.Turns++
			}
		case alerts.EventReading:
			one.shown = true
			s.read(one, ev)
		case alerts.EventReset: // a rewind takes back the turns of the cycle but the one that goes on from there
			one.cycle = 0
			if i > 0 && t.Events[i-1].Kind == alerts.EventTurnStart {
				one.cycle = 1
			}
		case alerts.EventCompacted:
			s.unread(one)
			if t.First[i] {
				s.compacted(one, ev, t.Sizes[i])
			}
			one.cycle = 0
			one.shown = true // not seen is at most a first cycle: that of a transcript that begins with its end
		}
	}
	s.unread(one)
	one.cycle = 0
	one.shown = false
	for i, ev := range t.Events {
		if t.First[i] {
			s.engine.Step(ev)
		}
	}
	s.engine.Forget(id)
}

// modelsOf returns for each event the model that answers it: that of the next
// reading, else of the last.
func modelsOf(t *history.Timeline) []string {
	models := make([]string, len(t.Events))
	model := t.Change.Session.Model
	for i := len(t.Events) - 1; i >= 0; i-- {
		if ev := &t.Events[i]; ev.Kind == alerts.EventReading && ev.Model != "" {
			model = ev.Model
		}
		models[i] = model
	}
	return models
}

func (s *sums) read(one *sessionSums, ev *alerts.Event) {
	if !one.waiting || !ev.At.IsZero() && ev.At.Before(one.at) {
		return // or it is of the cycle before, and was only written late
	}
	one.waiting = false
	s.post.add(ev.Tokens, true)
	s.percent.add(int64(transcript.Window{
		Tokens:   ev.Window,
		Reserved: ev.Reserved,
	}.Percent(ev.Tokens)), true)
}

func (s *sums) compacted(one *sessionSums, ev *alerts.Event, size int64) {
	one.waiting = true
	one.at = ev.At
	s.turns.add(int64(one.cycle), one.shown)
	Count(&one.compactions, ev.Trigger)
	for _, row := range s.rows(ev.Model, ev.At) {
		Count(&row.Compactions, ev.Trigger)
	}
	switch {
	case ev.Trigger == transcript.Manual:
		s.manual.add(size, size > 0)
	case ev.Trigger == transcript.Idle:
		s.idle.add(size, size > 0)
	default:
		s.pre.add(size, size > 0)
		if size > 0 {
			one.pre = append(one.pre, size)
		}
	}
}

// unread counts a compaction that no reading followed.
func (s *sums) unread(one *sessionSums) {
	if one.waiting {
		s.post.add(0, false)
		s.percent.add(0, false)
	}
	one.waiting = false
}

// Count counts a compaction by its trigger.
func Count(c *api.Compactions, t alerts.Trigger) {
	switch t {
	case transcript.Auto:
		c.Auto++
	case transcript.Manual:
		c.Manual++
	case transcript.Idle:
		c.Idle++
	default:
		c.Unknown++
	}
}

// rows are those that something of a model counts for that happened at a time.
func (s *sums) rows(model string, at time.Time) [3]*Row {
	return [3]*Row{&s.total, rowOf(s.models, model), rowOf(s.months, monthOf(at))}
}

func rowOf(rows map[string]*Row, name string) *Row {
	if rows[name] == nil {
		rows[name] = &Row{Name: name}
	}
	return rows[name]
}

// monthOf is that of the local calendar, "" for no time.
func monthOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format("2006-01")
}

// report is what it all adds up to, with the sessions that there are.
func (s *sums) report(views []fleet.View) *Report {
	projects := map[string]*Row{}
	r := &Report{
		Storms:      int(s.engine.Counters().Storms),
		Turns:       s.total.Turns,
		Compactions: s.total.Compactions,
	}
	var most []Session
	for i := range views {
		v := &views[i]
		row := rowOf(projects, v.Project)
		for _, x := range []*Row{
			row,
			rowOf(s.models, v.Model),
			rowOf(s.months, monthOf(v.Started.Time())),
		} {
			x.Sessions++
		}
		r.Sessions++
		if v.Started != 0 {
			if at := v.Started.Time(); r.From == nil || at.Before(*r.From) {
				r.From = &at
			}
			if at := v.Active.Time(); r.To == nil || at.After(*r.To) {
				r.To = &at
			}
		}
		one := s.sessions[v.Agent.ID]
		if one == nil {
			continue
		}
		row.Turns += one.turns
		Add(&row.Compactions, one.compactions)
		if len(one.pre) > 1 {
			most = append(
				most,
				Session{
					v.SessionID,
					v.Project,
					len(one.pre),
					slices.Min(one.pre),
					slices.Max(one.pre),
				},
			)
		}
	}
	r.Pre = s.pre.distribution(tokenBin)
	r.ManualPre = s.manual.distribution(tokenBin)
	r.IdlePre = s.idle.distribution(tokenBin)
	r.Post = s.post.distribution(tokenBin)
	r.PostPercentage = s.percent.distribution(percentBin)
	r.TurnsPerCycle = s.turns.distribution(turnBin)
	r.Threshold = s.threshold(most)
	r.Projects = busiest(projects)
	r.Models = busiest(s.models)
	r.Months = busiest(s.months)
	slices.SortFunc(r.Months, func(a, b Row) int { // what has no month comes last
		return cmp.Compare(cmp.Or(a.Name, "z"), cmp.Or(b.Name, "z"))
	})
	return r
}

// Add adds counts to others.
func Add(to *api.Compactions, c api.Compactions) {
	to.Auto += c.Auto
	to.Manual += c.Manual
	to.Idle += c.Idle
	to.Unknown += c.Unknown
}

// busiest lists rows by their compactions, then by turns and sessions.
func busiest(rows map[string]*Row) []Row {
	list := make([]Row, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[name])
	}
	slices.SortStableFunc(list, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(b.Compactions.Total(), a.Compactions.Total()),
			cmp.Compare(b.Turns, a.Turns),
			cmp.Compare(b.Sessions, a.Sessions),
		)
	})
	return list
}

// threshold answers where clients compact.
func (s *sums) threshold(sessions []Session) Threshold {
	slices.SortStableFunc(sessions, func(a, b Session) int {
		return cmp.Or(
			cmp.Compare(b.Compactions, a.Compactions),
			cmp.Compare(a.SessionID, b.SessionID),
		)
	})
	t := Threshold{
		Typical:  rangeOf(s.pre.known),
		After:    rangeOf(s.post.known),
		Sessions: append([]Session{}, sessions[:min(2, len(sessions))]...),
	}
	if len(s.pre.known) == 0 {
		return t
	}
	counts := map[int64]int{}
	for _, x := range s.pre.known {
		counts[x/tokenBin*tokenBin]++
	}
	most := slices.MaxFunc(
		slices.Sorted(maps.Keys(counts)),
		func(a, b int64) int { return counts[a] - counts[b] },
	)
	t.MostCommon = &Range{most, most + tokenBin}
	return t
}

// rangeOf is where four of five figures lie, nil without any.
func rangeOf(figures []int64) *Range {
	if len(figures) == 0 {
		return nil
	}
	slices.Sort(figures)
	return &Range{history.NearestRank(figures, 0.1), history.NearestRank(figures, 0.9)}
}
