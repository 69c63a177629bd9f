package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// answerBytes limits an answer: 10,000 sessions take some 10 MB.
const answerBytes = 256 << 20

// answerWithin is the timeout for an answer. The observer answers in
// milliseconds, unless it is stopped.
const answerWithin = 10 * time.Second

// ErrSilent means that the observer accepted a request and did not answer: the
// request may have been carried out.
var ErrSilent = errors.New("the observer does not answer; check that it is not stopped, and whether this was done, before you repeat it")

// StatusError is an unsuccessful answer, with the observer's error text.
type StatusError struct {
	Code int
	Text string
}

func (e *StatusError) Error() string { return e.Text }

// StatusCode returns the code of an error that is a StatusError, else 0.
func StatusCode(err error) int {
	if status, is := errors.AsType[*StatusError](err); is {
		return status.Code
	}
	return 0
}

// Client sends requests to the observer over its Unix socket.
type Client struct {
	http http.Client
}

// NewClient returns a client that tries the sockets in order for each request,
// like [Dial].
func NewClient(sockets []string) *Client {
	dial := func(context.Context, string, string) (net.Conn, error) {
		return Dial(sockets)
	}
	return &Client{http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Timeout:   answerWithin,
	}}
}

// Sessions returns all sessions, the newest activity first.
func (c *Client) Sessions(ctx context.Context) (Sessions, error) {
	return answerOf[Sessions](ctx, c, "GET /sessions", nil)
}

// RecentSessions returns the sessions whose client runs or that had activity within
// metrics.session_ttl, at most metrics.max_sessions and 5,000: those with a running
// client first, then the newest activity. Sessions that their agent has left are not
// included. With a client's name it returns only that client's sessions.
func (c *Client) RecentSessions(ctx context.Context, client string) (Sessions, error) {
	return answerOf[Sessions](ctx, c, "GET /sessions?recent=1&client="+url.QueryEscape(client), nil)
}

// TrendingSessions is like RecentSessions with the trend of each session.
func (c *Client) TrendingSessions(ctx context.Context, client string) (Sessions, error) {
	return answerOf[Sessions](
		ctx,
		c,
		"GET /sessions?recent=1&trend=1&client="+url.QueryEscape(client),
		nil,
	)
}

// Session returns one session: by the id or name of its agent, its UUID, or a
// unique prefix of at least 8 characters. If the id does not identify one
// session, the error is a *StatusError with code 404 or 409.
func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	return answerOf[Session](ctx, c, "GET /sessions/"+segment(id), nil)
}

// Register registers an agent by name.
func (c *Client) Register(ctx context.Context, r Registration) (Session, error) {
	return answerOf[Session](ctx, c, "POST /sessions", r)
}

// Messages returns the messages of one agent, or of all if id is empty.
func (c *Client) Messages(ctx context.Context, id string) (Messages, error) {
	path := "/messages"
	if id != "" {
		path = "/sessions/" + segment(id) + path
	}
	return answerOf[Messages](ctx, c, "GET "+path, nil)
}

// Send queues a message for an agent. When it returns, the message is stored.
func (c *Client) Send(ctx context.Context, id string, m NewMessage) (Message, error) {
	return answerOf[Message](ctx, c, "POST /sessions/"+segment(id)+"/messages", m)
}

// Remind adds a reminder for an agent.
func (c *Client) Remind(ctx context.Context, id string, r NewReminder) (Reminder, error) {
	return answerOf[Reminder](ctx, c, "POST /sessions/"+segment(id)+"/reminders", r)
}

// Reminders returns the reminders of one agent, or of all if id is empty.
func (c *Client) Reminders(ctx context.Context, id string) (Reminders, error) {
	path := "/reminders"
	if id != "" {
		path = "/sessions/" + segment(id) + path
	}
	return answerOf[Reminders](ctx, c, "GET "+path, nil)
}

// CancelReminder cancels a reminder of an agent, or all of them for "all".
func (c *Client) CancelReminder(ctx context.Context, id, reminder string) (Reminders, error) {
	return answerOf[Reminders](
		ctx,
		c,
		"DELETE /sessions/"+segment(id)+"/reminders/"+segment(reminder),
		nil,
	)
}

// ResetReminders resets the timers of an agent's periodic reminders.
func (c *Client) ResetReminders(ctx context.Context, id string) (Reset, error) {
	return answerOf[Reset](
		ctx,
		c,
		"POST /sessions/"+segment(id)+"/reminders/reset",
		struct{}{},
	)
}

// segment escapes any id as one element of a path; dots alone would mean
// another path.
func segment(id string) string {
	if strings.Trim(id, ".") == "" {
		return strings.ReplaceAll(id, ".", "%2E")
	}
	return url.PathEscape(id)
}

// answerOf sends a request and returns the decoded answer.
func answerOf[T any](
	ctx context.Context,
	c *Client,
	route string,
	body any,
) (answer T, err error) {
	err = c.ask(ctx, route, body, &answer)
	return answer, err
}

// ask sends a request for a route, such as "GET /sessions", with a body unless
// that is nil. It decodes the answer as JSON, or copies it into a *[]byte.
func (c *Client) ask(ctx context.Context, route string, body, answer any) error {
	method, path, _ := strings.Cut(route, " ")
	var content io.Reader
	if body != nil {
		b, _ := json.Marshal(body) // texts and finite figures: it cannot fail
		content = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")

	resp, err := c.http.Do(req)
	if failed, is := errors.AsType[*url.Error](err); is { // as all errors of Do
		foreign, isForeign := errors.AsType[*ForeignError](err)
		switch {
		case failed.Timeout():
			return ErrSilent
		case isForeign:
			return foreign
		case errors.Is(err, ErrNoObserver):
			return ErrNoObserver
		}
		return fmt.Errorf("ask the observer: %w", failed.Err)
	}
	defer resp.Body.Close()
	content = io.LimitReader(resp.Body, answerBytes)
	if resp.StatusCode/100 != 2 {
		var e Error
		_ = json.NewDecoder(content).Decode(&e) // "" of what is no JSON
		text := cmp.Or(e.Error, "the observer answers "+resp.Status)
		return &StatusError{Code: resp.StatusCode, Text: text}
	}
	if resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if text, isText := answer.(*[]byte); isText {
		*text, err = io.ReadAll(content)
	} else {
		err = json.NewDecoder(content).Decode(answer)
	}
	if err != nil {
		return fmt.Errorf("read the observer's answer: %w", err)
	}
	return nil
}

// Page is where a browser finds the observer's page: the address holds once,
// for so many seconds.
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

// Metrics asks for the observer's metrics, in the text format of Prometheus.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) {
	return answerOf[[]byte](ctx, c, "GET /metrics", nil)
}
