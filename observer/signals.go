package observer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/observer/access"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// change runs f in the loop. When f says so, it returns only when all that f changed is
// stored; the error then says that it is not.
func (a *App) change(ctx context.Context, f func(*core) (durable bool)) error {
	stored := make(chan error, 1)
	err := a.do(ctx, func(c *core) {
		if f(c) {
			c.waiting = append(c.waiting, stored)
		} else {
			stored <- nil
		}
	})
	if err != nil {
		return err
	}
	select {
	case err = <-stored:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the state is slow to store; ask what became of it: %w", ctx.Err())
	case <-a.loopEnded:
	}
	select {
	case err = <-stored: // by the last transaction
		return err
	default:
		return errStopped
	}
}

// postHook takes a hook's payload or a report of the status line from `sm hook` and
// `sm statusline`, and answers with what the client is to be told.
//
// What only says that somebody is there is answered before it is stored: nobody builds
// on it, and the client waits for the answer. What opens cycles, and every message that
// an answer carries, is stored first.
func (a *App) postHook(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		access.WriteError(w, http.StatusBadRequest, "the body could not be read; send it again")
		return
	}
	p, err := hook.Decode(body)
	if err != nil {
		access.WriteError(w, http.StatusBadRequest, err.Error()+"; send what the client gives to hooks")
		return
	}
	if p.Event == hook.StatusLine {
		a.postStatus(w, r, body, now)
		return
	}
	a.learn(r.Context(), p.TranscriptPath, p.SessionID)
	if p.Event == hook.Stop && !p.Subagent() {
		a.awaitReply(r.Context(), &p)
	}
	answer, offered, err := a.answerHook(r.Context(), &p, now)
	if err == nil && p.Event == hook.PreToolUse && !p.Subagent() && a.guards() {
		answer = a.judge(r.Context(), &p)
	}
	if err != nil {
		if offered != "" { // nobody has heard it; when the loop has ended the next start finds out
			_ = a.do(context.WithoutCancel(r.Context()), func(c *core) { c.queue.Unoffer(offered, now) })
		}
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	answerRaw(w, answer.Encode())
}

// answerHook finds what a hook is answered, and returns when all that the answer builds on
// is stored. Documents are files: they are looked at beside the loop.
func (a *App) answerHook(ctx context.Context, p *hook.Payload, now time.Time) (answer hook.Answer, offered outbox.ID, err error) {
	var agent alerts.AgentID
	var need *asked
	err = a.change(ctx, func(c *core) (durable bool) {
		agent, durable = c.hook(p, now)
		if need = c.documents(agent, p, a); need == nil {
			answer, offered = c.answer(agent, p, now)
		}
		return durable || offered != ""
	})
	if err != nil || need == nil {
		return answer, offered, err
	}
	document := a.answerOf(ctx, need, now)
	if document != "" {
		return hook.Answer{Event: p.Event, Context: document}, "", nil
	}
	err = a.change(ctx, func(c *core) (durable bool) {
		answer, offered = c.answer(agent, p, now)
		return offered != ""
	})
	return answer, offered, err
}

func (a *App) postStatus(w http.ResponseWriter, r *http.Request, body []byte, now time.Time) {
	s, err := hook.DecodeStatus(body)
	if err != nil {
		access.WriteError(w, http.StatusBadRequest, err.Error()+"; send what the client gives to status lines")
		return
	}
	// Who needs no line hangs up as soon as the report is sent.
	ctx := context.WithoutCancel(r.Context())
	a.learn(ctx, s.TranscriptPath, s.SessionID)
	if err := a.do(ctx, func(c *core) { c.status(&s, now) }); err != nil {
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if !a.guards() {
		answerRaw(w, nil)
		return
	}
	answerRaw(w, a.guardLine(ctx, &s, now))
}

const (
	// replyWithin is how long a Stop hook waits for the transcript to show the reply
	// that ended the turn: clients write it a moment after they call their hooks.
	replyWithin = 150 * time.Millisecond
	replyEvery  = 3 * time.Millisecond
)

// awaitReply waits until the reply that ended a turn has been read: if it has made the
// context too large, this is the moment to say so, and the next turn may be far off.
func (a *App) awaitReply(ctx context.Context, p *hook.Payload) {
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	tick := time.NewTicker(replyEvery)
	defer tick.Stop()
	for read := false; ; {
		if err := a.do(ctx, func(c *core) { read = !c.caughtUp || c.fleet.ReplyRead(p) }); err != nil || read {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// answerRaw answers with JSON that is written already, or with nothing.
func answerRaw(w http.ResponseWriter, body []byte) {
	if len(body) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(body, '\n')) // the peer has gone: the message is offered again
}

// postUsage takes what scripts of their own post: a report, or an event.
func (a *App) postUsage(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		access.WriteError(w, http.StatusBadRequest, "the body could not be read; send it again")
		return
	}
	u, err := hook.DecodeContextUsage(body)
	if err != nil {
		access.WriteError(w, http.StatusBadRequest, err.Error()+"; send a JSON object")
		return
	}
	var odd error
	err = a.change(r.Context(), func(c *core) bool {
		var n fleet.News
		n, _, odd = c.fleet.Usage(&u, transcript.InstantOf(now))
		c.tell(n, now)
		return odd == nil && u.Event != ""
	})
	switch {
	case err != nil:
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
	case errors.Is(odd, fleet.ErrUnknown):
		answerJSON(w, http.StatusOK, api.Usage{Status: "unknown_session"})
	case odd != nil:
		access.WriteError(w, http.StatusBadRequest, odd.Error())
	case u.Event != "":
		answerJSON(w, http.StatusOK, api.Usage{Status: u.Event + "_logged"})
	default:
		answerJSON(w, http.StatusOK, api.UsageSample{Status: "ok", UsedPercentage: u.UsedPercentage})
	}
}

// postSession makes an agent known by name.
func (a *App) postSession(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	var reg api.Registration
	if err := json.NewDecoder(r.Body).Decode(&reg); err != nil {
		access.WriteError(w, http.StatusBadRequest, "not a registration; send JSON such as {\"id\":\"em\"}")
		return
	}
	if reg.SessionID == "" {
		reg.SessionID = strings.TrimSuffix(path.Base(reg.TranscriptPath), ".jsonl")
		if reg.TranscriptPath == "" {
			reg.SessionID = ""
		}
	}
	var odd error
	var s api.Session
	starting := false
	err := a.change(r.Context(), func(c *core) bool {
		if starting = !c.fleet.Settled(); starting {
			return false // nothing is stored before the history is complete
		}
		var n fleet.News
		n, odd = c.fleet.Register(fleet.Registration{
			ID: reg.ID, Parent: reg.ParentID, Name: reg.Name, Provider: reg.Provider, Session: reg.SessionID, Pane: reg.Pane,
		}, transcript.InstantOf(now))
		if odd != nil {
			return false
		}
		c.tell(n, now)
		if v, err := c.fleet.View(reg.ID, now); err == nil {
			s = c.session(v)
		}
		return true
	})
	switch {
	case err != nil:
		access.WriteError(w, http.StatusServiceUnavailable, err.Error())
	case starting:
		access.WriteError(w, http.StatusServiceUnavailable, "still reading what existed at the start; try again in a second")
	case odd != nil:
		access.WriteError(w, http.StatusUnprocessableEntity, odd.Error())
	default:
		answerJSON(w, http.StatusCreated, s)
	}
}
