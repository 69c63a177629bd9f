package page

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"sm/observer/wire"
)

// Source provides the sessions of a page: it is an observer, or a central
// server. Its errors mean that it is stopping, or did not answer before ctx
// ended.
type Source interface {
	// Edits returns a number that grows with each change that a page may show.
	Edits() uint64
	// List returns the sessions for the list. It omits the curve of an agent if
	// known returns its present version.
	List(ctx context.Context, now time.Time, known func(agent string) (version uint32, ok bool)) (wire.List, error)
	// Detail returns an agent, or a Problem if there is none with this id.
	Detail(ctx context.Context, id string, now time.Time) (wire.Detail, error)
}

// Options are the settings of a Hub.
type Options struct {
	Source  Source
	Version string // of sm
	Log     *slog.Logger
	// Servers are the central servers whose agents the page shows too.
	Servers []Server
	// WriteWithin limits the time in which a page must receive one event; 0 is ten
	// seconds.
	WriteWithin time.Duration
}

// Page writes the whole page in its present state.
func (h *Hub) Page(w http.ResponseWriter, r *http.Request) error {
	v, err := h.viewOf(r)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Security-Policy", h.page.policy)
	shot, err := v.look(r.Context(), 0)
	if err != nil {
		return err
	}

	var detail string
	if id := r.URL.Query().Get("session"); id != "" {
		if detail, err = v.drawDetail(r.Context(), shot, id); err != nil {
			return err
		}
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, h.page.whole(v, shot, detail)) // the browser may be gone
	return nil
}

// drawDetail draws an agent. An unknown agent is not an error.
func (v *view) drawDetail(ctx context.Context, shot *snapshot, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	found, err := v.source.Detail(ctx, id, time.Now())
	if err != nil {
		return "", err
	}

	d := v.page.detailOf(&found)
	d.Asked = id
	d.View = v.Name
	if v.remote != nil {
		d.Server = v.remote.server.Name
	}
	for _, row := range shot.rows {
		s := row.session
		if s.ParentID != "" && s.ID != d.ID &&
			(s.ParentID == d.ID || s.ParentID == name(d.Session)) {
			d.Under = append(d.Under, s)
		}
	}
	return v.page.draw("detail", d), nil
}
