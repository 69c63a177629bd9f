package page

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

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
	// WriteWithin is how long a page may take for one event before it is given up;
	// 0 is ten seconds.
	WriteWithin time.Duration
}

// Page writes the whole page as it is now.
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
	_, _ = io.WriteString(w, h.page.whole(v, shot, detail)) // an error means that the peer has gone
	return nil
}

// drawDetail draws an agent. An unknown one is no error.
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
