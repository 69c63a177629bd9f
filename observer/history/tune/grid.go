// Package tune tries thresholds on past transcripts: what each pair of notices would have been worth, by the observer's own
// engine, and which pair to change to.
//
// One half of the sessions chooses and the other half checks, and a fork is in the half of its origin, so that nothing is
// judged by what it was chosen by. Only the few events of a session are kept that matter to a threshold; with them an
// engine decides as it does with all of them. A pair is advised only where it is better, on the half that checks, by more
// than chance makes. The package changes no configuration and prints nothing.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/history"
	"sm/observer/history/report"
	"sm/transcript"
)

// The steps of the ladders.
const (
	percentFrom, percentTo, percentStep = 30, 95, 5
	tokenSteps                          = 16 // at most
	// Enough is how many compactions there must be to choose by.
	Enough = 5
)

// Grid is what `sm replay --grid --json` prints. Its fields are a contract.
type Grid struct {
	Sessions    int             `json:"sessions"`    // with a reading of their own
	Cycles      int             `json:"cycles"`      // with a reading
	Compactions api.Compactions `json:"compactions"` // all, Unseen as well
	Advice      Advice          `json:"advice"`
	// Chosen is what the half that chooses would take, and Best what has the highest measure there; null where there is
	// nothing to choose by.
	Chosen  *Candidate  `json:"chosen"`
	Current Candidate   `json:"current"` // by the configuration, or --warning and --critical
	Default Candidate   `json:"default"`
	Pairs   []Candidate `json:"pairs"`
	Knees   []Knee      `json:"knees"`
	// Forecast is measured on all sessions: it chooses nothing.
	Forecast []Forecast `json:"forecast"`
	// Configuration are the lines to paste, [] where there is nothing to change to.
	Configuration []string   `json:"configuration"`
	Best          *Candidate `json:"best"`
	// Difference is by how much the measure of Chosen is above that of Current on the sessions that check, pair by pair;
	// null where nothing was compared.
	Difference *Difference `json:"difference"`
	Overall    Figures     `json:"overall"` // of Current, on all sessions
	// Unseen are the compactions before which their transcript shows no reading, so that nothing can be said of notices:
	// it begins with them.
	Unseen  int `json:"unseen"`
	Strange int `json:"no_transcripts"` // files without a single record, which are left out

	Groups int `json:"-"` // of sessions that were not copied from each other
}

// Advice is what to do with the chosen thresholds.
type Advice string

// All there is to advise.
const (
	AdviceChange    Advice = "change"    // it is better where it was not chosen
	AdviceKeep      Advice = "keep"      // it is no better there, or it is what is in force
	AdviceUnclear   Advice = "unclear"   // it is, but by no more than chance may make
	AdviceUnchecked Advice = "unchecked" // too few compactions to check it with
	AdviceNone      Advice = "none"      // no threshold gives a notice in time
	AdviceTooFew    Advice = "too_few"   // too few compactions to choose by
)

// Difference is one of two measures, with its standard error.
type Difference struct {
	Measure       float64 `json:"measure"`
	StandardError float64 `json:"standard_error"`
}

// Candidate is a pair of thresholds with what it is worth on the sessions that choose, and on the others. Unit is
// percent, tokens, or mixed.
type Candidate struct {
	Unit     string  `json:"unit"`
	Warning  int64   `json:"warning"`
	Critical int64   `json:"critical"`
	Choosing Figures `json:"choosing"`
	Checking Figures `json:"checking"`

	thresholds alerts.Thresholds
	given      []notices // by cycle
}

// Knee is where the coverage of one notice alone begins to fall, on the sessions that choose: null where there is none
// at all.
type Knee struct {
	Unit     string `json:"unit"`
	Warning  *int64 `json:"warning"`
	Critical *int64 `json:"critical"`
}

// Options say what to try.
type Options struct {
	// Policy is the observer's, with the thresholds to compare with; Configured are those of the configuration.
	Policy     alerts.Options
	Configured alerts.Thresholds
	Windows    []transcript.WindowRule // windows that are configured for models
	Now        time.Time               // a session with a newer record than ten minutes before may go on
}

// Try replays all sessions for each threshold, and drops their records. The error
// means that the policy is invalid, or that the context has ended.
func Try(ctx context.Context, h *history.History, o Options) (*Grid, error) {
	h.Settle(o.Windows, o.Now)
	// What a client's compaction threshold does to notices is the same for all pairs, and no step of a ladder.
	policy := o.Policy
	policy.Thresholds = windowAlone(policy.Thresholds)
	l := ladderOf(
		h.Sizes(history.Train),
		policy.Thresholds,
		windowAlone(alerts.Defaults().Thresholds),
	)
	f, err := newForecaster(policy)
	if err != nil {
		return nil, err
	}
	r := newTrial(ctx, policy, h.Groups)
	if err := h.Each(ctx, o.Windows, func(t history.Timeline) {
		f.add(t.Events, t.First)
		r.add(l, &t)
	}); err != nil {
		return nil, err
	}
	g, err := r.grid(l, policy.Thresholds, windowAlone(o.Configured))
	if err != nil {
		return nil, err
	}
	g.Forecast = f.figures()
	g.Strange = h.Strange
	return g, nil
}

// windowAlone are thresholds without those that depend on where a client compacts.
func windowAlone(t alerts.Thresholds) alerts.Thresholds {
	t.WarningOfThreshold = 0
	t.CriticalOfThreshold = 0
	return t
}

// plainOptions leave nothing to do but what thresholds do.
func plainOptions(o alerts.Options) alerts.Options {
	p := alerts.Defaults()
	p.Settle = o.Settle
	p.Storm = alerts.Storm{}
	p.Messages = alerts.Messages{
		Warning:   "w",
		Critical:  "c",
		Compacted: "d",
		Storm:     "s",
		NoData:    "n",
		Forecast:  "f",
	}
	return p
}

// ladderOf makes the steps: percentages in fives, tokens up to where nearly all contexts of these sizes have been
// compacted, and besides those the thresholds that are to be compared.
func ladderOf(sizes []int64, compared ...alerts.Thresholds) *ladder {
	l := &ladder{}
	for p := int64(percentFrom); p <= percentTo; p += percentStep {
		l[inPercent] = append(l[inPercent], p)
	}
	if len(sizes) > 0 {
		top := history.NearestRank(sizes, 0.9)
		width := int64(5000)
		for i := 0; top/width > tokenSteps; i++ {
			width = width * []int64{2, 5, 2}[i%3] / []int64{1, 2, 1}[i%3]
		}
		for n := max(width, top*percentFrom/100/width*width); n <= top; n += width {
			l[inTokens] = append(l[inTokens], n)
		}
	}
	for _, t := range compared {
		l[inPercent] = append(
			l[inPercent],
			int64(t.WarningPercentage),
			int64(t.CriticalPercentage),
		)
		l[inTokens] = append(l[inTokens], t.WarningTokens, t.CriticalTokens)
	}
	for k := range l {
		slices.Sort(l[k])
		l[k] = slices.DeleteFunc(slices.Compact(l[k]), func(n int64) bool { return n <= 0 })
	}
	return l
}

// grid measures all pairs of the ladders, and those that they are compared with.
func (r *trial) grid(l *ladder, current, configured alerts.Thresholds) (*Grid, error) {
	g := &Grid{Pairs: []Candidate{}, Configuration: []string{}}
	for kind, steps := range l {
		for i, warning := range steps {
			for _, critical := range steps[i+1:] {
				p, err := r.play(thresholds(kind, warning, critical))
				if err != nil {
					return nil, err
				}
				g.Pairs = append(g.Pairs, p)
			}
		}
		k, err := r.knees(l, kind)
		if err != nil {
			return nil, err
		}
		g.Knees = append(g.Knees, k)
	}
	var err error
	if g.Current, err = r.play(current); err != nil {
		return nil, err
	}
	if g.Default, err = r.play(windowAlone(alerts.Defaults().Thresholds)); err != nil {
		return nil, err
	}
	g.Overall = r.measure(g.Current.given, everyone)
	g.count(r)
	g.choose(r, configured)
	return g, nil
}

// NewCandidate returns a pair of thresholds without figures.
func NewCandidate(t alerts.Thresholds) Candidate {
	c := Candidate{
		Unit:       "percent",
		Warning:    int64(t.WarningPercentage),
		Critical:   int64(t.CriticalPercentage),
		thresholds: t,
	}
	if t.WarningTokens > 0 || t.CriticalTokens > 0 {
		c.Unit = "tokens"
		if t.WarningTokens == 0 || t.CriticalTokens == 0 {
			c.Unit = "mixed"
		}
		c.Warning = cmp.Or(t.WarningTokens, c.Warning)
		c.Critical = cmp.Or(t.CriticalTokens, c.Critical)
	}
	return c
}

// play measures a pair of thresholds.
func (r *trial) play(t alerts.Thresholds) (Candidate, error) {
	t.EarlyRatio = 0
	given, err := r.run(t)
	if err != nil {
		return Candidate{}, err
	}
	c := NewCandidate(t)
	c.given = given
	c.Choosing = r.measure(given, history.Train)
	c.Checking = r.measure(given, history.Holdout)
	return c, nil
}

// count counts what there is. A compaction that ended no cycle with a reading is one that nothing was seen of.
func (g *Grid) count(r *trial) {
	ended := 0
	for i := range r.cycles {
		c := &r.cycles[i]
		switch {
		case c.end == none && c.read && r.sessions[c.session].open:
			g.Cycles++
		case c.end != none && c.read && c.own:
			g.Cycles++
			ended++
		}
	}
	agents := map[alerts.AgentID]bool{}
	groups := map[int]bool{}
	for i := range r.sessions {
		s := &r.sessions[i]
		if s.own {
			agents[s.agent] = true
			groups[s.group] = true
		}
		for j := range s.points {
			if p := &s.points[j]; p.event.Kind == alerts.EventCompacted && p.own {
				report.Count(&g.Compactions, p.event.Trigger)
			}
		}
	}
	g.Sessions = len(agents)
	g.Groups = len(groups)
	g.Unseen = g.Compactions.Total() - ended
}

// choose takes a pair by the sessions that choose, and checks it with the others.
func (g *Grid) choose(r *trial, configured alerts.Thresholds) {
	if len(g.Pairs) == 0 || g.Pairs[0].Choosing.Compactions < Enough {
		g.Advice = AdviceTooFew
		return
	}
	best, chosen, ok := choice(g.Pairs)
	if !ok {
		g.Advice = AdviceNone
		return
	}
	g.Best = &best
	g.Chosen = &chosen
	d := r.compare(chosen.given, g.Current.given, history.Holdout)
	g.Advice = advise(g.Chosen, &g.Current, d)
	if chosen.Checking.Compactions > 0 {
		g.Difference = &d
	}
	if (g.Advice == AdviceChange || g.Advice == AdviceUnchecked) &&
		!same(chosen.thresholds, configured) {
		g.Configuration = ConfigurationOf(chosen.thresholds, configured)
	}
}

// same reports whether two pairs give the same warnings in every window.
func same(a, b alerts.Thresholds) bool {
	window := transcript.Window{
		Tokens: 1_000_000_007,
	} // in which no threshold in percent is one in tokens
	aw, ac := a.Limits(window, 0)
	bw, bc := b.Limits(window, 0)
	return aw == bw && ac == bc
}

// Same reports whether two candidates give the same warnings in every window.
func (c *Candidate) Same(other *Candidate) bool {
	return same(
		c.thresholds,
		other.thresholds,
	)
}

// advise checks a chosen pair with the sessions that were not used to choose it.
func advise(chosen, current *Candidate, d Difference) Advice {
	switch c := &chosen.Checking; {
	case same(chosen.thresholds, current.thresholds):
		return AdviceKeep
	case c.Compactions < Enough:
		return AdviceUnchecked
	case c.Coverage == 0 && current.Checking.Coverage == 0:
		return AdviceNone
	case d.Measure <= 0:
		return AdviceKeep
	case d.Measure <= d.StandardError:
		return AdviceUnclear
	}
	return AdviceChange
}

// choice returns the best pair and, of those whose measure is at most one standard
// error below it, the earliest: the lowest critical notice, with the warning of the
// highest measure. With few compactions the measures are mostly chance, and the best
// pair is close to one that fails, so an earlier one is safer. (Breiman and others,
// Classification and Regression Trees, 1984, choose trees by one standard error.)
// Percentages are preferred if they are as good by the same rule, as they apply to
// every window. A pair that never gives a notice in time is not chosen; without any
// other ok is false.
func choice(pairs []Candidate) (best, chosen Candidate, ok bool) {
	pairs = slices.DeleteFunc(
		slices.Clone(pairs),
		func(p Candidate) bool { return p.Choosing.Coverage == 0 },
	)
	if len(pairs) == 0 {
		return best, chosen, false
	}
	better := func(a, b Candidate) int {
		return cmp.Compare(
			a.Choosing.Measure,
			b.Choosing.Measure,
		)
	}
	best = slices.MaxFunc(pairs, better)
	least := best.Choosing.Measure - best.Choosing.StandardError
	near := slices.DeleteFunc(
		pairs,
		func(p Candidate) bool { return p.Choosing.Measure < least },
	)
	if slices.ContainsFunc(near, func(p Candidate) bool { return p.Unit == "percent" }) {
		near = slices.DeleteFunc(near, func(p Candidate) bool { return p.Unit != "percent" })
	}
	return best, slices.MinFunc(
		near,
		func(a, b Candidate) int {
			return cmp.Or(
				cmp.Compare(a.Critical, b.Critical),
				better(b, a),
			)
		},
	), true
}

// knees finds the knee of each notice alone.
func (r *trial) knees(l *ladder, kind int) (Knee, error) {
	k := Knee{Unit: [...]string{"percent", "tokens"}[kind]}
	var warnings, criticals []float64
	for _, step := range l[kind] {
		warning, err := r.run(thresholds(kind, step, 0))
		if err != nil {
			return k, err
		}
		critical, err := r.run(thresholds(kind, 0, step))
		if err != nil {
			return k, err
		}
		warnings = append(warnings, r.measure(warning, history.Train).Coverage)
		criticals = append(criticals, r.measure(critical, history.Train).Coverage)
	}
	at := func(curve []float64) *int64 {
		if len(curve) == 0 || slices.Max(curve) == 0 {
			return nil
		}
		return &l[kind][knee(l[kind], curve)]
	}
	k.Warning = at(warnings)
	k.Critical = at(criticals)
	return k, nil
}

// ConfigurationOf are the lines that set thresholds, whatever is configured: thresholds in tokens that are would win over
// percentages.
func ConfigurationOf(t, configured alerts.Thresholds) []string {
	lines := []string{"context_monitor:"}
	if t.WarningTokens > 0 {
		return append(
			lines,
			fmt.Sprintf("  warning_tokens: %d", t.WarningTokens),
			fmt.Sprintf("  critical_tokens: %d", t.CriticalTokens),
		)
	}
	lines = append(
		lines,
		fmt.Sprintf("  warning_percentage: %d", t.WarningPercentage),
		fmt.Sprintf("  critical_percentage: %d", t.CriticalPercentage),
	)
	if configured.WarningTokens > 0 {
		lines = append(lines, "  warning_tokens: 0")
	}
	if configured.CriticalTokens > 0 {
		lines = append(lines, "  critical_tokens: 0")
	}
	return lines
}
