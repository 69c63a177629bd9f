package central

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sm/observer/api"
	"sm/observer/httpclient"
)

const (
	// answerWithin bounds all queries of one look.
	answerWithin = 10 * time.Second
	// answerBytes bounds one answer: the series of a session take some 8 KiB of it.
	answerBytes = 64 << 20
	// trendEvery is how old the trends may be: they are the dearest to ask for
	// and change least.
	trendEvery = 30 * time.Second
	// trendSpan is how far the trends go back, and trendStep how far apart
	// their sizes are.
	trendSpan, trendStep = 30 * time.Minute, time.Minute
)

// Options are the address of a server and how to reach it.
type Options struct {
	// URL is the address below which /api/v1/query is, http or https.
	URL string
	// HTTPConfig is a file as Prometheus has them for its HTTP clients:
	// authorization, basic_auth, tls_config; "" for none. What it refers to is
	// read again when it changes. Redirects are never followed, for they would
	// take the token along.
	HTTPConfig string
}

// Server is one central server. Its methods must not be called concurrently.
type Server struct {
	name    string // the address without what is secret
	address *url.URL
	client  *http.Client
	within  time.Duration // the time that it has for all queries of one look

	trends map[key][]Point
	asked  time.Time // for trends
}

// New prepares a server; nothing is asked yet.
func New(o Options) (*Server, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf(
			"%q is no address of a Prometheus server; give one such as http://127.0.0.1:9090",
			httpclient.Shown(o.URL),
		)
	}

	client, err := httpclient.New(o.HTTPConfig, answerBytes)
	if err != nil {
		return nil, err
	}

	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	return &Server{
		name:    shown.String(),
		address: u,
		client:  client,
		within:  answerWithin,
	}, nil
}

// Name is the server's address without user, password and query.
func (s *Server) Name() string { return s.name }

// Close closes connections that wait for another query.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Fleet is all sessions of a server at one moment.
type Fleet struct {
	api.Sessions
	// Curves are the context sizes of the last half hour as shares of the window, a minute
	// apart and the oldest first, by the sessions' ids.
	Curves map[string][]Point
}

// Sessions are those of all hosts, see Look.
func (s *Server) Sessions(ctx context.Context) (api.Sessions, error) {
	f, err := s.Look(ctx)
	return f.Sessions, err
}

// Look asks for the sessions of all hosts as the server has them now, by host
// and name. It makes two queries, and each half minute a third.
func (s *Server) Look(ctx context.Context) (Fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()

	now := time.Now()
	figures, err := s.instant(ctx, figuresQuery(), now)
	if err != nil {
		return Fleet{}, s.explain(ctx, err)
	}
	targets, err := s.instant(ctx, targetsQuery, now)
	if err != nil {
		return Fleet{}, s.explain(ctx, err)
	}
	trends, err := s.trendsOf(ctx, now)
	if err != nil {
		return Fleet{}, s.explain(ctx, err)
	}
	return fleetOf(figures, targets, trends), nil
}

func (s *Server) instant(ctx context.Context, query string, now time.Time) ([]series, error) {
	return s.query(ctx, "query", url.Values{"query": {query}, "time": {unix(now)}})
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// trendsOf returns the last sizes of all contexts, as shares of their windows.
func (s *Server) trendsOf(ctx context.Context, now time.Time) (map[key][]Point, error) {
	if now.Sub(s.asked) < trendEvery {
		return s.trends, nil
	}
	end := now.Truncate(trendStep) // so that older steps stay the same
	found, err := s.query(ctx, "query_range", url.Values{
		"query": {"agent_session_context_ratio"},
		"start": {unix(end.Add(trendStep - trendSpan))},
		"end":   {unix(end)},
		"step":  {trendStep.String()},
	})
	if err != nil {
		return nil, err
	}

	s.trends = make(map[key][]Point, len(found))
	for _, one := range found {
		s.trends[keyOf(one.Labels)] = one.Samples
	}
	s.asked = now
	return s.trends, nil
}

// explain describes an error and its remedy in one line.
func (s *Server) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, which the message begins with
	}
	text := httpclient.OneLine(err).Error()
	remedy := "see whether it runs and whether the address is right"
	refused, isRefused := errors.AsType[*refusal](err)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)

	switch {
	case tooLarge:
		text = fmt.Sprintf("its answer is larger than %d MiB", answerBytes>>20)
		remedy = "lower metrics.max_sessions on the machines"
	case errors.Is(err, context.DeadlineExceeded):
		text = "no answer in time"
		remedy = "see whether it is busy, and whether the address is right"
	case isRefused:
		remedy = refused.remedy
	}
	return fmt.Errorf("ask %s: %s; %s", s.name, text, remedy)
}
