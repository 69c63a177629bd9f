// Package report summarizes past transcripts: sessions, turns and compactions by
// project, model and month, context sizes before and after compactions, turns
// between compactions, storms.
//
// Records in several transcripts count once, where they first happened. Rows,
// histograms and unknowns add up to the totals. Package tune tries thresholds.
package report

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"sm/alerts"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/observer/history"
	"sm/transcript"
)

// Options are the options of a report.
type Options struct {
	Policy  alerts.Options          // defines a storm
	Windows []transcript.WindowRule // windows that are configured for models
	Prices  transcript.Prices       // for estimates
	Since   transcript.Instant      // only boundaries since then have costs
	Now     time.Time               // a session with a record of the last ten minutes may continue
}

// Of summarizes a history. The error means that the policy is invalid, or that
// ctx has ended.
func Of(ctx context.Context, h *history.History, o Options) (*Report, error) {
	views := h.Settle(o.Windows, o.Now)
	folders := map[string]string{} // by name
	several := map[string]bool{}   // names in different folders
	for i := range views {
		name := views[i].Project
		if folder := folderAbove(&views[i]); folder != "" {
			several[name] = several[name] || cmp.Or(folders[name], folder) != folder
			folders[name] = folder
		}
	}
	projects := map[string]string{} // by agent
	for i := range views {
		name := views[i].Project
		if several[name] {
			name = folderAbove(&views[i]) + name
		}
		projects[views[i].Agent.ID] = name
	}
	bills := slices.DeleteFunc(h.Bills(), func(b *history.Bill) bool { return b.At < o.Since })
	storms, err := alerts.New(o.Policy)
	if err != nil {
		return nil, err
	}
	engine, _ := alerts.New(o.Policy) // the same policy
	s := &sums{
		engine:    storms,
		projects:  projects,
		byProject: map[string]*Row{},
		models:    map[string]*Row{},
		months:    map[string]*Row{},
		sizes:     map[string][]int64{},
	}
	forecasts := newForecasts(engine)
	if err := h.InOrder(ctx, func(t *history.Timeline, i int) {
		if i == 0 {
			s.take(t)
		}
		forecasts.take(t, i)
	}); err != nil {
		return nil, err
	}
	r := s.report(views)
	r.Strange = h.Strange
	r.Forecast = forecasts.figures()
	r.costs(bills, projects, o.Prices)
	r.advise(h.Noticed)
	for _, part := range h.Clients() {
		c, err := Of(ctx, part, o)
		if err != nil {
			return nil, err
		}
		r.Clients = append(r.Clients, Client{part.Client, c})
	}
	return r, nil
}

// folderAbove returns the parent folder of a session's project, with a slash;
// "" if the path does not show it.
func folderAbove(v *fleet.View) string {
	path := strings.ReplaceAll(v.CWD, `\`, "/") + "/"
	above, _, found := strings.Cut(path, "/"+v.Project+"/")
	if !found {
		return ""
	}
	return above[strings.LastIndexByte(above, '/')+1:] + "/"
}

// Report is the output of `sm report --json`. Its fields are a contract. Sizes
// are in tokens.
type Report struct {
	Sessions    int             `json:"sessions"`
	Turns       int             `json:"turns"`
	Compactions api.Compactions `json:"compactions"`
	From        *time.Time      `json:"from"` // the oldest and newest record, null without any time
	To          *time.Time      `json:"to"`
	// Dropped is the sum of the tokens by which contexts were smaller after
	// compactions, where both sizes are known.
	Dropped int64 `json:"tokens_dropped"`
	Storms  int   `json:"storms"`
	Spent   Spent `json:"spent"`

	// Costs has the costs of boundaries, ProjectCosts those of each project, highest
	// first. RereadFiles are the files most often read again after compactions.
	Costs        Costs          `json:"costs"`
	ProjectCosts []ProjectCosts `json:"costs_by_project"`
	RereadFiles  []RereadFile   `json:"reread_files"`
	Saved        Saved          `json:"saved"`
	// Boundaries has the boundaries with a time, for charts.
	Boundaries []Boundary `json:"-"`

	Projects []Row `json:"projects"`
	Models   []Row `json:"models"`
	Months   []Row `json:"months"`

	// Pre has the context sizes before compactions that were neither manual
	// (ManualPre) nor idle (IdlePre). Post has the first readings after any
	// compaction, PostPercentage their shares of the window.
	Pre            Distribution `json:"pre_tokens"`
	ManualPre      Distribution `json:"manual_pre_tokens"`
	IdlePre        Distribution `json:"idle_pre_tokens"`
	Post           Distribution `json:"post_tokens"`
	PostPercentage Distribution `json:"post_percentage"`
	// TurnsPerCycle has the turns of the cycles that a compaction ended,
	// including turns that a fork has copied. They are unknown if a transcript
	// begins with the compaction.
	TurnsPerCycle Distribution `json:"turns_per_cycle"`

	Threshold Threshold  `json:"compaction_threshold"`
	Forecast  []Forecast `json:"forecast"`       // by replies left: 10, 20, 40, 80
	Strange   int        `json:"no_transcripts"` // files without a single record, which are left out

	// Clients has the reports of each client, if there are several.
	Clients []Client `json:"by_client,omitempty"`
	// Advice is the command that is likely to help most, "" for none.
	Advice string `json:"advice"`
}

// Client is the report of one client's sessions.
type Client struct {
	Name string `json:"name"`
	*Report
}

// Compacted returns the reports of clients with compactions, nil unless there
// are several.
func (r *Report) Compacted() (parts []Client) {
	for _, c := range r.Clients {
		if c.Compactions.Total() > 0 {
			parts = append(parts, c)
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// Row has the counts of one project, model or month. A session counts for its
// last model and the month in which it began, a turn for the model that
// answered it.
type Row struct {
	Name        string          `json:"name"` // "" if the records have none
	Sessions    int             `json:"sessions"`
	Turns       int             `json:"turns"`
	Compactions api.Compactions `json:"compactions"`
}

// Threshold summarizes the compactions that were not manual; unknown values are
// null.
type Threshold struct {
	Typical    *Range `json:"typical"`     // contains four of five
	MostCommon *Range `json:"most_common"` // the most frequent span of 10,000 tokens
	After      *Range `json:"after"`       // contains four of five first readings
	// Sessions has the sessions with the most such compactions of known size:
	// at most two, with at least two compactions each.
	Sessions []Session `json:"most_compacted"`
}

// Range is a span of context sizes in tokens.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Session is a session with the sizes at which it was compacted.
type Session struct {
	SessionID   string `json:"session_id"`
	Project     string `json:"project"`
	Compactions int    `json:"compactions"`
	MinPre      int64  `json:"min_pre_tokens"`
	MaxPre      int64  `json:"max_pre_tokens"`
}
