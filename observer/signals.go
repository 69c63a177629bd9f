package observer

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"sm/alerts"
	"sm/observer/alertmanager"
	"sm/observer/api"
	"sm/observer/fleet"
	"sm/transcript"
	"sm/transcript/claude/hook"
)

// postHook accepts the payload of a hook, or a report of the status line, from
// sm hook and sm statusline, and returns the output for the client.
//
// A signal that only shows activity is answered before it is stored, as nothing
// depends on it and the client waits for the answer. Signals that open cycles, and
// messages in answers, are stored first.
func (a *App) postHook(w http.ResponseWriter, r *http.Request) error {
	if a.o.Demo { // as without an observer
		writeRaw(w, nil)
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	p, err := hook.Decode(body)
	if err != nil {
		return refuse(
			http.StatusBadRequest,
			err.Error()+"; send what the client gives to hooks",
		)
	}
	if p.Event == hook.StatusLine {
		return a.postStatus(w, r, body)
	}
	a.learn(p.TranscriptPath, p.SessionID)
	client := a.o.Clients.Named(p.SM.Client)
	if p.Event == hook.Stop && !p.Subagent() && client.WritesAfterStop {
		a.awaitReply(r.Context(), &p)
	}
	answer, err := a.Hook(r.Context(), &p)
	if err != nil {
		return err
	}
	if p.Event == hook.PreToolUse && !p.Subagent() && client.GuardsTools && a.guarding() {
		answer = a.decideToolCall(r.Context(), &p)
	}
	writeRaw(w, answer.Encode())
	return nil
}

// Hook applies the hook of a client and returns the output for the client once
// all changes that the answer depends on are stored. An error means that they
// are not, or that the observer has stopped. Documents are files and are read
// outside the loop.
func (a *App) Hook(ctx context.Context, p *hook.Payload) (answer hook.Answer, err error) {
	now := time.Now()
	var agent string
	var need *documentRequest
	var offered string
	defer func() {
		// The client gets no answer, so it does not have the message. If the
		// loop has stopped, the next observer notices that.
		if err != nil && offered != "" {
			_ = a.do(context.WithoutCancel(ctx), func(c *core) { c.queue.Unoffer(offered) })
		}
	}()
	err = a.change(ctx, func(c *core) (durable bool, _ error) {
		agent, durable = c.hook(p, now)
		if need = c.documentsFor(agent, p); need == nil {
			answer, offered = c.answer(agent, p, now)
		}
		return durable || offered != "", nil
	})
	if err != nil || need == nil {
		return answer, err
	}
	if document := a.answerDocument(ctx, need, now); document != "" {
		return hook.Answer{Event: p.Event, Context: document}, nil
	}
	err = a.change(ctx, func(c *core) (durable bool, _ error) {
		answer, offered = c.answer(agent, p, now)
		return offered != "", nil
	})
	return answer, err
}

func (a *App) postStatus(w http.ResponseWriter, r *http.Request, body []byte) error {
	report, err := hook.DecodeStatus(body)
	if err != nil {
		return refuse(
			http.StatusBadRequest,
			err.Error()+"; send what the client gives to status lines",
		)
	}
	// A caller that needs no line disconnects as soon as the report is sent.
	ctx := context.WithoutCancel(r.Context())
	a.learn(report.TranscriptPath, report.SessionID)
	if err := a.Status(ctx, &report); err != nil {
		return err
	}
	var line []byte
	if a.guarding() {
		line = a.guardedLine(ctx, &report, time.Now())
	}
	writeRaw(w, line)
	return nil
}

const (
	// replyWithin is how long a Stop hook waits until the transcript has the
	// reply that ended the turn: clients write it a moment after they call
	// their hooks. replyEvery is the polling interval.
	replyWithin = 150 * time.Millisecond
	replyEvery  = 3 * time.Millisecond
)

// awaitReply waits until the reply that ended a turn has been read: if the
// reply has made the context too large, the answer to this hook must have the
// notice, as the next turn may be far off.
func (a *App) awaitReply(ctx context.Context, p *hook.Payload) {
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	for read := false; ; time.Sleep(replyEvery) {
		err := a.do(ctx, func(c *core) { read = !c.caughtUp || c.fleet.ReplyRead(p) })
		if err != nil || read {
			return
		}
	}
}

// postUsage accepts a report or an event from a user's script.
func (a *App) postUsage(w http.ResponseWriter, r *http.Request) error {
	unknown := api.Usage{Status: "unknown_session"}
	if a.o.Demo {
		return writeJSON(w, http.StatusOK, unknown)
	}
	now := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	var u hook.ContextUsage
	if err = hook.Unmarshal(body, &u); err != nil {
		return refuse(http.StatusBadRequest, err.Error()+"; send a JSON object")
	}
	err = a.change(r.Context(), func(c *core) (durable bool, err error) {
		n, agent, err := c.fleet.Usage(&u, transcript.InstantOf(now))
		c.applyOrDefer(n, now)
		if err == nil && u.Event == "compaction" {
			c.compacting(agent, u.Trigger)
		}
		return u.Event != "", err
	})
	switch {
	case errors.Is(err, fleet.ErrUnknown):
		return writeJSON(w, http.StatusOK, unknown)
	case err != nil:
		return err
	case u.Event != "":
		return writeJSON(w, http.StatusOK, api.Usage{Status: u.Event + "_logged"})
	}
	return writeJSON(w, http.StatusOK, api.UsageSample{
		Status:         "ok",
		UsedPercentage: u.UsedPercentage,
	})
}

// postSession registers an agent by name.
func (c *core) postSession(_ string, r *http.Request) (any, error) {
	var reg api.Registration
	const hint = `not a registration; send JSON such as {"id":"em"}`
	if err := readJSON(r, &reg, hint); err != nil {
		return nil, err
	}
	if reg.SessionID == "" && reg.TranscriptPath != "" {
		reg.SessionID = c.clients.SessionOf(reg.TranscriptPath)
	}
	if !c.fleet.Settled() { // nothing is stored before the history is complete
		return nil, errCatchingUp
	}
	now := time.Now()
	n, err := c.fleet.Register(fleet.Registration{
		ID:       reg.ID,
		Parent:   reg.ParentID,
		Name:     reg.Name,
		Provider: reg.Provider,
		Session:  reg.SessionID,
		Pane:     reg.Pane,
		Tmux:     reg.Tmux,
	}, transcript.InstantOf(now))
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, err.Error())
	}
	c.applyOrDefer(n, now)
	v, err := c.fleet.View(c.fleet.Named(reg.ID), now)
	return c.session(&v), err
}

// learn starts to follow the folder of a client's transcript, if it is new.
func (a *App) learn(path, session string) {
	root, fresh := a.roots.Learn(path, session)
	if !fresh {
		return
	}
	select {
	case a.learnt <- root: // has room for projects.MaxLearnt folders
	case <-a.loopEnded:
	}
	a.log.Info("a client keeps its transcripts elsewhere: following them, too")
	a.log.Debug("following", "projects", root.Path)
}

// postAlerts accepts alerts that Alertmanager sends. A firing alert with labels
// for a session and a kind of notice becomes a notice for the agent, unless the
// engine has given that notice in this episode. Other alerts, and resolved
// ones, are accepted without effect: Alertmanager would send them again after a
// status other than 200.
func (c *core) postAlerts(_ string, r *http.Request) (any, error) {
	now := time.Now()
	var in alertmanager.Notification
	const hint = "not a notification of Alertmanager; use its webhook_configs"
	if err := readJSON(r, &in, hint); err != nil {
		return nil, err
	}
	taken, unknown := c.alert(alertmanager.Firings(&in, now), now)
	alertmanager.LogUnknown(c.log, unknown)
	return api.AlertsTaken{
		Status:  "ok",
		Alerts:  len(in.Alerts),
		Noticed: taken,
	}, nil
}

// alert passes alerts to the engine. given counts the alerts that led to a
// notice; unknown has the alerts whose agent is unknown, or not known yet.
func (c *core) alert(
	list []alertmanager.Firing,
	now time.Time,
) (given int, unknown []alertmanager.Firing) {
	for _, x := range list {
		agent, err := c.fleet.Agent(x.Session, true)
		if err != nil || !c.caughtUp {
			unknown = append(unknown, x)
			continue
		}
		actions := c.engine.Step(alerts.Event{
			Kind:   alerts.EventAlert,
			Agent:  agent,
			At:     x.Began,
			Notice: x.Kind,
		})
		delivers := func(x alerts.Action) bool {
			_, ok := x.(alerts.Deliver)
			return ok
		}
		if slices.ContainsFunc(actions, delivers) {
			given++
		}
		c.act(actions, now)
	}
	return given, unknown
}

// takeAlerts accepts alerts that were polled from an Alertmanager, like
// postAlerts. Their notices are stored when it returns.
func (a *App) takeAlerts(
	ctx context.Context,
	list []alertmanager.Firing,
) (unknown []alertmanager.Firing, err error) {
	err = a.change(ctx, func(c *core) (changed bool, _ error) {
		var n int
		n, unknown = c.alert(list, time.Now())
		return n > 0, nil
	})
	return unknown, err
}

// maxNotificationBytes limits the size of a notification: a thousand short
// alerts take some 70 KiB.
const maxNotificationBytes = 1 << 20

// Status applies a report of a status line, like POST /hooks/claude. An error
// means that the observer has stopped.
func (a *App) Status(ctx context.Context, s *hook.Status) error {
	return a.do(ctx, func(c *core) {
		now := time.Now()
		c.hooks.Count(hook.StatusLine)
		c.applyOrDefer(c.fleet.Status(s, transcript.InstantOf(now)), now)
	})
}
