package observer

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
	"sm/observer/api"
	"sm/observer/fleet"
)

// A handler answers a request, or returns an error before it has written
// anything. The error is answered with the status code of statusOf.
type handler func(w http.ResponseWriter, r *http.Request) error

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		access.WriteRefusal(w, r, statusOf(err), err.Error())
	}
}

// refuse returns an error with a status code and a text for the client, which
// should end with advice.
func refuse(code int, text string) error { return &api.StatusError{Code: code, Text: text} }

// statuses has the errors with the same meaning on every route, by status code.
var statuses = map[int][]error{
	http.StatusBadRequest: {fleet.ErrEvent},
	http.StatusNotFound: {
		fleet.ErrUnknown,
		rotation.ErrUnknown,
		handoff.ErrNoDocument,
		outbox.ErrUnknown,
	},
	http.StatusConflict: {
		fleet.ErrAmbiguous,
		rotation.ErrBusy,
		rotation.ErrEnded,
		rotation.ErrBreaker,
		rotation.ErrFutile,
		outbox.ErrOffered,
	},
	http.StatusUnprocessableEntity: {
		alerts.ErrReminder,
		outbox.ErrTooLong,
		outbox.ErrEmpty,
		outbox.ErrText,
		outbox.ErrNoRecipient,
	},
	http.StatusTooManyRequests: {outbox.ErrFull, outbox.ErrRate},
	http.StatusServiceUnavailable: {
		errStopped, errNotStored, errCatchingUp, context.Canceled, context.DeadlineExceeded,
	},
}

// statusOf returns the status code of an error: its own, or by statuses, or
// 500.
func statusOf(err error) int {
	if own, ok := errors.AsType[*api.StatusError](err); ok {
		return own.Code
	}
	for code, list := range statuses {
		if slices.ContainsFunc(
			list,
			func(known error) bool { return errors.Is(err, known) },
		) {
			return code
		}
	}
	return http.StatusInternalServerError
}

var (
	errStopped    = errors.New("the observer is stopping; try again when it runs")
	errNotStored  = errors.New("the state cannot be stored; free some space, then send it again")
	errCatchingUp = errors.New("still reading what existed at the start; ask again in a second")
)

// readJSON decodes the body of a request; hint describes a valid one.
func readJSON(r *http.Request, into any, hint string) error {
	if json.NewDecoder(r.Body).Decode(into) != nil {
		return refuse(http.StatusBadRequest, hint)
	}
	return nil
}

// writeJSON writes v as the whole answer.
func writeJSON(w http.ResponseWriter, code int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	access.WriteJSON(w, code, body)
	return nil
}

// writeRaw writes encoded JSON as the answer, or 204 for nothing.
func writeRaw(w http.ResponseWriter, body []byte) {
	if len(body) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	access.WriteJSON(w, http.StatusOK, body)
}

// writeStream writes head as JSON with items as the elements of its first
// member, which must be an empty array. It keeps one item in memory at a time.
// The write timeout applies to each item. An error of an item aborts the
// connection, so that the client does not take a partial answer for a complete
// one.
func writeStream(w http.ResponseWriter, head any, items iter.Seq2[any, error]) error {
	text, err := json.Marshal(head)
	if err != nil {
		return err
	}
	begin, end, _ := bytes.Cut(text, []byte("]"))
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(begin) // an error is returned again for the next item
	control := http.NewResponseController(w)
	separator := ""
	for item, err := range items {
		if err == nil {
			text, err = json.Marshal(item)
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		_ = control.SetWriteDeadline(time.Now().Add(itemTimeout)) // not supported by all writers
		if _, err := fmt.Fprintf(w, "%s%s", separator, text); err != nil {
			return nil // the peer has disconnected
		}
		separator = ","
	}
	_, _ = fmt.Fprintf(w, "]%s\n", end)
	return nil
}

// itemTimeout limits the write of one item of a long answer.
const itemTimeout = 10 * time.Second
