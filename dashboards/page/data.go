package page

import (
	"cmp"
	"strings"

	"sm/dashboards/urgency"
	"sm/observer/api"
)

// Data has the values by which the script orders, filters and groups a row.
type Data struct {
	Key     string `json:"key"`
	ID      string `json:"id"`
	Name    string `json:"name"`
	Host    string `json:"host,omitempty"`
	Project string `json:"project"`
	// Find is the text that the filter searches, in lower case.
	Find string `json:"find"`
	// Pressure, State and Client match the chips above the list.
	Pressure string `json:"pressure"`
	State    string `json:"state"`
	Client   string `json:"client"`
	// Waits is the reason why a waiting agent needs a person, "" while unknown.
	Waits string `json:"waits,omitempty"`
	// Order sorts the rows by need, the smallest first. The columns sort by the
	// fields below. Ratio is in thousandths, -1 while unknown; Used is in tokens.
	Order       float64 `json:"order"`
	Ratio       int     `json:"ratio"`
	Used        int64   `json:"used"`
	Left        float64 `json:"left"`
	Compactions int     `json:"compactions"`
	Seen        int64   `json:"seen"`
	Drift       int64   `json:"drift"` // in tokens; -1 without a cross-check, 0 while it agrees
}

func dataOf(s *api.Session) Data {
	d := Data{
		Key:         Key(s.ID),
		ID:          s.ID,
		Name:        tame(s.DisplayName()),
		Host:        tame(s.Host),
		Project:     tame(s.Project),
		Pressure:    cmp.Or(s.PressureLevel, "unknown"),
		State:       stateOf(s),
		Client:      s.Client,
		Waits:       tame(s.WaitingFor),
		Order:       order(s),
		Ratio:       -1,
		Used:        tokens(s),
		Left:        left(s),
		Compactions: s.Compactions.Total(),
		Seen:        seen(s),
		Drift:       -1,
	}
	d.Find = strings.ToLower(strings.Join([]string{
		d.Name,
		tame(name(s)),
		d.Project,
		ModelOf(s),
		tame(s.ParentID),
		tame(s.ID),
		tame(Doing(s)),
		d.Host,
		tame(s.Client),
	}, " "))
	if urgency.Unreached(s) {
		d.Find += " no notices"
	}
	if s.PressureLevel != "" {
		d.Ratio = int(min(value(s.Pressure), 1000) * 1000)
	}
	switch s.CrossCheck {
	case "agrees":
		d.Drift = 0
	case "lagging":
		d.Drift = 1
	case "drift":
		drift := value(s.DriftTokens)
		d.Drift = max(2, drift, -drift)
	}
	return d
}

// value returns *p, or zero if p is nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// name returns the name of a session in commands.
func name(s *api.Session) string { return cmp.Or(s.Name, s.Label, s.SessionID, s.ID) }

// ModelOf returns the model without its maker and date.
func ModelOf(s *api.Session) string {
	model := strings.TrimPrefix(s.Model, "claude-")
	if i := strings.LastIndex(model, "-20"); i > 0 && i+len("-20251101") == len(model) {
		model = model[:i]
	}
	return tame(model)
}

// tokens returns the size of the context, 0 while unknown.
func tokens(s *api.Session) int64 {
	if s.UsedPercentage == nil {
		return 0
	}
	return value(s.TokensUsed)
}

// Share returns how full the window is, from 0 to 1; -1 while unknown.
func Share(s *api.Session) float64 {
	if n := tokens(s); n > 0 && s.WindowTokens > 0 {
		return min(1, float64(n)/float64(s.WindowTokens))
	}
	return -1
}

// seen returns the time of the last activity in seconds since 1970, 0 for none.
func seen(s *api.Session) int64 {
	return max(0, cmp.Or(s.LastRecord, value(s.LastActive)).Unix())
}

// states returns the names of the needs, in their order.
func states() [4]string { return [4]string{"waiting", "work", "idle", "quiet"} }

func stateOf(s *api.Session) string { return states()[urgency.Of(s)] }

// repliesNever is the number of replies without a forecast.
const repliesNever = 100_000

func left(s *api.Session) float64 { return min(urgency.Left(s), repliesNever) }

// order returns a number that sorts the rows: agents that wait for a person
// come first, and those with the same need are sorted by the replies left.
func order(s *api.Session) float64 { return float64(urgency.Of(s))*2*repliesNever + left(s) }

// compare orders rows by need: agents that wait for a person, active ones by
// the replies left until the compaction, then idle and quiet ones.
func compare(a, b *drawn) int {
	return cmp.Or(
		cmp.Compare(a.data.Order, b.data.Order),
		cmp.Compare(value(b.session.Pressure), value(a.session.Pressure)),
		cmp.Compare(a.session.DisplayName(), b.session.DisplayName()),
		cmp.Compare(a.data.ID, b.data.ID),
	)
}
