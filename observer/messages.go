package observer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
)

// named finds the agent of a route; the answer has been given when ok is false.
func named(w http.ResponseWriter, err error) (ok bool) {
	switch {
	case errors.Is(err, fleet.ErrAmbiguous):
		access.WriteError(w, http.StatusConflict, "the id fits several sessions; give more of it")
	case err != nil:
		access.WriteError(w, http.StatusNotFound, "no such session; GET /sessions lists them")
	}
	return err == nil
}

// getMessages lists what the queue knows of an agent.
func (a *App) getMessages(w http.ResponseWriter, r *http.Request) {
	answer := api.Messages{Messages: []api.Message{}}
	var odd error
	err := a.do(r.Context(), func(c *core) {
		var agent alerts.AgentID
		if agent, odd = c.fleet.Agent(r.PathValue("id"), false); odd != nil {
			return
		}
		for _, m := range c.queue.Of(agent) {
			answer.Messages = append(answer.Messages, c.message(m))
		}
	})
	if err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if named(w, odd) {
		answerJSON(w, http.StatusOK, answer)
	}
}

// getAllMessages lists what the queue knows.
func (a *App) getAllMessages(w http.ResponseWriter, r *http.Request) {
	answer := api.Messages{Messages: []api.Message{}}
	err := a.do(r.Context(), func(c *core) {
		for _, m := range c.queue.All() {
			answer.Messages = append(answer.Messages, c.message(m))
		}
	})
	if err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

// postMessage takes a message for an agent: 202 says that it is stored.
func (a *App) postMessage(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var in api.NewMessage
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		access.WriteError(w, http.StatusBadRequest, "not a message; send JSON such as {\"text\":\"Done.\",\"delivery_mode\":\"sequential\"}")
		return
	}
	mode, ok := modeOf(in.Mode)
	if !ok {
		access.WriteError(w, http.StatusUnprocessableEntity, "unknown delivery_mode; use sequential, important or urgent")
		return
	}
	if len(in.ID) > wordMost || len(in.From) > wordMost || strings.ContainsFunc(in.ID+in.From, unicode.IsControl) {
		access.WriteError(w, http.StatusUnprocessableEntity, "id or from: not one line of at most 128 bytes; give another")
		return
	}
	if strings.HasPrefix(in.ID, sayings) || strings.HasPrefix(in.ID, handoffs) {
		access.WriteError(w, http.StatusUnprocessableEntity, "ids that begin with "+sayings+" or "+handoffs+" are sm's own; choose another")
		return
	}
	if strings.HasPrefix(strings.TrimSpace(in.Text), "[sm ") {
		access.WriteError(w, http.StatusUnprocessableEntity, "the text begins like a notice of sm; begin it with another word")
		return
	}
	var m outbox.Message
	var answer api.Message
	var odd, refused error
	fresh := false
	err := a.change(r.Context(), func(c *core) bool {
		var agent alerts.AgentID
		if agent, odd = c.fleet.Agent(r.PathValue("id"), false); odd != nil {
			return false
		}
		from := c.sender(in.From)
		m, refused = c.queue.Put(outbox.Message{To: agent, Ref: in.ID, From: from, Mode: mode, Text: in.Text}, now)
		fresh, answer = m.Made.Equal(now), c.message(m)
		return refused == nil
	})
	// Or it would be there twice when it is sent again. What was there before may have been
	// acknowledged before.
	if errors.Is(err, errNotStored) && fresh {
		_ = a.do(context.WithoutCancel(r.Context()), func(c *core) { c.queue.Unput(m.ID) })
	}
	switch {
	case err != nil:
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
	case !named(w, odd):
	case errors.Is(refused, outbox.ErrFull), errors.Is(refused, outbox.ErrRate):
		access.WriteError(w, http.StatusTooManyRequests, refused.Error())
	case refused != nil:
		access.WriteError(w, http.StatusUnprocessableEntity, refused.Error())
	default:
		answerJSON(w, http.StatusAccepted, answer)
	}
}

// messageID finds a message by its id, or by the one that its sender gave.
func (c *core) messageID(agent alerts.AgentID, id string) outbox.ID {
	for _, m := range c.queue.Of(agent) {
		if m.Ref == id && !m.Notice() {
			return m.ID
		}
	}
	return outbox.ID(id)
}

// wordMost bounds the names that come with a message.
const wordMost = 128

// sender is what a sender is called to others: an agent by its name. A pane that is no
// agent's is nobody.
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

// deleteMessage takes back a message that nobody can have read.
func (a *App) deleteMessage(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var m outbox.Message
	var odd, refused error
	err := a.change(r.Context(), func(c *core) bool {
		var agent alerts.AgentID
		if agent, odd = c.fleet.Agent(r.PathValue("id"), false); odd != nil {
			return false
		}
		m, refused = c.queue.Cancel(agent, c.messageID(agent, r.PathValue("message")), now)
		return refused == nil
	})
	switch {
	case err != nil:
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
	case !named(w, odd):
	case errors.Is(refused, outbox.ErrOffered):
		access.WriteError(w, http.StatusConflict, refused.Error())
	case refused != nil:
		access.WriteError(w, http.StatusNotFound, refused.Error())
	default:
		answerJSON(w, http.StatusOK, messageOf(m))
	}
}

// modeOf reads a delivery mode; none is sequential.
func modeOf(name string) (m alerts.Mode, ok bool) {
	for _, m := range []alerts.Mode{alerts.Sequential, alerts.Important, alerts.Urgent} {
		if cmp.Or(name, alerts.Sequential.String()) == m.String() {
			return m, true
		}
	}
	return 0, false
}

// message is a message as the API tells it, with what it waits for.
func (c *core) message(m outbox.Message) api.Message {
	out := messageOf(m)
	out.WaitsFor = c.waitsFor(&m)
	return out
}

// messageOf is a message as the API tells it.
func messageOf(m outbox.Message) api.Message {
	out := api.Message{
		ID: string(m.ID), Ref: m.Ref, To: string(m.To), From: m.From, Mode: m.Mode.String(), Text: m.Text, Status: m.State.String(),
		MadeAt: m.Made, Offers: m.Offers, OfferedAt: timeOrNil(m.Offered), EndedAt: timeOrNil(m.Ended),
	}
	if m.Notice() {
		out.Key, out.Kind = m.Key.String(), m.Key.Kind.String()
	}
	if m.Offers > 0 {
		out.Via = m.Via.String()
	}
	return out
}
