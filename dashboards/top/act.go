package top

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"

	tea "charm.land/bubbletea/v2"

	"sm/dashboards/screen"
	"sm/observer/api"
)

// actor executes the actions of the model: it calls the observer, and starts
// programs of the user.
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
	if a.does == nothing {
		return nil
	}
	return func() tea.Msg {
		msg, err := d.act(a)
		if api.StatusCode(err) == http.StatusNotFound {
			return note{"the observer no longer has this agent; choose another", true}
		}
		if err != nil {
			return note{err.Error(), true}
		}
		return msg
	}
}

// act executes an action and returns its outcome. Errors have the remedy.
func (d actor) act(a action) (tea.Msg, error) {
	s := a.about
	name := screen.Text(s.ShortName())
	switch a.does {
	case copyID:
		id := s.ID
		if s.Host != "" { // no command accepts the id made for the host's agent
			id = cmp.Or(s.SessionID, s.Label)
		}
		copied := func() tea.Msg { return note{text: "on the clipboard: " + id} }
		return tea.Batch(tea.SetClipboard(id), copied)(), nil
	case attachPane:
		return d.attach(s)
	case openPage:
		page, err := d.client.OpenPage(d.ctx)
		if err != nil {
			return nil, err
		}
		if d.o.Browse(d.ctx, page.At(s.ID)) != nil {
			return nil, fmt.Errorf(
				"no browser can be started here; 'sm open %s' prints the address",
				name,
			)
		}
		return note{text: "the browser opens the page at " + name}, nil
	case readHandoffs:
		return d.readHandoffs(s)
	}

	m, err := d.client.Send(d.ctx, s.ID, api.NewMessage{
		ID:   rand.Text(),
		From: d.o.From,
		Text: a.text,
		Mode: "sequential",
	})
	when := "; it arrives at the end of its turn"
	if m.WaitsFor == api.WaitsForHooks {
		when = "; no hook of its session has come yet, see 'sm doctor'"
	}
	return note{text: "queued for " + name + when}, err
}

// attach shows the agent's pane. It types nothing there.
func (d actor) attach(s api.Session) (tea.Msg, error) {
	cmd, err := d.o.Attach(s.TmuxSocket, s.Pane)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err == nil {
			return note{}
		}
		why := strings.TrimSpace(stderr.String() + " " + err.Error())
		return note{"tmux: " + why + "; 'tmux list-panes -a' lists all panes", true}
	})(), nil
}

func (d actor) readHandoffs(s api.Session) (tea.Msg, error) {
	list, err := d.client.Handoffs(d.ctx)
	if err != nil {
		return nil, err
	}
	all, err := d.client.Documents(d.ctx)
	if err != nil {
		return nil, err
	}
	return handedOver{s.ID, handedOf(s.ID, list.Handoffs, all)}, nil
}
