package observer

import (
	"fmt"
	"net/http"
	"time"

	"sm/handoff"
	"sm/observer/documents"
	"sm/observer/respond"
)

// documentRoutes shows the documents. They are files: the loop is not asked.
type documentRoutes struct{ *documents.Keeper }

// documentsAnswer is the answer of GET /documents. Problem is of what could not be read.
type documentsAnswer struct {
	Documents []handoff.Document `json:"documents"`
	Problem   string             `json:"problem,omitempty"`
}

// getDocuments lists the handoff documents of all channels.
func (d documentRoutes) getDocuments(w http.ResponseWriter, _ *http.Request) error {
	answer := documentsAnswer{Documents: []handoff.Document{}}
	if docs := d.Store(); docs != nil {
		all, err := docs.List(time.Now())
		answer.Documents = append(answer.Documents, all...)
		if err != nil {
			answer.Problem = err.Error()
		}
	}
	return respond.JSON(w, http.StatusOK, answer)
}

// getDocument gives the current document of a channel, with its text.
func (d documentRoutes) getDocument(w http.ResponseWriter, r *http.Request) error {
	channel := r.PathValue("channel")
	var doc handoff.Document
	var ok bool
	var err error
	if docs := d.Store(); docs != nil {
		doc, ok, err = docs.Current(channel, time.Now())
	}
	switch {
	case err != nil:
		return respond.With(http.StatusInternalServerError, err)
	case !ok:
		return respond.Refuse(
			http.StatusNotFound,
			fmt.Sprintf("channel %q has no handoff document; 'sm documents' lists them", channel),
		)
	}
	return respond.JSON(w, http.StatusOK, struct {
		handoff.Document
		Body string `json:"body"`
	}{doc, doc.Body})
}

// deleteDocuments takes back the documents of a channel that wait.
func (d documentRoutes) deleteDocuments(w http.ResponseWriter, r *http.Request) error {
	n := 0
	err := handoff.ErrNoDocument
	if docs := d.Store(); docs != nil {
		n, err = docs.Clear(r.PathValue("channel"), time.Now())
	}
	if err != nil {
		return err
	}
	return respond.JSON(w, http.StatusOK, map[string]int{"cleared": n})
}
