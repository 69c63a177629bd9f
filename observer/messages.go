package observer

import (
	"net/http"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/api"
	"sm/observer/wire"
	"sm/transcript/wording"
)

// getMessages lists the messages of an agent, or all without one.
func (c *core) getMessages(agent string, _ *http.Request) (any, error) {
	all := api.Messages{Messages: []api.Message{}}
	for _, m := range c.queue.Of(agent) {
		all.Messages = append(all.Messages, c.messageOf(m))
	}
	return all, nil
}

// postMessage queues a message for an agent.
func (c *core) postMessage(agent string, r *http.Request) (any, error) {
	var in api.NewMessage
	const hint = `not a message; send JSON such as {"text":"Done.","delivery_mode":"sequential"}`
	if err := c.readText(r, &in, hint); err != nil {
		return nil, err
	}
	mode, err := fitMessage(&in)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	m, err := c.queue.Put(outbox.Message{
		To:   agent,
		Ref:  in.ID,
		From: c.sender(in.From),
		Mode: mode,
		Text: in.Text,
	}, now)
	if m.Made.Equal(now) { // an earlier message with this id may have been acknowledged
		c.undo = func() { c.queue.Unput(m.ID) }
	}
	return c.messageOf(m), err
}

// readText decodes a request to send a text to an agent. It returns an error
// while no agent can be reached.
func (c *core) readText(r *http.Request, in any, hint string) error {
	if c.caughtUp && !c.reachable("") {
		return refuse(http.StatusConflict, api.NoneReachable)
	}
	return readJSON(r, in, hint)
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
	return mode, refuse(http.StatusUnprocessableEntity, text)
}

// maxWord is the maximum length of a message's id and sender, in bytes.
const maxWord = 128

// sender returns the name of a sender as recipients see it: the name of the
// agent, the id if there is no such agent, or "" for a pane without an agent.
func (c *core) sender(id string) string {
	agent, err := c.fleet.Agent(id, true)
	if err != nil {
		if strings.HasPrefix(id, "tmux-") {
			return ""
		}
		return id
	}
	return c.nameOf(agent)
}

// deleteMessage withdraws a message that its agent cannot have read yet.
func (c *core) deleteMessage(agent string, r *http.Request) (any, error) {
	m, err := c.queue.Cancel(agent, r.PathValue("message"), time.Now())
	return wire.Message(m), err
}
