// Package tune tries thresholds on past transcripts: what each pair of notices would
// have been worth, by the observer's own engine, and which pair to change to.
//
// One half of the sessions chooses and the other half checks, and a fork is in the
// half of its origin, so that nothing is judged by what it was chosen by. A pair is
// advised only where it is better, on the half that checks, by more than chance
// makes. The package changes no configuration and prints nothing.
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
	// Chosen is what the half that chooses would take, and Best what has the
	// highest measure there; null where there is nothing to choose by.
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
	// Difference is by how much the measure of Chosen is above that of Current
	// on the sessions that check, pair by pair; null where nothing was
	// compared.
	Difference *Difference `json:"difference"`
	Overall    Figures     `json:"overall"` // of Current, on all sessions
	// Unseen are the compactions before which their transcript shows no
	// reading, so that notices cannot be judged: it begins with them.
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

// Candidate is a pair of thresholds with what it is worth on the sessions that
// choose, and on the others. Unit is percent, tokens, or mixed.
type Candidate struct {
	Unit     string  `json:"unit"`
	Warning  int64   `json:"warning"`
	Critical int64   `json:"critical"`
	Choosing Figures `json:"choosing"`
	Checking Figures `json:"checking"`

	thresholds alerts.Thresholds
}

// Knee is where the coverage of one notice alone begins to fall, on the
// sessions that choose: null where there is none at all.
type Knee struct {
	Unit     string `json:"unit"`
	Warning  *int64 `json:"warning"`
	Critical *int64 `json:"critical"`
}

// Options are what to try.
type Options struct {
	// Policy is the observer's, with the thresholds to compare with; Configured
	// are those of the configuration.
	Policy     alerts.Options
	Configured alerts.Thresholds
	Windows    []transcript.WindowRule // windows that are configured for models
	Now        time.Time               // a session with a newer record than ten minutes before may go on
}

// Try replays all sessions for each threshold, and drops their records. The error
// means that the policy is invalid, or that the context has ended.
func Try(ctx context.Context, h *history.History, o Options) (*Grid, error) {
	h.Settle(o.Windows, o.Now)
	// What a client's compaction threshold does to notices is the same for all
	// pairs, and no step of a ladder.
	current := windowAlone(o.Policy.Thresholds)
	usual := windowAlone(alerts.Defaults().Thresholds)
	o.Policy.Thresholds = alerts.Thresholds{}
	r, err := newTrial(o.Policy, ladderOf(h.Sizes(history.Train), current, usual), h.Groups)
	if err != nil {
		return nil, err
	}
	if err := h.Each(ctx, func(t history.Timeline) { r.add(&t) }); err != nil {
		return nil, err
	}
	g := r.counted
	g.Sessions = len(r.agents)
	g.Groups = len(r.alone)
	g.Strange = h.Strange
	g.Pairs = r.pairs()
	g.Knees = []Knee{r.knees(inPercent), r.knees(inTokens)}
	g.Current = r.play(current)
	g.Default = r.play(usual)
	g.Overall = r.measure(r.pairOf(current), everyone)
	g.Forecast = r.forecast.figures()
	g.Configuration = []string{}
	g.choose(r, windowAlone(o.Configured))
	return &g, nil
}

// windowAlone are thresholds without those that depend on where a client compacts.
func windowAlone(t alerts.Thresholds) alerts.Thresholds {
	t.WarningOfThreshold = 0
	t.CriticalOfThreshold = 0
	return t
}

// pairs measures all pairs of the ladders.
func (r *trial) pairs() []Candidate {
	all := []Candidate{}
	for i, warning := range r.steps {
		for _, critical := range r.steps[i+1:] {
			if critical.unit != warning.unit {
				break
			}
			t := alerts.Thresholds{
				WarningPercentage:  int(warning.at),
				CriticalPercentage: int(critical.at),
			}
			if warning.unit == inTokens {
				t = alerts.Thresholds{
					WarningTokens:  warning.at,
					CriticalTokens: critical.at,
				}
			}
			all = append(all, r.play(t))
		}
	}
	return all
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
func (r *trial) play(t alerts.Thresholds) Candidate {
	c := NewCandidate(t)
	c.Choosing = r.measure(r.pairOf(t), history.Train)
	c.Checking = r.measure(r.pairOf(t), history.Holdout)
	return c
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
	d := r.compare(r.pairOf(chosen.thresholds), r.pairOf(g.Current.thresholds), history.Holdout)
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
	return same(c.thresholds, other.thresholds)
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

// choice returns the best pair and, of the pairs whose measure is at most one standard
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
		return cmp.Compare(a.Choosing.Measure, b.Choosing.Measure)
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
			return cmp.Or(cmp.Compare(a.Critical, b.Critical), better(b, a))
		},
	), true
}

// knees finds the knee of each notice alone.
func (r *trial) knees(unit string) Knee {
	var steps []int64
	var warnings, criticals []float64
	for i, s := range r.steps {
		if s.unit == unit {
			steps = append(steps, s.at)
			warnings = append(warnings, r.measure(pair{i, none}, history.Train).Coverage)
			criticals = append(criticals, r.measure(pair{none, i}, history.Train).Coverage)
		}
	}
	at := func(curve []float64) *int64 {
		if len(curve) == 0 || slices.Max(curve) == 0 {
			return nil
		}
		return &steps[knee(steps, curve)]
	}
	return Knee{Unit: unit, Warning: at(warnings), Critical: at(criticals)}
}

// ConfigurationOf are the lines that set thresholds, whatever is configured:
// thresholds in tokens that are would win over percentages.
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
