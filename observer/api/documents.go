package api

import (
	"context"
	"errors"

	"sm/handoff"
)

// Documents is the answer of GET /documents. Problem describes documents that
// could not be read.
type Documents struct {
	Documents []handoff.Document `json:"documents"`
	Problem   string             `json:"problem,omitempty"`
}

// WholeDocument is the answer of GET /documents/{channel}: a document with its text.
type WholeDocument struct {
	handoff.Document
	Body string `json:"body"`
}

// Cleared is the answer of DELETE /documents/{channel}.
type Cleared struct {
	Cleared int `json:"cleared"`
}

// Documents returns the handoff documents of all channels. With an error it
// returns those that could be read.
func (c *Client) Documents(ctx context.Context) ([]handoff.Document, error) {
	answer, err := answerOf[Documents](ctx, c, "GET /documents", nil)
	if answer.Problem != "" {
		err = errors.New(answer.Problem)
	}
	return answer.Documents, err
}

// Document returns the current document of a channel, with its text.
func (c *Client) Document(ctx context.Context, channel string) (WholeDocument, error) {
	return answerOf[WholeDocument](ctx, c, "GET /documents/"+segment(channel), nil)
}

// ClearDocuments withdraws the waiting documents of a channel and returns how many.
func (c *Client) ClearDocuments(ctx context.Context, channel string) (Cleared, error) {
	return answerOf[Cleared](ctx, c, "DELETE /documents/"+segment(channel), nil)
}
