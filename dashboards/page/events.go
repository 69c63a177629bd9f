package page

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sm/observer/api"
	"sm/transcript/claude/hook"
)

// writeWithin is how long a page may take for one event before it is given up.
const writeWithin = 10 * time.Second

// stateNews is the event state: the changes for a page. Its content is private to the
// page and may change with any version.
type stateNews struct {
	Page string `json:"page"` // the page that this is for
	// Mark is the state of the rows, for since; there is none while more comes at once.
	Mark uint64    `json:"mark,omitempty,string"`
	Head string    `json:"head,omitempty"`
	Rows []rowNews `json:"rows,omitempty"` // those that have changed
	Keys []string  `json:"keys,omitzero"`  // all that are shown, at first and when some have come or gone
}

type rowNews struct {
	Data Data   `json:"data"`
	HTML string `json:"html"`
}

// rowsAtOnce bounds the rows of one event: a page can do something else between two.
const rowsAtOnce = 500

// stream is one page that is open.
type stream struct {
	*view
	w       http.ResponseWriter
	since   uint64    // the number of the snapshot that it has
	last    *snapshot // the same; nil at first
	session string
	detail  string // as it was sent last
	sent    time.Time
}

// Events sends changes while the page is open. With since, the mark of a page, it
// begins with the changes since then, else with all; with session it includes the
// details of that session.
func (h *Hub) Events(w http.ResponseWriter, r *http.Request) error {
	v, err := h.viewOf(r)
	if err != nil {
		return err
	}
	header := w.Header()
	defer h.open.Add(-1)
	if h.open.Add(1) > maxPages {
		header.Set("Retry-After", "5")
		return &api.StatusError{
			Code: http.StatusServiceUnavailable,
			Text: "too many pages are open; close one of them",
		}
	}
	now, err := v.look(r.Context(), 0)
	if err != nil {
		return err
	}
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	if r.Method == http.MethodHead {
		return nil
	}
	query := r.URL.Query()
	since, _ := strconv.ParseUint(query.Get("since"), 10, 64) // 0 of a page that has nothing
	page := &stream{
		view:    v,
		w:       w,
		since:   since,
		session: query.Get("session"),
		sent:    time.Now(),
	}
	if err := page.serve(r.Context(), now); err != nil {
		h.o.Log.Debug("a page has gone", "err", err)
	}
	return nil
}

// serve goes on until the page goes, or the observer stops.
func (s *stream) serve(ctx context.Context, now *snapshot) error {
	tick := time.NewTicker(pageEvery)
	defer tick.Stop()
	for {
		err := s.sendSnapshot(ctx, now)
		if err == nil && time.Since(s.sent) > beatEvery {
			err = s.send("beat", struct{}{})
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.closed.Done():
			return nil
		case <-tick.C:
		}
		if newest, err := s.look(ctx, freshFor); err == nil {
			now = newest
		} else {
			s.o.Log.Debug("no news for the page", "err", err)
		}
	}
}

// sendSnapshot sends what the page lacks of a snapshot.
func (s *stream) sendSnapshot(ctx context.Context, now *snapshot) error {
	if s.last == now {
		return nil
	}
	if s.since > now.seq {
		s.since = 0 // of other snapshots
	}
	news := stateNews{Page: s.page.build, Mark: now.seq}
	if s.last == nil || s.last.html != now.html {
		news.Head = now.html
	}
	if now.keysAt > s.since || s.last == nil {
		news.Keys = []string{}
	}
	for _, d := range now.rows {
		if news.Keys != nil {
			news.Keys = append(news.Keys, d.data.Key)
		}
		if d.seq > s.since {
			news.Rows = append(news.Rows, rowNews{d.data, d.html()})
		}
	}
	s.since = now.seq
	s.last = now
	for len(news.Rows) > rowsAtOnce { // all else comes with the last ones
		err := s.send("state", stateNews{
			Page: news.Page,
			Rows: news.Rows[:rowsAtOnce],
		})
		if err != nil {
			return err
		}
		news.Rows = news.Rows[rowsAtOnce:]
	}
	if news.Head != "" || news.Rows != nil || news.Keys != nil {
		if err := s.send("state", news); err != nil {
			return err
		}
	}
	if s.session == "" {
		return nil
	}
	html, err := s.drawDetail(ctx, now, s.session)
	if err != nil || html == s.detail {
		return err
	}
	s.detail = html
	return s.send("detail", map[string]string{"html": html})
}

// send writes one event. Its JSON has no line break.
func (s *stream) send(name string, v any) error {
	control := http.NewResponseController(s.w)
	s.sent = time.Now()
	within := cmp.Or(s.o.WriteWithin, writeWithin)
	if err := control.SetWriteDeadline(s.sent.Add(within)); err != nil {
		return err
	}
	// Flush returns its error.
	_, _ = fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", name, hook.Marshal(v))
	return control.Flush()
}
