package main

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/api"
)

// The steps of the ladders.
const (
	percentFrom, percentTo, percentStep = 30, 95, 5
	tokenSteps                          = 16 // at most
	// enough is how many compactions there must be to choose by.
	enough = 5
)

// grid is what `sm replay --grid --json` prints. Its fields are a contract.
type grid struct {
	Sessions    int             `json:"sessions"`    // with a reading of their own
	Cycles      int             `json:"cycles"`      // with a reading
	Compactions api.Compactions `json:"compactions"` // all, Unseen as well
	Advice      advice          `json:"advice"`
	// Chosen is what the half that chooses would take, and Best what has the highest measure there; null where there is
	// nothing to choose by.
	Chosen  *candidate  `json:"chosen"`
	Current candidate   `json:"current"` // by the configuration, or --warning and --critical
	Default candidate   `json:"default"`
	Pairs   []candidate `json:"pairs"`
	Knees   []kneeOf    `json:"knees"`
	// Forecast is measured on all sessions: it chooses nothing.
	Forecast []foretold `json:"forecast"`
	// Configuration are the lines to paste, [] where there is nothing to change to.
	Configuration []string   `json:"configuration"`
	Best          *candidate `json:"best"`
	// Difference is by how much the measure of Chosen is above that of Current on the sessions that check, pair by pair;
	// null where nothing was compared.
	Difference *difference `json:"difference"`
	Overall    figures     `json:"overall"` // of Current, on all sessions
	// Unseen are the compactions before which their transcript shows no reading, so that nothing can be said of notices:
	// it begins with them.
	Unseen  int `json:"unseen"`
	Strange int `json:"no_transcripts"` // files without a single record, which are left out

	groups int // of sessions that were not copied from each other
}

// advice says what to do with what was chosen.
type advice string

// All there is to advise.
const (
	adviceChange    advice = "change"    // it is better where it was not chosen
	adviceKeep      advice = "keep"      // it is no better there, or it is what is in force
	adviceUnclear   advice = "unclear"   // it is, but by no more than chance may make
	adviceUnchecked advice = "unchecked" // too few compactions to check it with
	adviceNone      advice = "none"      // no threshold gives a notice in time
	adviceTooFew    advice = "too_few"   // too few compactions to choose by
)

// difference is one of two measures, with its standard error.
type difference struct {
	Measure       float64 `json:"measure"`
	StandardError float64 `json:"standard_error"`
}

// candidate is a pair of thresholds with what it is worth on the sessions that choose, and on the others. Unit is
// percent, tokens, or mixed.
type candidate struct {
	Unit     string  `json:"unit"`
	Warning  int64   `json:"warning"`
	Critical int64   `json:"critical"`
	Choosing figures `json:"choosing"`
	Checking figures `json:"checking"`

	thresholds alerts.Thresholds
	said       []notices // by cycle, where it was played as a whole
}

// kneeOf is where the coverage of one notice alone begins to fall, on the sessions that choose: null where there is none
// at all.
type kneeOf struct {
	Unit     string `json:"unit"`
	Warning  *int64 `json:"warning"`
	Critical *int64 `json:"critical"`
}

// grid plays all sessions through an engine for each threshold.
func (env *environ) grid(ctx context.Context, cfg *config, o alerts.Options, paths []string) (*grid, error) {
	h, err := env.chronicle(ctx, paths)
	if fatal(err) {
		return nil, err
	}
	h.settle(cfg.windowRules(), time.Now())
	l := ladderOf(h.sizes(choosing), o.Thresholds, alerts.Defaults().Thresholds)
	f, bad := newForecaster(o)
	if bad != nil {
		return nil, bad
	}
	r := newTrial(ctx, o, h.groups)
	if ended := h.tell(ctx, cfg.windowRules(), func(t telling) {
		f.take(t.events, t.first)
		r.take(l, &t)
	}); ended != nil {
		return nil, ended
	}
	g, bad := r.grid(l, o.Thresholds, cfg.alerts().Thresholds)
	if bad != nil {
		return nil, bad
	}
	g.Forecast, g.Strange = f.figures(), h.strange
	return g, err
}

// plainOptions leave nothing to do but what thresholds do.
func plainOptions(o alerts.Options) alerts.Options {
	p := alerts.Defaults()
	p.Settle, p.Storm = o.Settle, alerts.Storm{}
	p.Messages = alerts.Messages{Warning: "w", Critical: "c", Compacted: "d", Storm: "s", NoData: "n", Forecast: "f"}
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
		top, width := nearestRank(sizes, 0.9), int64(5000)
		for i := 0; top/width > tokenSteps; i++ {
			width = width * []int64{2, 5, 2}[i%3] / []int64{1, 2, 1}[i%3]
		}
		for n := max(width, top*percentFrom/100/width*width); n <= top; n += width {
			l[inTokens] = append(l[inTokens], n)
		}
	}
	for _, t := range compared {
		l[inPercent] = append(l[inPercent], int64(t.WarningPercentage), int64(t.CriticalPercentage))
		l[inTokens] = append(l[inTokens], t.WarningTokens, t.CriticalTokens)
	}
	for k := range l {
		slices.Sort(l[k])
		l[k] = slices.DeleteFunc(slices.Compact(l[k]), func(n int64) bool { return n <= 0 })
	}
	return l
}

// grid judges all pairs of the ladders, and those that they are compared with.
func (r *trial) grid(l *ladder, current, configured alerts.Thresholds) (*grid, error) {
	g := &grid{Pairs: []candidate{}, Configuration: []string{}}
	for kind := range ladders {
		said, err := r.steps(l, kind)
		if err != nil {
			return nil, err
		}
		alone := make([][2]figures, len(said))
		for w := range said {
			alone[w] = [2]figures{r.judge(said[w], choosing), r.judge(said[w], checking)}
			for c := w + 1; c < len(said); c++ {
				g.Pairs = append(g.Pairs, r.pair(l.limits(kind, w, c), together(said[w], said[c]), alone[w]))
			}
		}
		g.Knees = append(g.Knees, r.knees(l, kind, said, alone))
	}
	for _, x := range []struct {
		to *candidate
		t  alerts.Thresholds
	}{{&g.Current, current}, {&g.Default, alerts.Defaults().Thresholds}} {
		if err := x.to.play(r, x.t); err != nil {
			return nil, err
		}
	}
	g.Overall = r.judge(g.Current.said, everyone)
	g.count(r)
	return g, g.choose(r, configured)
}

// pair judges a pair of which the warning alone has been judged: its first notice is the pair's.
func (r *trial) pair(t alerts.Thresholds, said []notices, warning [2]figures) candidate {
	p := newCandidate(t)
	for half, to := range []*figures{&p.Choosing, &p.Checking} {
		*to = r.sum(said, half, nil)
		to.Turns, to.Replies, to.Minutes = warning[half].Turns, warning[half].Replies, warning[half].Minutes
	}
	return p
}

func newCandidate(t alerts.Thresholds) candidate {
	c := candidate{thresholds: t, Unit: "percent", Warning: int64(t.WarningPercentage), Critical: int64(t.CriticalPercentage)}
	if t.WarningTokens > 0 || t.CriticalTokens > 0 {
		c.Unit = "tokens"
		if t.WarningTokens == 0 || t.CriticalTokens == 0 {
			c.Unit = "mixed"
		}
		c.Warning, c.Critical = cmp.Or(t.WarningTokens, c.Warning), cmp.Or(t.CriticalTokens, c.Critical)
	}
	return c
}

// play judges by an engine with both thresholds.
func (c *candidate) play(r *trial, t alerts.Thresholds) error {
	t.EarlyRatio = 0
	*c = newCandidate(t)
	said, err := r.whole(t)
	if err == nil {
		c.Choosing, c.Checking, c.said = r.judge(said, choosing), r.judge(said, checking), said
	}
	return err
}

// count counts what there is. A compaction that ended no cycle with a reading is one that nothing was seen of.
func (g *grid) count(r *trial) {
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
	agents, groups := map[alerts.AgentID]bool{}, map[int]bool{}
	for i := range r.sessions {
		s := &r.sessions[i]
		if s.first {
			agents[s.agent], groups[s.group] = true, true
		}
		for j := range s.beats {
			if b := &s.beats[j]; b.kind == alerts.EventCompacted && b.own {
				countTrigger(&g.Compactions, b.trigger)
			}
		}
	}
	g.Sessions, g.groups, g.Unseen = len(agents), len(groups), sumOf(g.Compactions)-ended
}

// choose takes a pair on the sessions that choose. Whether it is to be used is for the other sessions to say.
func (g *grid) choose(r *trial, configured alerts.Thresholds) error {
	if len(g.Pairs) == 0 || g.Pairs[0].Choosing.Compactions < enough {
		g.Advice = adviceTooFew
		return nil
	}
	best, chosen, ok := choice(g.Pairs)
	if !ok {
		g.Advice = adviceNone
		return nil
	}
	g.Best, g.Chosen = &best, &candidate{}
	if err := g.Chosen.play(r, chosen.thresholds); err != nil {
		return err
	}
	d := r.compare(g.Chosen.said, g.Current.said, checking)
	g.Advice = advise(g.Chosen, &g.Current, d)
	if g.Chosen.Checking.Compactions > 0 {
		g.Difference = &d
	}
	if (g.Advice == adviceChange || g.Advice == adviceUnchecked) && !g.inForce(configured) {
		g.Configuration = configurationOf(g.Chosen.thresholds, configured)
	}
	return nil
}

// inForce says that the configuration has what was chosen.
func (g *grid) inForce(configured alerts.Thresholds) bool {
	return same(g.Chosen.thresholds, configured)
}

// same says that two pairs warn alike in every window.
func same(a, b alerts.Thresholds) bool {
	const window = 1_000_000_007 // in which no threshold in percent is one in tokens
	aw, ac := a.Limits(window)
	bw, bc := b.Limits(window)
	return aw == bw && ac == bc
}

// advise says what becomes of a pair that was chosen, by the sessions that had no say in it.
func advise(chosen, current *candidate, d difference) advice {
	switch c := &chosen.Checking; {
	case same(chosen.thresholds, current.thresholds):
		return adviceKeep
	case c.Compactions < enough:
		return adviceUnchecked
	case c.Coverage == 0 && current.Checking.Coverage == 0:
		return adviceNone
	case d.Measure <= 0:
		return adviceKeep
	case d.Measure <= d.StandardError:
		return adviceUnclear
	}
	return adviceChange
}

// choice takes the best pair and, of those whose measure is no more than one standard error below it, the one that
// insists earliest: the lowest critical notice, with the warning of the highest measure. The fewer compactions there are,
// the more their figures are chance, and the more careful that is: the best pair of few stands close to where the next
// one fails. (Breiman and others, Classification and Regression Trees, 1984, choose trees by one standard error.)
// Percentages are preferred where they are as good by the same rule, for they hold in every window. A pair that never
// gives a notice in time is not taken; without any other ok is false.
func choice(pairs []candidate) (best, chosen candidate, ok bool) {
	pairs = slices.DeleteFunc(slices.Clone(pairs), func(p candidate) bool { return p.Choosing.Coverage == 0 })
	if len(pairs) == 0 {
		return best, chosen, false
	}
	better := func(a, b candidate) int { return cmp.Compare(a.Choosing.Measure, b.Choosing.Measure) }
	best = slices.MaxFunc(pairs, better)
	least := best.Choosing.Measure - best.Choosing.StandardError
	near := slices.DeleteFunc(pairs, func(p candidate) bool { return p.Choosing.Measure < least })
	if slices.ContainsFunc(near, func(p candidate) bool { return p.Unit == "percent" }) {
		near = slices.DeleteFunc(near, func(p candidate) bool { return p.Unit != "percent" })
	}
	return best, slices.MinFunc(near, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.Critical, b.Critical), better(b, a)) }), true
}

// knees finds the knee of each notice for itself.
func (r *trial) knees(l *ladder, kind int, said [][]notices, warning [][2]figures) kneeOf {
	k := kneeOf{Unit: [...]string{"percent", "tokens"}[kind]}
	var warnings, criticals []float64
	for i := range said {
		warnings = append(warnings, warning[i][choosing].Coverage)
		alone := make([]notices, len(said[i]))
		for j := range alone {
			alone[j] = notices{none, said[i][j].warning}
		}
		criticals = append(criticals, r.sum(alone, choosing, nil).Coverage)
	}
	for _, x := range []struct {
		to    **int64
		curve []float64
	}{{&k.Warning, warnings}, {&k.Critical, criticals}} {
		if len(x.curve) > 0 && slices.Max(x.curve) > 0 {
			*x.to = &l[kind][knee(l[kind], x.curve)]
		}
	}
	return k
}
