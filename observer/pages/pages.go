// Package pages serves the web page and its events: it keeps the data of open pages,
// renders changes, and fills in the past of agents from the ends of their transcripts.
//
// Its data comes from a Source, and from transcripts, which it only reads. A slow page
// delays no other. With no page open nothing is requested or kept. One transcript is
// read at a time. Package access controls access, dashboards/page renders the HTML.
package pages

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	webpage "sm/dashboards/page"
	"sm/observer/curve"
	"sm/observer/fleet"
)

// MaxAgents bounds the agents that a list shows, whatever metrics.max_sessions says.
const MaxAgents = 5000

// Source is the observer. An error means that its loop has stopped, or did not answer before ctx ended.
type Source interface {
	// Edits grows with whatever pages may have to show.
	Edits() uint64
	// List is all that the list shows. It brings no history of an agent whose version is known.
	List(ctx context.Context, now time.Time, known func(agent string) (version uint32, ok bool)) (List, error)
	// Detail is all about one agent but the agents under it. For one that is not known it has a Problem.
	Detail(ctx context.Context, id string, now time.Time) (Detail, error)
	// Fill inserts the end of a transcript before the observed events of an agent; depth
	// is the number of bytes that were read.
	Fill(ctx context.Context, agent string, earlier *curve.Curve, depth int64) error
}

// List is all agents that are shown, in any order.
type List struct {
	Head   webpage.Head
	Agents []Agent
}

// Agent is one of a List. Path is its transcript, Depth how many bytes of that one's end are in its history; Past is nil
// where its Version is known.
type Agent struct {
	Row     webpage.Row
	Path    string
	Depth   int64
	Version uint32
	History *webpage.History
}

// Detail is all about one agent. Path and Depth are those of an Agent.
type Detail struct {
	webpage.Detail
	Path      string
	Depth     int64
	Subagents []fleet.Subagent
}

// Options are the settings of a Hub.
type Options struct {
	Source  Source
	Version string // of sm
	// Projects are the watched folders, for a page that has nothing else to show. Demo
	// means that the agents are simulated.
	Projects []string
	Demo     bool
	Log      *slog.Logger
	// Servers are the central servers whose agents the page shows too, by name.
	Servers []Server
}

// Limits bound the pages that are open at once, the time between two signs of life, and how long a page may take for
// one event.
type Limits struct {
	Pages       int
	Beat, Write time.Duration
}

// ErrDraw answers where the page cannot be drawn.
var ErrDraw = errors.New("the page cannot be drawn; see the log")

// Page writes the whole page as it is now.
func (h *Hub) Page(w http.ResponseWriter, r *http.Request) error {
	h, err := h.of(r)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Security-Policy", h.page.Policy())
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	shot, err := h.current(r.Context())
	if err != nil {
		return err
	}
	v := webpage.View{Build: h.o.Version, Mark: shot.mark(), Head: shot.head, Name: h.view, Views: h.links}
	first := shot.rows
	if len(first) > webpage.First {
		v.Mark, first = "", first[:webpage.First] // the script asks for all
	}
	for _, row := range first {
		html, err := row.html()
		if err != nil {
			return h.undrawn(err)
		}
		v.Rows = append(v.Rows, webpage.Line{HTML: html, Data: row.data})
	}
	if id := r.URL.Query().Get("session"); id != "" {
		if v.Detail, err = h.detail(r.Context(), id); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := h.page.Write(&b, &v); err != nil {
		return h.undrawn(err)
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // an error means that the peer has gone
	return nil
}

// undrawn is the answer where the page cannot be drawn.
func (h *Hub) undrawn(err error) error {
	h.o.Log.Error("cannot draw the page", "err", err)
	return ErrDraw
}

// detail draws all about one agent; one that is not known is no error.
func (h *Hub) detail(ctx context.Context, id string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	now := time.Now()
	d, err := h.o.Source.Detail(ctx, id, now)
	if err == nil && d.Path != "" && d.Depth < curve.DetailDepth {
		h.fillIn(ctx, d.Row.ID, d.Path, curve.DetailDepth)
		d, err = h.o.Source.Detail(ctx, id, now)
	}
	if err != nil {
		return "", fmt.Errorf("look at an agent: %w", err)
	}
	d.Asked, d.Location = id, time.Local
	d.Under = append(h.under(&d.Row), subagents(d.Subagents)...)
	return h.page.Detail(&d.Detail)
}

// fillIn reads the end of a transcript beside the loop, one at a time, and has the loop
// take it. What cannot be read is not asked for again.
func (h *Hub) fillIn(ctx context.Context, agent, path string, depth int64) {
	select {
	case h.filling <- struct{}{}:
	case <-ctx.Done():
		return
	}
	history, err := curve.ReadEnd(path, depth)
	<-h.filling
	if err != nil {
		h.o.Log.Debug("no past to show", "err", err)
		history = &curve.Curve{}
	}
	_ = h.o.Source.Fill(ctx, agent, history, depth) // an error means that the page was closed
}
