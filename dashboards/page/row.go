package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sm/dashboards/urgency"
)

// row is a Row in words and lengths.
type row struct {
	Row
	Key, Heading, Second string
	Pressure             string
	Reached              string // the pressure in percent, "" while unknown
	Told                 string
	Used                 string // "" while unknown
	Size, Of             string
	Fill, Limit, Rest    string // of the bar
	Bar, Way             string // the whole, and what comes after Reached
	Spark                spark
	Left, Between, Why   string
	Minutes              string // of work until then
	Sum                  int
	Triggers             string
	Doing, Note          string
	StateKey             string
	Stamp, Clock         string
	Drifts               string
	DriftNote            string
	Dim                  bool
	Assumed              bool // the threshold was neither seen nor configured
}

func rowOf(r *Row, h *History) row {
	d := row{
		Row: *r, Key: Key(r.ID), Heading: tame(r.heading()), Pressure: r.pressure(), Told: r.told(),
		Left: replies(r.Replies), Between: between(r.Replies), Spark: sparkOf(r, h),
		Sum: sum(r.Compactions), Triggers: triggers(r.Compactions),
		Dim:     r.need() >= urgency.Idles,
		Assumed: assumed(r.Source),
	}
	d.Host = tame(r.Host)
	d.Project, d.Model, d.Parent = tame(r.Project), tame(strings.TrimPrefix(r.Model, "claude-")), tame(r.Parent)
	if r.Title != "" && r.Title != r.Name {
		d.Second = tame(r.Name)
	}
	d.context(r)
	d.forecast(r)
	d.state(r)
	if r.Seen > 0 {
		d.Stamp, d.Clock = stamp(r.Seen), clock(r.Seen, time.UTC)
	}
	switch r.Check {
	case "agrees":
		d.Drifts, d.DriftNote = "0", "status line agrees"
	case "lagging":
		d.Drifts, d.DriftNote = "…", "status line lags"
	case "drift":
		d.Drifts, d.DriftNote = signed(r.Drift), "status line differs"
	default:
		d.Drifts, d.DriftNote = "–", "no status line"
	}
	return d
}

// DataOf is what the script goes by.
func DataOf(r *Row) Data {
	d := Data{
		Key: Key(r.ID), ID: r.ID, Name: tame(r.heading()), Host: tame(r.Host), Project: tame(r.Project), Pressure: r.pressure(), State: states()[r.need()], Client: r.Client,
		Order: r.order(), Ratio: -1, Used: -1, Left: r.left(), Compactions: sum(r.Compactions),
		Seen: r.Seen, Drift: -1,
	}
	d.Find = strings.ToLower(strings.Join([]string{
		d.Name, tame(r.Name), d.Project, tame(strings.TrimPrefix(r.Model, "claude-")), tame(r.Parent), tame(r.ID), tame(r.State), d.Host, tame(r.Client),
	}, " "))
	if r.Pressure != "" {
		d.Ratio = int(min(r.Ratio, 1000) * 1000)
	}
	if share := r.share(); share >= 0 {
		d.Used = int(share * 1000)
	}
	switch r.Check {
	case "agrees":
		d.Drift = 0
	case "lagging":
		d.Drift = 1
	case "drift":
		d.Drift = max(2, r.Drift, -r.Drift)
	}
	return d
}

func (r *Row) pressure() string { return cmp.Or(r.Pressure, "unknown") }

// told returns the threshold that the context has reached, and whether the agent
// has read the notice; "" below the first threshold.
func (r *Row) told() string {
	limit := map[string]int64{"warn": r.Warning, "critical": r.Critical}[r.Level]
	if limit <= 0 || r.Silenced {
		return ""
	}
	at := Short(limit)
	if r.NoticePercent > 0 {
		at = fmt.Sprintf("%d %%", r.NoticePercent)
	}
	if r.Heard {
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
func (d *row) context(r *Row) {
	d.Fill, d.Of = "0", Short(r.Window)
	if r.Threshold > 0 && r.Threshold < r.Window {
		at := float64(r.Threshold) / float64(r.Window)
		d.Limit, d.Rest = percent(at), percent(1-at)
	}
	if r.Pressure != "" {
		d.Reached = fmt.Sprintf("%d%%", int(100*min(r.Ratio, 10)))
	}
	share := r.share()
	if share < 0 {
		return
	}
	d.Fill, d.Used, d.Size = percent(share), fmt.Sprint(r.Percent, "%"), Short(r.Tokens)
	if r.Estimate {
		d.Size = "about " + d.Size
	}
	if d.Way = "where the client compacts is not known"; d.Reached != "" {
		d.Way = "of the way to compaction " + CompactsAt(r.Threshold, r.Source)
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

// forecast says why there is none.
func (d *row) forecast(r *Row) {
	switch {
	case r.Replies.Known:
		if r.Turns.Known {
			d.Why = turns(r.Turns)
		}
		if d.Between != "" && r.Work.Known {
			d.Minutes = work(max(60, r.Work.Likely))
		}
	case r.Tokens <= 0:
		d.Between, d.Why = "no reading", "The size of the context is unknown until the next reply."
	case r.Threshold <= 0:
		d.Between, d.Why = "no threshold", "It is not known at which size this client compacts: model or window are unknown, or it never does by itself."
	default:
		d.Between, d.Why = "too far", "At its present growth it does not come to the threshold."
	}
}

// state fills in what the agent does.
func (d *row) state(r *Row) {
	d.Doing, d.StateKey = tame(words(r.State)), r.State
	var notes []string
	switch {
	case r.Compacting:
		d.Doing, d.StateKey = "compacting", "compacting"
	case r.State == "waiting" && r.Waiting != "":
		notes = append(notes, tame(r.Waiting))
	}
	switch d.StateKey {
	case "ended": // there is nothing else to show
		d.StateKey = "quiet"
	case "busy", "idle", "waiting", "quiet", "compacting":
	default:
		d.StateKey = "other"
	}
	if r.Subagents > 0 {
		note := counted(r.Subagents, "subagent")
		if r.SubagentTokens > 0 {
			note += ", " + Short(r.SubagentTokens)
		}
		notes = append(notes, note)
	}
	if r.Storming {
		notes = append(notes, "compaction storm")
	}
	if r.Silenced {
		notes = append(notes, "muted")
	}
	d.Note = strings.Join(notes, " · ")
}
