package api

import (
	"context"
	"encoding/json"
)

// Raw asks for any path and gives the answer as it is: for who must say what an
// observer does not report from what it knows to be null.
func (c *Client) Raw(ctx context.Context, path string) (json.RawMessage, error) {
	return answerOf[json.RawMessage](ctx, c, "GET "+path, nil)
}

// Text asks for a path whose answer is not JSON, as /metrics.
func (c *Client) Text(ctx context.Context, path string) ([]byte, error) {
	return answerOf[[]byte](ctx, c, "GET "+path, nil)
}
