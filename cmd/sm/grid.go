package main

import (
	"cmp"
	"context"
	"slices"

	"sm/alerts"
	"sm/observer/api"
	"sm/transcript"
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
	Sessions    int             `json:"sessions"` // with a reading of their own
	Cycles      int             `json:"cycles"`
	Compactions api.Compactions `json:"compactions"`
	// Advice is "change", "keep", "unchecked" or "too_few"; Chosen is what to change to, null for the last.
	Advice  string      `json:"advice"`
	Chosen  *candidate  `json:"chosen"`
	Current candidate   `json:"current"` // by the configuration, or --warning and --critical
	Default candidate   `json:"default"`
	Pairs   []candidate `json:"pairs"`
	Knees   []kneeOf    `json:"knees"`
	// Forecast is measured on all sessions: it chooses nothing.
	Forecast []foretold `json:"forecast"`
	// Configuration are the lines to paste, [] without Chosen.
	Configuration []string `json:"configuration"`
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
}

// kneeOf is where the coverage of one notice alone begins to fall, on the sessions that choose: null without
// compactions.
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
	l := ladderOf(h.sizes(), o.Thresholds, alerts.Defaults().Thresholds)
	f, bad := newForecaster(o)
	if bad != nil {
		return nil, bad
	}
	r := &trial{options: plainOptions(o)}
	var n thinner
	h.tell(cfg.windowRules(), func(t telling) {
		f.take(t.events)
		if beats := l.beats(&n, t.events); len(beats) > 0 {
			r.sessions = append(r.sessions, newPlayed(t.events[0].Agent, cmp.Or(t.change.Session.ID, t.change.Name), beats))
		}
	})
	g, bad := r.grid(l, o.Thresholds)
	if bad != nil {
		return nil, bad
	}
	g.Forecast = f.figures()
	return g, err
}

// sizes are those of all contexts when they were compacted, as far as boundaries tell.
func (h *chronicle) sizes() (all []int64) {
	for i := range h.chapters {
		for _, c := range h.chapters[i].change.Compactions {
			if c.PreTokens > 0 && c.Trigger != transcript.Manual {
				all = append(all, c.PreTokens)
			}
		}
	}
	slices.Sort(all)
	return all
}

// plainOptions leave nothing to do but what thresholds do.
func plainOptions(o alerts.Options) alerts.Options {
	p := alerts.Defaults()
	p.Settle, p.Storm = o.Settle, alerts.Storm{}
	p.Messages = alerts.Messages{Warning: "w", Critical: "c", Compacted: "d", Storm: "s", NoData: "n", Forecast: "f"}
	return p
}

// halfOf splits sessions in two by the id that their first record names, so that a fork is with its origin: what chooses
// and what checks.
func halfOf(id string) int { return int(transcript.KeyOf([]byte(id)) >> 63) }

// ladderOf makes the steps: percentages in fives, tokens up to where nearly all contexts have been compacted, and
// besides those the thresholds that are to be compared.
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
func (r *trial) grid(l *ladder, current alerts.Thresholds) (*grid, error) {
	g := &grid{Sessions: len(r.sessions), Pairs: []candidate{}, Configuration: []string{}}
	for kind := range ladders {
		said, err := r.steps(l, kind)
		if err != nil {
			return nil, err
		}
		alone := make([][2]figures, len(said))
		for w := range said {
			alone[w] = [2]figures{r.judge(said[w], 0), r.judge(said[w], 1)}
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
	g.count(r)
	return g, g.choose(r)
}

// pair judges a pair of which the warning alone has been judged: its first notice is the pair's.
func (r *trial) pair(t alerts.Thresholds, said []notices, warning [2]figures) candidate {
	p := newCandidate(t)
	for half, to := range []*figures{&p.Choosing, &p.Checking} {
		*to, _ = r.sum(said, half)
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
		c.Choosing, c.Checking = r.judge(said, 0), r.judge(said, 1)
	}
	return err
}

func (g *grid) count(r *trial) {
	for i := range r.cycles {
		c := &r.cycles[i]
		if c.end != none || c.read {
			g.Cycles++
		}
		if c.end != none {
			countTrigger(&g.Compactions, c.trigger)
		}
	}
}

// choose takes a pair on the sessions that choose. Whether it is to be used is for the other sessions to say.
func (g *grid) choose(r *trial) error {
	if len(g.Pairs) == 0 || g.Pairs[0].Choosing.Compactions < enough {
		g.Advice = "too_few"
		return nil
	}
	best := choice(g.Pairs)
	g.Chosen = &candidate{}
	if err := g.Chosen.play(r, best.thresholds); err != nil {
		return err
	}
	switch {
	case g.Chosen.Checking.Compactions == 0:
		g.Advice = "unchecked"
	case g.Chosen.Checking.Measure > g.Current.Checking.Measure:
		g.Advice = "change"
	default:
		g.Advice = "keep"
	}
	g.Configuration = configurationOf(g.Chosen.thresholds)
	if t := g.Current.thresholds; g.Chosen.Unit == "percent" && (t.WarningTokens > 0 || t.CriticalTokens > 0) {
		g.Configuration = append(g.Configuration, "  warning_tokens: 0", "  critical_tokens: 0") // they would win
	}
	return nil
}

// choice is, of the pairs whose measure is no more than one standard error below the best, the one that insists
// earliest: the lowest critical notice, with the warning of the highest measure. The fewer compactions there are, the
// more their figures are chance, and the more careful that is: the best pair of few stands close to where the next one
// fails. (Breiman and others, Classification and Regression Trees, 1984, choose trees by one standard error.)
// Percentages are preferred where they are as good by the same rule, for they hold in every window.
func choice(pairs []candidate) candidate {
	better := func(a, b candidate) int { return cmp.Compare(a.Choosing.Measure, b.Choosing.Measure) }
	best := slices.MaxFunc(pairs, better)
	least := best.Choosing.Measure - best.Choosing.StandardError
	near := slices.DeleteFunc(slices.Clone(pairs), func(p candidate) bool { return p.Choosing.Measure < least })
	if slices.ContainsFunc(near, func(p candidate) bool { return p.Unit == "percent" }) {
		near = slices.DeleteFunc(near, func(p candidate) bool { return p.Unit != "percent" })
	}
	return slices.MinFunc(near, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.Critical, b.Critical), better(b, a)) })
}

// knees finds the knee of each notice for itself.
func (r *trial) knees(l *ladder, kind int, said [][]notices, warning [][2]figures) kneeOf {
	k := kneeOf{Unit: [...]string{"percent", "tokens"}[kind]}
	var warnings, criticals []float64
	compactions := 0
	for i := range said {
		compactions = warning[i][0].Compactions
		warnings = append(warnings, warning[i][0].Coverage)
		alone := make([]notices, len(said[i]))
		for j := range alone {
			alone[j] = notices{none, said[i][j].warning}
		}
		f, _ := r.sum(alone, 0)
		criticals = append(criticals, f.Coverage)
	}
	if i := knee(l[kind], warnings); i >= 0 && compactions > 0 {
		k.Warning, k.Critical = &l[kind][i], &l[kind][knee(l[kind], criticals)]
	}
	return k
}
