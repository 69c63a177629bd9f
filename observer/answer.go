package observer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/fleet"
	"sm/observer/pages"
)

// handler answers a request, or returns why it cannot. It has written nothing then, and statusOf says what the client
// gets.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		access.WriteError(w, statusOf(err), textOf(err))
	}
}

// A statusError is an error of one route, with the status code that it is answered with there.
type statusError struct {
	code int
	error
}

func (e statusError) Unwrap() error { return e.error }

// refuse is an error with a code and a text for the client; the text ends with what to do.
func refuse(code int, text string) error { return statusError{code, errors.New(text)} }

// statuses is the status code of each error that means the same on every route.
func statuses() map[int][]error {
	return map[int][]error{
		http.StatusForbidden: {errNotSelf},
		http.StatusNotFound:  {fleet.ErrUnknown, rotation.ErrUnknown, handoff.ErrNoDocument, outbox.ErrUnknown, errNoReminder},
		http.StatusConflict: {
			fleet.ErrAmbiguous, errCodexApp, errNoWay, errDryRun, errForeignRun,
			rotation.ErrBusy, rotation.ErrEnded, rotation.ErrBreaker, rotation.ErrFutile, outbox.ErrOffered,
		},
		http.StatusUnprocessableEntity: {alerts.ErrReminder, outbox.ErrTooLong, outbox.ErrEmpty, outbox.ErrText, outbox.ErrNobody},
		http.StatusNotImplemented:      {errNoReload},
		http.StatusTooManyRequests:     {outbox.ErrFull, outbox.ErrRate, errManyReminders},
		http.StatusServiceUnavailable: {
			errStopped, errNotStored, errCatchingUp, pages.ErrCrowded, context.Canceled, context.DeadlineExceeded,
		},
	}
}

// statusOf is the status code for an error: its route's own, else that of the table; 500 for what nobody has thought of.
func statusOf(err error) int {
	if own, ok := errors.AsType[statusError](err); ok {
		return own.code
	}
	for code, list := range statuses() {
		for _, known := range list {
			if errors.Is(err, known) {
				return code
			}
		}
	}
	return http.StatusInternalServerError
}

// textOf is what the client reads. The fleet does not know by which route a session is looked for.
func textOf(err error) string {
	switch {
	case errors.Is(err, fleet.ErrAmbiguous):
		return "the id fits several sessions; give more of it"
	case errors.Is(err, fleet.ErrUnknown):
		return "no such session; GET /sessions lists them"
	}
	return err.Error()
}

// readJSON decodes the body of a request; hint says what should have been sent.
func readJSON(r *http.Request, into any, hint string) error {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		return refuse(http.StatusBadRequest, hint)
	}
	return nil
}

// readBody is the whole body of a request. The gate has bounded it.
func readBody(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the body could not be read; send it again")
	}
	return body, nil
}

// answerJSON writes v as the whole answer.
func answerJSON(w http.ResponseWriter, code int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return refuse(http.StatusInternalServerError, "the answer cannot be written as JSON; report this")
	}
	answerBody(w, code, body)
	return nil
}

// answerRaw answers with JSON that is written already, or with nothing.
func answerRaw(w http.ResponseWriter, body []byte) {
	if len(body) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answerBody(w, http.StatusOK, body)
}

func answerBody(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(body, '\n')) // the peer has gone; a message is then offered again
}

// errStopped answers who asks a loop that has ended.
var errStopped = errors.New("the observer is stopping; try again when it runs")

// errNotStored tells who waits for a transaction that it failed.
var errNotStored = errors.New("the state cannot be stored; free some space, then send it again")

// errCatchingUp answers a request that comes before the past has been read.
var errCatchingUp = errors.New("still reading what existed at the start; ask again in a second")

// errors that a call of sm handoff can meet besides those of the document.
var (
	errNotSelf  = errors.New("an agent hands over for itself alone; call sm handoff from within the session that it is about")
	errCodexApp = errors.New("codex-app has no terminal to clear; hand over by hand")
	errDryRun   = errors.New("the observer runs with --dry-run, which touches no agent; start it without")
	errNoWay    = errors.New("this client runs neither in tmux nor under sm run, so its context cannot be cleared; start it as sm run -- claude")
)

// errForeignRun answers a run whose name another one uses.
var errForeignRun = errors.New("this agent has a client that another has started; give sm run another --name")

// errNoReload answers who asks an observer that was started without a configuration.
var errNoReload = errors.New("this observer has no configuration to read again; start it anew")

// errBusy says that an agent is at work again.
var errBusy = errors.New("the agent is at work again; it is told between its tool calls")

// Errors about reminders.
var (
	errManyReminders = fmt.Errorf("the agent has %d reminders already: cancel some", maxReminders)
	errNoReminder    = errors.New("the agent has no such reminder; sm reminders lists them")
)

// maxReminders bounds the reminders of one agent.
const maxReminders = 50
