package page

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// writeWithin is how long a page may take for one event before it is given up.
const writeWithin = 10 * time.Second

// stateNews is the event state: the changes for a page. Its content is private to the
// page and may change with any version.
type stateNews struct {
	Page string    `json:"page"`           // the page that this is for
	Mark string    `json:"mark,omitempty"` // the state of the rows, for since; "" while more comes at once
	Head string    `json:"head,omitempty"`
	Rows []rowNews `json:"rows,omitempty"` // those that have changed
	Keys []string  `json:"keys,omitempty"` // all that are shown, at first and when some have come or gone
}

type rowNews struct {
	Data Data   `json:"data"`
	HTML string `json:"html"`
}

// rowsAtOnce bounds the rows of one event: a page can do something else between two.
const rowsAtOnce = 500

// detailNews is the event detail: all about the agent that was asked for.
type detailNews struct {
	HTML string `json:"html"`
}

// stream is one page that is open.
type stream struct {
	hub     *Hub
	limits  Limits
	w       http.ResponseWriter
	control *http.ResponseController
	since   uint64    // the snapshot that it knows
	last    *snapshot // nil at first
	session string
	detail  string // as it was sent last
}

// Events sends changes while the page is open. With since, the mark of a page, it
// begins with the changes since then, else with all; with session it includes the
// details of that session.
func (h *Hub) Events(w http.ResponseWriter, r *http.Request) error {
	h, err := h.of(r)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	sign, err := h.join(r.URL.Query().Get("session") != "")
	if err != nil {
		header.Set("Retry-After", "5")
		return err
	}
	defer h.leave(sign)
	now, err := h.current(r.Context())
	if err != nil {
		return err
	}
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	if r.Method == http.MethodHead {
		return nil
	}
	query := r.URL.Query()
	page := &stream{
		hub:     h,
		limits:  *h.limits.Load(),
		w:       w,
		control: http.NewResponseController(w),
		since:   now.after(query.Get("since")),
		session: query.Get("session"),
	}
	if err := page.serve(r.Context(), sign, now); err != nil {
		h.o.Log.Debug("a page has gone", "err", err)
	}
	return nil
}

// serve goes on until the page goes, or the observer stops.
func (s *stream) serve(ctx context.Context, sign <-chan struct{}, now *snapshot) error {
	beat := time.NewTicker(s.limits.Beat)
	defer beat.Stop()
	for {
		if now != nil {
			if err := s.sendSnapshot(ctx, now); err != nil {
				return err
			}
		}
		now = nil
		select {
		case <-ctx.Done():
			return nil
		case <-s.hub.closed:
			return nil
		case <-beat.C:
			if err := s.send("beat", struct{}{}); err != nil {
				return err
			}
		case <-sign:
			now = s.hub.newest()
		}
	}
}

// sendSnapshot sends what the page lacks of a snapshot.
func (s *stream) sendSnapshot(ctx context.Context, now *snapshot) error {
	news := stateNews{Page: s.hub.page.build, Mark: now.mark()}
	if now.headAt > s.since || s.since == 0 {
		news.Head = now.html
	}
	same := s.last != nil && len(now.agents) == len(s.last.agents)
	for _, d := range now.rows {
		same = same && s.last.agents[d.data.ID] != nil
		if d.seq > s.since {
			html, err := d.html()
			if err != nil {
				return err
			}
			news.Rows = append(news.Rows, rowNews{d.data, html})
		}
	}
	if !same {
		news.Keys = make([]string, 0, len(now.rows))
		for _, d := range now.rows {
			news.Keys = append(news.Keys, d.data.Key)
		}
	}
	s.since = now.seq
	s.last = now
	for len(news.Rows) > rowsAtOnce { // the mark comes with the last ones
		err := s.send("state", stateNews{
			Page: news.Page,
			Head: news.Head,
			Rows: news.Rows[:rowsAtOnce],
		})
		if err != nil {
			return err
		}
		news.Head = ""
		news.Rows = news.Rows[rowsAtOnce:]
	}
	if news.Head != "" || news.Rows != nil || news.Keys != nil {
		if err := s.send("state", news); err != nil {
			return err
		}
	}
	return s.sendDetail(ctx)
}

func (s *stream) sendDetail(ctx context.Context) error {
	if s.session == "" {
		return nil
	}
	html, err := s.hub.detail(ctx, s.session)
	if err != nil || html == s.detail {
		return err
	}
	s.detail = html
	return s.send("detail", detailNews{html})
}

// send writes one event. Its JSON has no line break.
func (s *stream) send(name string, v any) error {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // it is not embedded in HTML
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write event %s: %w", name, err)
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(s.limits.Write)); err != nil &&
		!errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("write event %s: %w", name, err)
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\ndata: %s\n", name, &body); err != nil {
		return fmt.Errorf("write event %s: %w", name, err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write event %s: %w", name, err)
	}
	return nil
}
