// Package tune evaluates thresholds on past transcripts with the observer's own
// engine: how useful the notices of each pair would have been, and which pair
// to change to.
//
// A change is advised only if it is better by more than the standard error of the
// measure. The package changes no configuration and prints nothing.
package tune

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/history"
	"sm/observer/history/report"
	"sm/transcript"
)

// The steps of the thresholds to try.
const (
	percentFrom, percentTo, percentStep = 30, 95, 5
	tokenSteps                          = 16 // at most
	// Enough is the minimum number of compactions for a choice.
	Enough = report.EnoughToTune
)

// Grid is the output of `sm replay --grid --json`. Its fields are a contract.
type Grid struct {
	Sessions    int             `json:"sessions"`    // with a reading of their own
	Cycles      int             `json:"cycles"`      // with a reading
	Compactions api.Compactions `json:"compactions"` // all, including Unseen
	Advice      Advice          `json:"advice"`
	// Chosen is null if no pair can be chosen.
	Chosen   *Candidate  `json:"chosen"`
	Current  Candidate   `json:"current"` // by the configuration, or --warning and --critical
	Default  Candidate   `json:"default"`
	Pairs    []Candidate `json:"pairs"`
	Forecast []Forecast  `json:"forecast"`
	// Configuration has the lines to paste, [] for no change.
	Configuration []string `json:"configuration"`
	// Unseen counts the compactions whose transcript has no reading before
	// them, because it begins there, so that notices cannot be judged.
	Unseen int `json:"unseen"`
	// Active counts the cycles that are left out because they may continue:
	// their sessions have a record of the last ten minutes.
	Active  int `json:"active"`
	Strange int `json:"no_transcripts"` // files without a single record, which are left out
}

// Advice is the advice about the chosen thresholds.
type Advice string

// The values of Advice.
const (
	AdviceChange Advice = "change"  // they are better by more than the standard error
	AdviceKeep   Advice = "keep"    // the current ones are as good
	AdviceNone   Advice = "none"    // no threshold gives a notice in time
	AdviceTooFew Advice = "too_few" // too few compactions to choose by
)

// Candidate is a pair of thresholds with its results. Unit is percent, tokens,
// or mixed.
type Candidate struct {
	Unit     string `json:"unit"`
	Warning  int64  `json:"warning"`
	Critical int64  `json:"critical"`
	Figures

	thresholds alerts.Thresholds
}

// Options are the options of Try.
type Options struct {
	// Policy is the observer's policy with the thresholds to compare with;
	// Configured are the configured thresholds.
	Policy     alerts.Options
	Configured alerts.Thresholds
	Windows    []transcript.WindowRule // windows that are configured for models
	Now        time.Time               // a session with a record of the last ten minutes may continue
}

// Try replays all sessions for each threshold, and drops their records. The error
// means that the policy is invalid, or that the context has ended.
func Try(ctx context.Context, h *history.History, o Options) (*Grid, error) {
	h.Settle(o.Windows, o.Now)
	// The effect of a client's compaction threshold on notices is the same for
	// all pairs.
	current := windowAlone(o.Policy.Thresholds)
	usual := windowAlone(alerts.Defaults().Thresholds)
	o.Policy.Thresholds = alerts.Thresholds{}
	r, err := newTrial(o.Policy, ladderOf(h.Sizes(), current, usual))
	if err != nil {
		return nil, err
	}
	if err := h.Each(ctx, func(t history.Timeline) { r.add(&t) }); err != nil {
		return nil, err
	}
	g := r.counted
	g.Sessions = len(r.agents)
	g.Strange = h.Strange
	g.Pairs = r.pairs()
	g.Current = r.play(current)
	g.Default = r.play(usual)
	g.Forecast = r.forecast.figures()
	g.Configuration = []string{}
	g.choose(windowAlone(o.Configured))
	return &g, nil
}

// windowAlone returns thresholds that depend on the window alone, not on the
// size at which a client compacts.
func windowAlone(t alerts.Thresholds) alerts.Thresholds {
	t.WarningOfThreshold = 0
	t.CriticalOfThreshold = 0
	return t
}

// pairs measures all pairs of steps of the same unit.
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

// NewCandidate returns a pair of thresholds without results.
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
	c.Figures = r.measure(r.pairOf(t))
	return c
}

// choose chooses a pair and compares it with the current one.
func (g *Grid) choose(configured alerts.Thresholds) {
	if g.Current.Compactions < Enough {
		g.Advice = AdviceTooFew
		return
	}
	g.Chosen = choice(g.Pairs)
	switch c := g.Chosen; {
	case c == nil:
		g.Advice = AdviceNone
	case c.Same(&g.Current) || c.Measure-g.Current.Measure <= c.StandardError:
		g.Advice = AdviceKeep
	default:
		g.Advice = AdviceChange
		if !c.Same(&Candidate{thresholds: configured}) {
			g.Configuration = ConfigurationOf(c.thresholds, configured)
		}
	}
}

// Same reports whether two candidates give the same warnings in every window.
func (c *Candidate) Same(other *Candidate) bool {
	// In this window no percentage equals a threshold in tokens.
	window := transcript.Window{Tokens: 1_000_000_007}
	warning, critical := c.thresholds.Limits(window, 0)
	otherWarning, otherCritical := other.thresholds.Limits(window, 0)
	return warning == otherWarning && critical == otherCritical
}

// choice returns, of the pairs whose measure is at most one standard error below the
// best, the earliest: the lowest critical notice, with the warning of the highest
// measure. With few compactions the measures are mostly chance, and the best pair is
// close to one that fails, so an earlier one is safer. (Breiman and others,
// Classification and Regression Trees, 1984, choose trees by one standard error.)
// Percentages are preferred if they are as good by the same rule, as they apply to
// every window. A pair that never gives a notice in time is not chosen; without any
// other the result is nil.
func choice(pairs []Candidate) *Candidate {
	best := math.Inf(-1)
	least := 0.0
	for _, p := range pairs {
		if p.Timely > 0 && p.Measure > best {
			best = p.Measure
			least = best - p.StandardError
		}
	}
	var chosen *Candidate
	for i := range pairs {
		p := &pairs[i]
		if p.Timely > 0 && p.Measure >= least && (chosen == nil || p.before(chosen)) {
			chosen = p
		}
	}
	return chosen
}

// before reports whether a pair is preferred to another one that is as good.
func (c *Candidate) before(other *Candidate) bool {
	if (c.Unit == inPercent) != (other.Unit == inPercent) {
		return c.Unit == inPercent
	}
	return cmp.Or(
		cmp.Compare(c.Critical, other.Critical),
		cmp.Compare(other.Measure, c.Measure),
	) < 0
}

// ConfigurationOf returns the lines that set thresholds in any configuration:
// configured thresholds in tokens would override percentages.
func ConfigurationOf(t, configured alerts.Thresholds) []string {
	lines := []string{"context_monitor:"}
	add := func(name string, n int64) {
		lines = append(lines, fmt.Sprintf("  %s: %d", name, n))
	}
	if t.WarningTokens > 0 {
		add("warning_tokens", t.WarningTokens)
		add("critical_tokens", t.CriticalTokens)
		return lines
	}
	add("warning_percentage", int64(t.WarningPercentage))
	add("critical_percentage", int64(t.CriticalPercentage))
	if configured.WarningTokens > 0 {
		add("warning_tokens", 0)
	}
	if configured.CriticalTokens > 0 {
		add("critical_tokens", 0)
	}
	return lines
}
