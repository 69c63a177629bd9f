package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"sm/observer/api"
	"sm/observer/wire"
)

// Source has the sessions of a page: an observer, or a central server. An error means
// that it is stopping, or did not answer before ctx ended.
type Source interface {
	// Edits grows with each change that a page may show.
	Edits() uint64
	// List returns what the list shows, without the curve of an agent whose version
	// is known.
	List(ctx context.Context, now time.Time, known func(agent string) (version uint32, ok bool)) (wire.List, error)
	// Detail returns an agent; of an unknown one it returns a Problem.
	Detail(ctx context.Context, id string, now time.Time) (wire.Detail, error)
}

// Options are the settings of a Hub.
type Options struct {
	Source  Source
	Version string // of sm
	Log     *slog.Logger
	// Servers are the central servers whose agents the page shows too, by name.
	Servers []Server
}

// Limits limit the pages that are open at once, the time between two events, and the
// time that a page may take for one.
type Limits struct {
	Pages       int
	Beat, Write time.Duration
}

// errDraw is the answer where the page cannot be drawn.
var errDraw = errors.New("the page cannot be drawn; see the log")

// Page writes the whole page as it is now.
func (h *Hub) Page(w http.ResponseWriter, r *http.Request) error {
	h, err := h.of(r)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Security-Policy", h.page.policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	shot, err := h.current(r.Context())
	if err != nil {
		return err
	}

	var detail string
	if id := r.URL.Query().Get("session"); id != "" {
		if detail, err = h.detail(r.Context(), id); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := h.page.write(&b, h, shot, detail); err != nil {
		h.o.Log.Error("draw the page failed", "err", err)
		return errDraw
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // an error means that the peer has gone
	return nil
}

// detail draws an agent. An unknown one is no error.
func (h *Hub) detail(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	d, err := h.o.Source.Detail(ctx, id, time.Now())
	if err != nil {
		return "", fmt.Errorf("look at an agent: %w", err)
	}

	v := h.page.detailOf(&d)
	v.Asked = id
	v.View = h.view
	if h.remote != nil {
		v.Server = h.remote.server.Name()
	} else {
		v.Under = h.under(&d)
	}
	return h.page.draw("detail", v)
}

// under returns the listed agents that work for another.
func (h *Hub) under(of *wire.Detail) (all []*api.Session) {
	now := h.newest()
	if now == nil {
		return nil
	}
	for _, d := range now.rows {
		parent := d.session.ParentID
		if parent != "" && d.session.ID != of.ID &&
			(parent == of.ID || parent == name(&of.Session)) {
			all = append(all, d.session)
		}
	}
	return all
}
