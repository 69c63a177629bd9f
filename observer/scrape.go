package observer

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"sm/handoff/files"
	"sm/observer/metrics"
	"sm/transcript"
)

// scrapeTimeout limits the wait for the loop.
const scrapeTimeout = 5 * time.Second

// getMetrics serves /metrics.
func (a *App) getMetrics(w http.ResponseWriter, r *http.Request) error {
	all, err := a.snapshot(r.Context(), time.Now())
	if err != nil {
		return err
	}
	a.metrics.Serve(w, r, all)
	return nil
}

// snapshot returns the state that /metrics shows.
func (a *App) snapshot(ctx context.Context, now time.Time) (*metrics.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	settings := a.settings.Load()
	s := &metrics.Snapshot{
		HideProject:  settings.HideProject,
		ReloadFailed: a.rejected.Load(),
		ReloadedAt:   time.UnixMilli(a.reloaded.Load()),
	}
	err := a.do(ctx, func(c *core) {
		ttl := settings.SessionTTL
		for v := range c.fleet.All(now) {
			if v.Left || !v.Client.Runs() && ttl > 0 && now.Sub(v.Seen().Time()) > ttl {
				continue
			}
			s.Sessions = append(s.Sessions, c.session(&v))
		}
		s.Fleet = c.fleet.Counters()
		s.Alerts = c.engine.Counters()
		s.Messages = c.queue.Counters()
		s.Handoffs = c.rotations.Counters()
		s.Queued = c.queue.Waiting()
		s.Limits = c.fleet.Limits(now)
		for i := range s.Fleet.Others {
			s.Fleet.Others[i].Expire(transcript.InstantOf(now))
		}
		s.Hooks = maps.Clone(c.hooks.By)
		s.Unknown = maps.Clone(c.unknown)
	})
	if err != nil {
		return nil, err
	}
	for _, c := range a.o.Clients {
		if slices.ContainsFunc(c.Dirs, files.IsDir) { // its counters begin at 0
			s.Fleet.Part(c.Client)
		}
	}
	s.Limit(settings.MaxSessions)
	return s, nil
}
