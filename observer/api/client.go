package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"
)

// answerBytes bounds an answer: 10,000 sessions take some 10 MB.
const answerBytes = 256 << 20

// ErrNoObserver says that nothing answers on any of the sockets.
var ErrNoObserver = errors.New("no observer is running; start it with 'sm observe'")

// StatusError is an answer that is not a success, with the observer's own words.
type StatusError struct {
	Code int
	Text string
}

func (e *StatusError) Error() string { return e.Text }

// Client asks the observer over its Unix socket.
type Client struct {
	http http.Client
}

// NewClient makes a client that tries the sockets in turn, at each request.
func NewClient(sockets []string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var odd []error
		for _, path := range sockets {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
			if err == nil {
				return conn, nil
			}
			if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ECONNREFUSED) {
				odd = append(odd, err)
			}
		}
		if len(odd) == 0 {
			return nil, ErrNoObserver
		}
		return nil, errors.Join(odd...)
	}
	return &Client{http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: 30 * time.Second}}
}

// Sessions asks for all sessions, the newest activity first.
func (c *Client) Sessions(ctx context.Context) (Sessions, error) {
	var s Sessions
	err := c.get(ctx, "/sessions", &s)
	return s, err
}

// Session asks for one: by the id or name of its agent, its UUID, or a unique
// prefix of at least 8 characters. What is not one session is a *StatusError with
// code 404 or 409.
func (c *Client) Session(ctx context.Context, id string) (Session, error) {
	var s Session
	err := c.get(ctx, "/sessions/"+url.PathEscape(id), &s)
	return s, err
}

func (c *Client) get(ctx context.Context, path string, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+path, nil)
	if err != nil {
		return fmt.Errorf("ask the observer: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if errors.Is(err, ErrNoObserver) {
			return ErrNoObserver
		}
		return fmt.Errorf("ask the observer: %w", err)
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, answerBytes)
	if resp.StatusCode/100 != 2 {
		var e Error
		if json.NewDecoder(body).Decode(&e) != nil || e.Error == "" {
			e.Error = "the observer answers " + resp.Status
		}
		return &StatusError{Code: resp.StatusCode, Text: e.Error}
	}
	if err := json.NewDecoder(body).Decode(answer); err != nil {
		return fmt.Errorf("read the observer's answer: %w", err)
	}
	return nil
}
