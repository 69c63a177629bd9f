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
	"sm/observer/api"
)

// actor does what the model asks for: it talks to the observer, to the terminal, and to programs of the user.
type actor struct {
	ctx    context.Context // of the one Run
	client *api.Client
	o      Options
}

// handedOver is what the observer answered about the handoffs of an agent.
type handedOver struct {
	agent string
	what  *handed
}

// do is the action as a command of the terminal's program; nil for nothing.
func (d actor) do(a action) tea.Cmd {
	name := screen.Text(a.about.ShortName())
	switch a.does {
	case sendText:
		return func() tea.Msg { return d.send(a, name) }
	case copyID:
		id := a.about.ID
		if a.about.Host != "" { // ours, which no command takes
			id = cmp.Or(a.about.SessionID, a.about.Label)
		}
		return tea.Batch(tea.SetClipboard(id), func() tea.Msg { return note{text: "on the clipboard: " + id} })
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
	m, err := d.client.Send(d.ctx, a.about.ID, api.NewMessage{ID: rand.Text(), From: d.o.From, Text: a.text, Mode: "sequential"})
	if err != nil {
		return failed(err)
	}
	text := fmt.Sprintf("queued for %s; it arrives at the end of its turn", name)
	if m.WaitsFor == api.WaitsForHooks {
		text = fmt.Sprintf("queued for %s; no hook of its session has come yet, see 'sm doctor'", name)
	}
	return note{text: text}
}

// attach shows the agent's pane. It types nothing there.
func (d actor) attach(s api.Session) tea.Cmd {
	if d.o.Attach == nil {
		return func() tea.Msg {
			return note{"panes cannot be shown from here; use 'tmux attach -t " + s.Pane + "'", true}
		}
	}
	cmd, err := d.o.Attach(s.TmuxSocket, s.Pane)
	if err != nil {
		return func() tea.Msg { return failed(err) }
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err == nil {
			return note{}
		}
		return note{fmt.Sprintf("tmux: %s; 'tmux list-panes -a' shows what there is", strings.TrimSpace(complaint.String()+" "+err.Error())), true}
	})
}

func (d actor) open(s api.Session, name string) tea.Msg {
	page, err := d.client.OpenPage(d.ctx)
	if err != nil {
		return failed(err)
	}
	if d.o.Browse == nil || d.o.Browse(d.ctx, page.At(s.ID)) != nil {
		return note{fmt.Sprintf("no browser can be started here; 'sm open %s' prints the address", name), true}
	}
	return note{text: "the browser opens the page at " + name}
}

func (d actor) readHandoffs(s api.Session) tea.Msg {
	list, err := d.client.Handoffs(d.ctx)
	if err != nil {
		return failed(err)
	}
	text, err := d.client.Raw(d.ctx, "/documents")
	var all struct {
		Documents []document `json:"documents"`
		Problem   string     `json:"problem"`
	}
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err == nil && all.Problem != "" {
		err = errors.New(all.Problem)
	}
	if err != nil {
		return failed(err)
	}
	return handedOver{s.ID, handedOf(s.ID, list.Handoffs, all.Documents)}
}

// failed is an error as a note. It ends with what to do.
func failed(err error) note {
	if status, ok := errors.AsType[*api.StatusError](err); ok && status.Code == http.StatusNotFound {
		return note{"the observer no longer knows this agent; choose another", true}
	}
	return note{err.Error(), true}
}
