package top

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"sm/dashboards/screen"
	"sm/handoff"
	"sm/observer/api"
)

// actor does what the model asks for: it calls the observer, and starts programs
// of the user.
type actor struct {
	ctx    context.Context // of Run
	client *api.Client
	o      Options
}

// handedOver carries the handoffs of an agent to the model.
type handedOver struct {
	agent  string
	handed *handed
}

// do returns the command for an action, nil for none.
func (d actor) do(a action) tea.Cmd {
	name := screen.Text(a.about.ShortName())
	switch a.does {
	case sendText:
		return func() tea.Msg { return d.send(a, name) }
	case copyID:
		id := a.about.ID
		if a.about.Host != "" { // no command accepts the id made for the host's agent
			id = cmp.Or(a.about.SessionID, a.about.Label)
		}
		copied := func() tea.Msg { return note{text: "on the clipboard: " + id} }
		return tea.Batch(tea.SetClipboard(id), copied)
	case attachPane:
		return d.attach(a.about)
	case openPage:
		return func() tea.Msg { return d.open(a.about, name) }
	case readHandoffs:
		return func() tea.Msg { return d.readHandoffs(a.about) }
	}
	return nil
}

func (d actor) send(a action, name string) tea.Msg {
	m, err := d.client.Send(d.ctx, a.about.ID, api.NewMessage{
		ID:   rand.Text(),
		From: d.o.From,
		Text: a.text,
		Mode: "sequential",
	})
	if err != nil {
		return failed(err)
	}
	when := "; it arrives at the end of its turn"
	if m.WaitsFor == api.WaitsForHooks {
		when = "; no hook of its session has come yet, see 'sm doctor'"
	}
	return note{text: "queued for " + name + when}
}

// attach shows the agent's pane. It types nothing there.
func (d actor) attach(s api.Session) tea.Cmd {
	cmd, err := d.o.Attach(s.TmuxSocket, s.Pane)
	if err != nil {
		return func() tea.Msg { return failed(err) }
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err == nil {
			return note{}
		}
		why := strings.TrimSpace(stderr.String() + " " + err.Error())
		return note{"tmux: " + why + "; 'tmux list-panes -a' lists all panes", true}
	})
}

func (d actor) open(s api.Session, name string) tea.Msg {
	page, err := d.client.OpenPage(d.ctx)
	if err != nil {
		return failed(err)
	}
	if d.o.Browse(d.ctx, page.At(s.ID)) != nil {
		return note{
			"no browser can be started here; 'sm open " + name + "' prints the address",
			true,
		}
	}
	return note{text: "the browser opens the page at " + name}
}

func (d actor) readHandoffs(s api.Session) tea.Msg {
	list, err := d.client.Handoffs(d.ctx)
	if err != nil {
		return failed(err)
	}
	text, err := d.client.Raw(d.ctx, "/documents")
	if err != nil {
		return failed(err)
	}
	var all struct {
		Documents []handoff.Document `json:"documents"`
		Problem   string             `json:"problem"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return failed(fmt.Errorf("read documents: %w", err))
	}
	if all.Problem != "" {
		return note{all.Problem, true}
	}
	return handedOver{s.ID, handedOf(s.ID, list.Handoffs, all.Documents)}
}

// failed returns an error as a note, which ends with what to do.
func failed(err error) note {
	if status, ok := errors.AsType[*api.StatusError](err); ok &&
		status.Code == http.StatusNotFound {
		return note{"the observer no longer has this agent; choose another", true}
	}
	return note{err.Error(), true}
}
