package page

import (
	"fmt"
	"strings"
	"time"

	"sm/dashboards/urgency"
	"sm/observer/api"
	"sm/observer/curve"
)

// row is a session in words and lengths.
type row struct {
	ID, View, Host       string
	Project, Model       string
	Parent               string
	Key, Heading, Second string
	Pressure             string
	Reached              string // the pressure in percent, "" while unknown
	Told                 string
	Used                 string // "" while unknown
	Size, Of             string
	Fill, Limit, Rest    string // of the bar
	Bar, Way             string // the whole, and what follows Reached
	Spark                spark
	Left, Between, Why   string
	Minutes              string // of work until then
	Sum                  int
	Triggers             string
	Doing, Note          string
	StateKey             string
	Seen                 int64
	Stamp, Clock         string
	Check                string
	Drifts               string
	DriftNote            string
	Dim                  bool
	Assumed              bool // the threshold was neither seen nor configured
}

func rowOf(s *api.Session, h *curve.History, view string) row {
	d := row{
		ID:       s.ID,
		View:     view,
		Host:     tame(s.Host),
		Project:  tame(s.Project),
		Model:    modelOf(s),
		Parent:   tame(s.ParentID),
		Key:      Key(s.ID),
		Heading:  tame(heading(s)),
		Pressure: pressureOf(s),
		Told:     told(s),
		Left:     replies(forecast(s)),
		Between:  between(forecast(s)),
		Spark:    sparkOf(s, h),
		Sum:      s.Compactions.Total(),
		Triggers: triggers(s.Compactions),
		Seen:     seen(s),
		Check:    s.CrossCheck,
		Dim:      need(s) >= urgency.Idles,
		Assumed:  assumed(s.ThresholdSource),
	}
	if name(s) != heading(s) {
		d.Second = tame(name(s))
	}
	d.context(s)
	d.forecast(s)
	d.state(s)
	if d.Seen > 0 {
		d.Stamp = stamp(d.Seen)
		d.Clock = clock(d.Seen, time.UTC)
	}

	switch s.CrossCheck {
	case "agrees":
		d.Drifts = "0"
		d.DriftNote = "status line agrees"
	case "lagging":
		d.Drifts = "…"
		d.DriftNote = "status line lags"
	case "drift":
		d.Drifts = signed(value(s.DriftTokens))
		d.DriftNote = "status line differs"
	default:
		d.Drifts = "–"
		d.DriftNote = "no status line"
	}
	return d
}

// told returns the threshold that the context has reached, and whether the agent
// has read the notice; "" below the first threshold.
func told(s *api.Session) string {
	limit := map[string]int64{"warn": s.WarningTokens, "critical": s.CriticalTokens}[s.Level]
	if limit <= 0 || !s.Enabled || tokens(s) == 0 {
		return ""
	}
	at := Short(limit)
	if s.NoticePercent > 0 {
		at = fmt.Sprintf("%d %%", s.NoticePercent)
	}
	if s.NoticeHeard {
		return "told at " + at
	}
	return "at " + at
}

func signed(n int64) string {
	if n > 0 {
		return "+" + Short(n)
	}
	return Short(n)
}

// context fills in how full the window is, and how near the compaction.
func (d *row) context(s *api.Session) {
	d.Fill, d.Of = "0", Short(s.WindowTokens)
	threshold := value(s.ThresholdTokens)
	if threshold > 0 && threshold < s.WindowTokens {
		at := float64(threshold) / float64(s.WindowTokens)
		d.Limit, d.Rest = percent(at), percent(1-at)
	}
	if s.PressureLevel != "" {
		d.Reached = fmt.Sprintf("%d%%", int(100*min(value(s.Pressure), 10)))
	}
	share := share(s)
	if share < 0 {
		return
	}

	d.Fill = percent(share)
	d.Used = fmt.Sprint(*s.UsedPercentage, "%")
	d.Size = Short(tokens(s))
	if s.ContextSource == "estimate" {
		d.Size = "about " + d.Size
	}
	d.Way = "where the client compacts is not known"
	if d.Reached != "" {
		d.Way = "of the way to compaction " + CompactsAt(threshold, s.ThresholdSource)
	}
	d.Bar = strings.TrimSpace(d.Reached + " " + d.Way)
}

// assumed reports whether a threshold with that source was neither seen nor configured.
func assumed(source string) bool {
	return source == "assumed" || source == "refusal" || source == "earliest"
}

// CompactsAt describes a compaction threshold and its source, as "at 167k (assumed)".
func CompactsAt(threshold int64, source string) string {
	size := Short(threshold)
	switch source {
	case "":
		return "at " + size
	case "refusal":
		return "when the API refuses, near " + size + " (assumed)"
	case "earliest":
		return "at " + size + " at the earliest (assumed)"
	case "seen":
		return "at " + size + " (seen before)"
	}
	return "at " + size + " (" + tame(source) + ")"
}

// IdleCompaction describes when the client compacts if it stays idle.
func IdleCompaction(at time.Time) string {
	return "idle compaction at " + at.Local().Format("15:04")
}

// forecast fills in the time until the compaction, or why there is none.
func (d *row) forecast(s *api.Session) {
	switch {
	case forecast(s) != nil:
		if r := s.Forecast.Turns; r != nil {
			d.Why = turns(r)
		}
		if r := s.Forecast.Seconds; r != nil && d.Between != "" {
			d.Minutes = work(max(60, r.Likely))
		}
	case tokens(s) <= 0:
		d.Between = "no reading"
		d.Why = "The size of the context is unknown until the next reply."
	case value(s.ThresholdTokens) <= 0:
		d.Between = "no threshold"
		d.Why = "It is not known at which size this client compacts: model or window are unknown, or it never does by itself."
	default:
		d.Between = "too far"
		d.Why = "At its present growth it does not come to the threshold."
	}
}

// state fills in what the agent does.
func (d *row) state(s *api.Session) {
	d.Doing = tame(words(s.State))
	d.StateKey = s.State
	var notes []string
	switch {
	case s.IsCompacting:
		d.Doing = "compacting"
		d.StateKey = "compacting"
	case s.State == "waiting" && s.WaitingFor != "":
		notes = append(notes, tame(s.WaitingFor))
	}
	switch d.StateKey {
	case "ended": // there is nothing else to show
		d.StateKey = "quiet"
	case "busy", "idle", "waiting", "quiet", "compacting":
	default:
		d.StateKey = "other"
	}

	if n := s.Subagents.Active; n > 0 {
		note := counted(n, "subagent")
		if s.Subagents.MaxContext > 0 {
			note += ", " + Short(s.Subagents.MaxContext)
		}
		notes = append(notes, note)
	}
	if s.Storming {
		notes = append(notes, "compaction storm")
	}
	if !s.Enabled {
		notes = append(notes, "muted")
	}
	d.Note = strings.Join(notes, " · ")
}
