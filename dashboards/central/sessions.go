package central

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"sm/alerts"
	"sm/dashboards/screen/plain"
	"sm/observer/api"
	"sm/observer/curve"
)

// targetsQuery returns whether the observers can be scraped, for the job name
// of the shipped rules.
const targetsQuery = `up{job="sm"}`

// prefix begins the names of all series of sessions.
const prefix = "agent_session_"

// figuresQuery returns all figures of all sessions.
const figuresQuery = `{__name__=~"` + prefix + `(active|cache_hit_ratio|cleared_tokens|compacting|` +
	`compaction_threshold_tokens|context_tokens|context_window_tokens|cost_usd|cycle|` +
	`drift_tokens|estimated_cost_usd|forecast_replies|forecast_replies_high|forecast_replies_low|` +
	`forecast_seconds|forecast_turns|info|last_activity_timestamp_seconds|` +
	`queued_messages|reachable|state|transcript_compactions)"}`

// key identifies a session of any machine. A host can have several observers,
// each with its own names of sessions.
type key struct{ host, instance, session string }

func keyOf(m map[string]string) key {
	instance := label(m, "instance")
	return key{cmp.Or(label(m, "host"), instance), instance, label(m, "session")}
}

// label returns the value of a label, fit to be shown: a central server may
// have samples from any source.
func label(m map[string]string, name string) string { return plain.Visible(m[name]) }

// session is a session while its samples are collected.
type session struct {
	api.Session
	outlook api.Forecast
	replies api.Range // of the outlook
}

// fleetOf combines the answers of the server.
func fleetOf(figures, targets []series, trends map[key][]model.SamplePair) Fleet {
	all := Fleet{Curves: map[string]*curve.History{}}
	found := sessionsOf(figures)
	instances := map[string]map[string]bool{} // of each host
	for k := range found {
		if instances[k.host] == nil {
			instances[k.host] = map[string]bool{}
		}
		instances[k.host][k.instance] = true
	}
	all.NotWarned = len(found) > 0
	for k, s := range found {
		all.NotWarned = all.NotWarned && !s.Reachable
		s.ID = k.host + "/" + k.session
		if len(instances[k.host]) > 1 {
			s.ID = k.host + "/" + k.instance + "/" + k.session
		}
		curved := &curve.History{}
		for _, p := range trends[k] {
			if share := float64(p.Value); plausible("context_ratio", share) {
				s.Trend = append(s.Trend, share)
				curved.Points = append(curved.Points, curve.Point{
					At:     p.Timestamp.Unix(),
					Tokens: int64(share * float64(s.WindowTokens)),
				})
			}
		}
		all.Curves[s.ID] = curved
		s.conclude()
		all.Sessions.Sessions = append(all.Sessions.Sessions, s.Session)
	}
	slices.SortFunc(
		all.Sessions.Sessions,
		func(a, b api.Session) int { return strings.Compare(a.ID, b.ID) },
	)
	all.Hosts = len(instances)
	for _, up := range targets {
		if k := keyOf(up.Labels); up.Sample.Value == 0 && !slices.Contains(all.Down, k.host) {
			all.Down = append(all.Down, k.host)
			if instances[k.host] == nil {
				all.Hosts++
			}
		}
	}
	slices.Sort(all.Down)
	return all
}

// sessionsOf returns the sessions of these samples.
func sessionsOf(figures []series) map[key]*session {
	found := map[key]*session{}
	for _, figure := range figures {
		k := keyOf(figure.Labels)
		v := float64(figure.Sample.Value)
		name := strings.TrimPrefix(figure.Labels["__name__"], prefix)
		if k.session == "" || !plausible(name, v) {
			continue
		}
		s := found[k]
		if s == nil {
			s = &session{Session: api.Session{
				Host:      k.host,
				Label:     k.session,
				Enabled:   true,
				Reachable: true, // older observers do not export it
			}}
			found[k] = s
		}
		s.learn(name, v, figure.Labels)
	}
	return found
}

// plausible reports whether a session can have a value; other values count as
// unknown, since a central server may have samples from any source. Tokens,
// seconds and counts are at most 1e9, so that their sums do not overflow; times
// are before the year 10000, the last one in JSON.
func plausible(name string, v float64) bool {
	low := 0.0
	high := 1e9
	switch name {
	case "cache_hit_ratio":
		high = 1
	case "context_ratio":
		high = 10 // above 1 if the assumed window is too small
	case "drift_tokens":
		low = -high
	case "last_activity_timestamp_seconds":
		low = 1
		high = 250_000_000_000
	}
	return v >= low && v <= high // false for NaN
}

// learn applies one sample: its name without the prefix, its value and its labels.
func (s *session) learn(name string, v float64, labels map[string]string) {
	n := int64(v)
	switch name {
	case "info":
		s.SessionID = label(labels, "session_id")
		s.Project = label(labels, "project")
		s.Model = label(labels, "model")
		s.Client = label(labels, "client")
		s.Version = label(labels, "version")
		s.WindowSource = label(labels, "window_source")
		s.Provider = s.Client
	case "active":
		s.IsActive = v > 0
	case "cache_hit_ratio":
		s.CacheHitRatio = &v
	case "cleared_tokens":
		s.ClearedTokens = n
	case "compacting":
		s.IsCompacting = v > 0
	case "compaction_threshold_tokens":
		s.ThresholdTokens = &n
		s.ThresholdSource = label(labels, "source")
	case "context_tokens":
		s.TokensUsed = &n
	case "context_window_tokens":
		s.WindowTokens = n
	case "cost_usd":
		s.CostUSD = &v
	case "estimated_cost_usd":
		s.EstimatedUSD = &v
	case "cycle":
		s.Cycle = int(n)
	case "drift_tokens":
		s.DriftTokens = &n
	case "forecast_replies":
		s.outlook.Replies = &s.replies
		s.replies.Likely = v
	case "forecast_replies_low":
		s.replies.Low = v
	case "forecast_replies_high":
		s.replies.High = v
	case "forecast_seconds":
		s.outlook.Seconds = &api.Range{Low: v, Likely: v, High: v}
	case "forecast_turns":
		s.outlook.Turns = &api.Range{Low: v, Likely: v, High: v}
	case "last_activity_timestamp_seconds":
		s.LastActive = new(time.UnixMilli(int64(v * 1000)))
	case "queued_messages":
		s.Queued = int(n)
	case "reachable":
		s.Reachable = v > 0
	case "state":
		s.State = label(labels, "state")
	case "transcript_compactions":
		*s.Compactions.By(labels["trigger"]) = int(n)
	}
}

// conclude sets the fields that depend on several samples of a session.
func (s *session) conclude() {
	s.replies.Low = min(s.replies.Low, s.replies.Likely)
	s.replies.High = max(s.replies.High, s.replies.Likely)
	if s.outlook != (api.Forecast{}) {
		s.Forecast = &s.outlook
	}
	if s.State == "" { // an older observer does not export it
		if s.State = "quiet"; s.IsActive {
			s.State = "active"
		}
	}
	s.IsIdle = s.State == "idle" || s.State == "quiet" || s.State == "ended"
	if s.DriftTokens != nil {
		if s.CrossCheck = "agrees"; *s.DriftTokens != 0 {
			s.CrossCheck = "drift"
		}
	}
	if s.TokensUsed == nil {
		return
	}
	s.ContextSource = "transcript"
	if s.WindowTokens > 0 {
		share := float64(*s.TokensUsed) / float64(s.WindowTokens)
		s.UsedPercentage = new(int(min(100, math.Round(share*100)))) // as the client rounds
	}
	if s.ThresholdTokens != nil {
		ratio, p := alerts.PressureOf(*s.TokensUsed, s.ClearedTokens, *s.ThresholdTokens)
		if p != alerts.PressureUnknown {
			s.Pressure = &ratio
			s.PressureLevel = p.String()
		}
	}
}
