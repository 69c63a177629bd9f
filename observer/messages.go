package observer

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/respond"
	"sm/observer/wire"
	"sm/transcript/wording"
)

// getMessages lists the messages of an agent, or all without one.
func (a *App) getMessages(w http.ResponseWriter, r *http.Request) error {
	return respondWith(a, w, r, func(c *core) (api.Messages, error) {
		list := c.queue.All
		if id := r.PathValue("id"); id != "" {
			agent, err := c.fleet.Agent(id, false)
			if err != nil {
				return api.Messages{}, err
			}
			list = func() []outbox.Message { return c.queue.Of(agent) }
		}
		all := api.Messages{Messages: []api.Message{}}
		for _, m := range list() {
			all.Messages = append(all.Messages, c.messageOf(m))
		}
		return all, nil
	})
}

// postMessage queues a message for an agent. The status 202 means that it is
// stored.
func (a *App) postMessage(w http.ResponseWriter, r *http.Request) error {
	now := time.Now()
	var in api.NewMessage
	if err := respond.ReadJSON(
		r,
		&in,
		"not a message; send JSON such as {\"text\":\"Done.\",\"delivery_mode\":\"sequential\"}",
	); err != nil {
		return err
	}
	mode, err := fitMessage(&in)
	if err != nil {
		return err
	}
	var m outbox.Message
	var answer api.Message
	fresh := false
	err = a.update(r.Context(), func(c *core) error {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return err
		}
		if !c.reachable(now) {
			return respond.Refuse(
				http.StatusConflict,
				"no hook was ever seen, so no agent gets messages; run sm install, and start the agents anew",
			)
		}
		m, err = c.queue.Put(outbox.Message{
			To:   agent,
			Ref:  in.ID,
			From: c.sender(in.From),
			Mode: mode,
			Text: in.Text,
		}, now)
		fresh, answer = m.Made.Equal(now), c.messageOf(m)
		return err
	})
	// Or it would be there twice when it is sent again. What was there before may have been
	// acknowledged before.
	if errors.Is(err, respond.ErrNotStored) && fresh {
		_ = a.do(context.WithoutCancel(r.Context()), func(c *core) { c.queue.Unput(m.ID) })
	}
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusAccepted, answer)
}

// fitMessage checks a message and returns its mode of delivery.
func fitMessage(in *api.NewMessage) (alerts.Mode, error) {
	mode, ok := wire.Mode(in.Mode)
	text := ""
	switch {
	case !ok:
		text = "unknown delivery_mode; use sequential, important or urgent"
	case len(in.ID) > maxWord || len(in.From) > maxWord ||
		strings.ContainsFunc(in.ID+in.From, unicode.IsControl):
		text = "id or from: not one line of at most 128 bytes; give another"
	case strings.HasPrefix(in.ID, sayings) || strings.HasPrefix(in.ID, handoffRef):
		text = "ids that begin with " + sayings + " or " + handoffRef + " are sm's own; choose another"
	case strings.HasPrefix(strings.TrimSpace(in.Text), wording.Heading):
		text = "the text begins like a notice of sm; begin it with another word"
	default:
		return mode, nil
	}
	return mode, respond.Refuse(http.StatusUnprocessableEntity, text)
}

// maxWord bounds the names that come with a message.
const maxWord = 128

// sender returns the name of a sender as recipients see it: the name of an agent,
// "" for a pane without one.
func (c *core) sender(id string) string {
	agent, err := c.fleet.Agent(id, true)
	if err != nil {
		if strings.HasPrefix(id, "tmux-") {
			return ""
		}
		return id
	}
	if v, err := c.fleet.View(string(agent), time.Now()); err == nil && v.Name != "" {
		return v.Name
	}
	return string(agent)
}

// deleteMessage withdraws a message that no agent can have read.
func (a *App) deleteMessage(w http.ResponseWriter, r *http.Request) error {
	return respondStored(a, w, r, http.StatusOK, func(c *core) (api.Message, error) {
		agent, err := c.fleet.Agent(r.PathValue("id"), false)
		if err != nil {
			return api.Message{}, err
		}
		m, err := c.queue.Cancel(
			agent,
			c.messageID(agent, r.PathValue("message")),
			time.Now(),
		)
		return wire.Message(m), err
	})
}
