package observer

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"sm/handoff"
	"sm/observer/access"
)

// documentsAnswer is the answer of GET /documents. Problem is of what could not be read.
type documentsAnswer struct {
	Documents []handoff.Document `json:"documents"`
	Problem   string             `json:"problem,omitempty"`
}

// getDocuments lists the handoff documents of all channels.
func (a *App) getDocuments(w http.ResponseWriter, _ *http.Request) {
	answer := documentsAnswer{Documents: []handoff.Document{}}
	if docs := a.o.Handoff.Documents; docs != nil {
		all, err := docs.List(time.Now())
		answer.Documents = append(answer.Documents, all...)
		if err != nil {
			answer.Problem = err.Error()
		}
	}
	answerJSON(w, http.StatusOK, answer)
}

// getDocument gives the current document of a channel, with its text.
func (a *App) getDocument(w http.ResponseWriter, r *http.Request) {
	channel := r.PathValue("channel")
	var doc handoff.Document
	var ok bool
	var err error
	if docs := a.o.Handoff.Documents; docs != nil {
		doc, ok, err = docs.Current(channel, time.Now())
	}
	switch {
	case err != nil:
		access.WriteError(w, http.StatusInternalServerError, err.Error())
	case !ok:
		access.WriteError(w, http.StatusNotFound, fmt.Sprintf("channel %q has no handoff document; 'sm documents' lists them", channel))
	default:
		answerJSON(w, http.StatusOK, struct {
			handoff.Document
			Body string `json:"body"`
		}{doc, doc.Body})
	}
}

// deleteDocuments takes back the documents of a channel that wait.
func (a *App) deleteDocuments(w http.ResponseWriter, r *http.Request) {
	n, err := 0, handoff.ErrNoDocument
	if docs := a.o.Handoff.Documents; docs != nil {
		n, err = docs.Clear(r.PathValue("channel"), time.Now())
	}
	switch {
	case errors.Is(err, handoff.ErrNoDocument):
		access.WriteError(w, http.StatusNotFound, err.Error())
	case err != nil:
		access.WriteError(w, http.StatusInternalServerError, err.Error())
	default:
		answerJSON(w, http.StatusOK, map[string]int{"cleared": n})
	}
}
