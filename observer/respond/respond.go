// Package respond answers requests with JSON or an error.
//
// One table has the status codes of errors for all routes. A long answer is written
// as a stream.
package respond

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"sm/alerts"
	"sm/alerts/outbox"
	"sm/handoff"
	"sm/handoff/rotation"
	"sm/observer/access"
	"sm/observer/fleet"
)

// A Handler answers a request, or returns an error before writing anything. The table
// of status codes then decides on the answer.
type Handler func(w http.ResponseWriter, r *http.Request) error

func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := h(w, r)
	switch code := statusOf(err); {
	case err == nil:
	case code == http.StatusNotFound:
		access.WriteRefusal(w, r, code, textOf(err))
	default:
		access.WriteError(w, code, textOf(err))
	}
}

// statusError is an error of one route, with the status code that it is answered with there.
type statusError struct {
	code int
	error
}

func (e statusError) Unwrap() error { return e.error }

// With gives an error a status code of its own.
func With(code int, err error) error { return statusError{code, err} }

// Refuse is an error with a code and a text for the client; the text ends with what to do.
func Refuse(code int, text string) error { return With(code, errors.New(text)) }

// statuses is the status code of each error that means the same on every route.
func statuses() map[int][]error {
	return map[int][]error{
		http.StatusForbidden: {ErrNotSelf},
		http.StatusNotFound: {
			fleet.ErrUnknown,
			rotation.ErrUnknown,
			handoff.ErrNoDocument,
			outbox.ErrUnknown,
			ErrNoReminder,
		},
		http.StatusConflict: {
			fleet.ErrAmbiguous, ErrCodexApp, ErrDaemon, ErrNoWay, ErrDryRun, ErrForeignRun,
			rotation.ErrBusy, rotation.ErrEnded, rotation.ErrBreaker, rotation.ErrFutile, outbox.ErrOffered,
		},
		http.StatusUnprocessableEntity: {
			alerts.ErrReminder,
			outbox.ErrTooLong,
			outbox.ErrEmpty,
			outbox.ErrText,
			outbox.ErrNobody,
		},
		http.StatusNotImplemented:  {ErrNoReload},
		http.StatusTooManyRequests: {outbox.ErrFull, outbox.ErrRate, ErrManyReminders},
		http.StatusServiceUnavailable: {
			ErrStopped, ErrNotStored, ErrCatchingUp, context.Canceled, context.DeadlineExceeded,
		},
	}
}

// statusOf returns the status code of an error: its own, else that of the table, else 500.
func statusOf(err error) int {
	if own, ok := errors.AsType[statusError](err); ok {
		return own.code
	}
	for code, list := range statuses() {
		if slices.ContainsFunc(
			list,
			func(known error) bool { return errors.Is(err, known) },
		) {
			return code
		}
	}
	return http.StatusInternalServerError
}

// textOf is what the client reads. The fleet does not know by which route a
// session is looked for.
func textOf(err error) string {
	switch {
	case errors.Is(err, fleet.ErrAmbiguous):
		return "the id fits several sessions; give more of it"
	case errors.Is(err, fleet.ErrUnknown):
		return "no such session; GET /sessions lists them"
	}
	return err.Error()
}

// ReadJSON decodes the body of a request; hint describes a valid one.
func ReadJSON(r *http.Request, into any, hint string) error {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		return Refuse(http.StatusBadRequest, hint)
	}
	return nil
}

// JSON writes v as the whole answer.
func JSON(w http.ResponseWriter, code int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	access.WriteJSON(w, code, body)
	return nil
}

// Raw answers with JSON that is written already, or with nothing.
func Raw(w http.ResponseWriter, body []byte) {
	if len(body) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	access.WriteJSON(w, http.StatusOK, body)
}

// ErrStopped answers who asks a loop that has ended.
var ErrStopped = errors.New("the observer is stopping; try again when it runs")

// ErrNotStored answers those who wait for a transaction that failed.
var ErrNotStored = errors.New("the state cannot be stored; free some space, then send it again")

// ErrCatchingUp answers a request that comes before the history has been read.
var ErrCatchingUp = errors.New("still reading what existed at the start; ask again in a second")

// errors that a call of sm handoff can meet besides those of the document.
var (
	ErrNotSelf  = errors.New("an agent hands over for itself alone; call sm handoff from within the session that it is about")
	ErrCodexApp = errors.New("codex-app has no terminal to clear; hand over by hand")
	ErrDaemon   = errors.New("this thread is open in Codex's daemon, and its terminal is unknown; start the client with codex --no-daemon")
	ErrDryRun   = errors.New("the observer runs with --dry-run, which touches no agent; start it without")
	ErrNoWay    = errors.New("this client runs neither in tmux nor under sm run, so its context cannot be cleared; start it as sm run -- claude")
)

// ErrForeignRun answers a run whose name another one uses.
var ErrForeignRun = errors.New("this agent has a client that another has started; give sm run another --name")

// ErrNoReload answers who asks an observer that was started without a configuration.
var ErrNoReload = errors.New("this observer has no configuration to read again; start it anew")

// Errors about reminders.
var (
	ErrManyReminders = fmt.Errorf("the agent has %d reminders already: cancel some", MaxReminders)
	ErrNoReminder    = errors.New("the agent has no such reminder; sm reminders lists them")
)

// MaxReminders bounds the reminders of one agent.
const MaxReminders = 50

// Stream writes head, whose first member is an empty array, as the whole
// answer, with items as the elements of that array. It keeps one item at a
// time. The time limit for an answer applies to each item. An error before the
// first item is returned; a later one closes the connection, so that the client
// does not take half of the answer for all of it.
func Stream(w http.ResponseWriter, head any, items iter.Seq2[any, error]) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	separator, end, _ := bytes.Cut(text, []byte("]"))
	w.Header().Set("Content-Type", "application/json")
	control := http.NewResponseController(w)
	begun := false
	for item, err := range items {
		var text []byte
		if err == nil {
			text, err = json.Marshal(item)
		}
		switch {
		case err != nil && begun:
			panic(http.ErrAbortHandler)
		case err != nil:
			return err
		}
		_ = control.SetWriteDeadline(time.Now().Add(itemTimeout)) // where there is one
		_, _ = w.Write(separator)
		if _, err := w.Write(text); err != nil {
			return nil // the peer is gone
		}
		begun = true
		separator = []byte(",")
	}
	if !begun {
		_, _ = w.Write(separator)
	}
	_, _ = fmt.Fprintf(w, "]%s\n", end)
	return nil
}

// itemTimeout limits the write of one item of a long answer.
const itemTimeout = 10 * time.Second
