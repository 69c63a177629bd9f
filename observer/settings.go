package observer

import (
	"context"
	"net/http"
	"strings"
	"time"
)

// Apply replaces the settings: all of them between two events of the loop, or,
// with an error, none.
func (a *App) Apply(ctx context.Context, s Settings) error {
	return a.ask(ctx, func(c *core) error {
		poll, err := a.poller.Prepare(s.Alertmanager)
		if err == nil {
			err = c.configure(&s)
		}
		if err != nil {
			return refuse(http.StatusUnprocessableEntity, err.Error())
		}
		poll()
		a.settings.Store(&s)
		a.guarded(&s)
		for _, shares := range a.shares {
			shares.Allow(s.AllowedUIDs)
		}
		if a.o.Level != nil {
			a.o.Level.Set(s.LogLevel)
		}
		return nil
	})
}

// Reload reads the configuration with Options.Reload and applies it. It logs
// the result and sets the metrics of it. With an error the old settings stay in
// effect.
func (a *App) Reload(ctx context.Context) error {
	if a.o.Reload == nil {
		return refuse(
			http.StatusNotImplemented,
			"this observer has no configuration to read again; start it anew",
		)
	}
	a.reloading.Lock() // settings must be applied in the order in which they were read
	defer a.reloading.Unlock()
	read, restart, err := a.o.Reload()
	if err != nil {
		err = refuse(http.StatusUnprocessableEntity, err.Error())
	} else {
		err = a.Apply(ctx, read)
	}
	a.rejected.Store(err != nil)
	if err != nil {
		a.log.Error("configuration not reloaded: the old one stays in effect", "err", err)
		return err
	}
	a.reloaded.Store(time.Now().UnixMilli())
	a.log.Info("configuration reloaded")
	if len(restart) > 0 {
		a.log.Warn("changed keys that need a restart", "keys", strings.Join(restart, ","))
	}
	return nil
}

// postReload is POST /-/reload.
func (a *App) postReload(w http.ResponseWriter, r *http.Request) error {
	if err := a.Reload(r.Context()); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "reloaded"})
}
