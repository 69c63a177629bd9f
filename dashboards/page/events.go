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

// writeWithin limits the time in which a page must receive one event, else its
// stream ends.
const writeWithin = 10 * time.Second

// stateEvent is the content of the event state: the changes for a page. It is
// private to the page and may differ in any version.
type stateEvent struct {
	Page string `json:"page"` // the build of the page that can read this
	// Mark identifies the state of the rows, for the parameter since. It is 0 while
	// more events of the same state follow.
	Mark uint64       `json:"mark,omitempty,string"`
	Head string       `json:"head,omitempty"`
	Rows []changedRow `json:"rows,omitempty"` // the changed ones
	// Keys are those of all rows. The first event has them, and each one after rows
	// were added or removed.
	Keys []string `json:"keys,omitzero"`
}

type changedRow struct {
	Data Data   `json:"data"`
	HTML string `json:"html"`
}

// rowsAtOnce limits the rows of one event: between two events a page can do
// other work.
const rowsAtOnce = 500

// stream sends events to one open page.
type stream struct {
	*view
	w       http.ResponseWriter
	since   uint64    // the number of the last snapshot that was sent
	last    *snapshot // that snapshot; nil at first
	session string
	detail  string // the last HTML that was sent
	sent    time.Time
}

// Events sends changes while the page is open. If the parameter since is the
// mark of a page, it begins with the changes since then, else with all rows.
// With the parameter session it includes the details of that session.
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
	since, _ := strconv.ParseUint(query.Get("since"), 10, 64) // 0 if the page has no mark
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

// serve sends snapshots until the page is closed or the observer stops.
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

// sendSnapshot sends the differences between the last snapshot and now.
func (s *stream) sendSnapshot(ctx context.Context, now *snapshot) error {
	if s.last == now {
		return nil
	}
	if s.since > now.seq {
		s.since = 0 // a mark of another hub
	}
	event := stateEvent{Page: s.page.build, Mark: now.seq}
	if s.last == nil || s.last.html != now.html {
		event.Head = now.html
	}
	if now.keysAt > s.since || s.last == nil {
		event.Keys = []string{}
	}
	for _, d := range now.rows {
		if event.Keys != nil {
			event.Keys = append(event.Keys, d.data.Key)
		}
		if d.seq > s.since {
			event.Rows = append(event.Rows, changedRow{d.data, d.html()})
		}
	}
	s.since = now.seq
	s.last = now
	for len(event.Rows) > rowsAtOnce { // the last event has the other fields
		err := s.send("state", stateEvent{
			Page: event.Page,
			Rows: event.Rows[:rowsAtOnce],
		})
		if err != nil {
			return err
		}
		event.Rows = event.Rows[rowsAtOnce:]
	}
	if event.Head != "" || event.Rows != nil || event.Keys != nil {
		if err := s.send("state", event); err != nil {
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

// send writes one event. JSON has no line break.
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
