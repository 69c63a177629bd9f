package api

import (
	"context"
	"net/url"
)

// Page is where a browser finds the observer's page: the address holds once, for so many seconds.
type Page struct {
	URL     string `json:"url"`
	Seconds int    `json:"seconds"`
}

// At is the address at which the page shows all about one agent, by its id.
func (p Page) At(agent string) string { return p.URL + "&session=" + url.QueryEscape(agent) }

// OpenPage asks for an address that opens the page in a browser.
func (c *Client) OpenPage(ctx context.Context) (Page, error) {
	return answerOf[Page](ctx, c, "POST /open", struct{}{})
}
