package api

import (
	"context"
)

// Document asks for the current document of a channel, with its text, and puts it into answer.
func (c *Client) Document(ctx context.Context, channel string, answer any) error {
	return c.ask(ctx, "GET /documents/"+segment(channel), nil, answer)
}

// ClearDocuments takes back the documents of a channel that wait, and says how many.
func (c *Client) ClearDocuments(ctx context.Context, channel string) (n int, err error) {
	var answer struct {
		Cleared int `json:"cleared"`
	}
	err = c.ask(ctx, "DELETE /documents/"+segment(channel), nil, &answer)
	return answer.Cleared, err
}
