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

	"github.com/prometheus/common/model"

	"sm/observer/api"
	"sm/observer/curve"
	"sm/observer/httpclient"
)

const (
	// answerWithin limits the duration of all queries of one Look.
	answerWithin = 10 * time.Second
	// answerBytes limits one answer. The series of a session take about 8 KiB.
	answerBytes = 64 << 20
	// trendEvery is the interval of queries for trends, which cost most and
	// change least.
	trendEvery = 30 * time.Second
	// trendSpan is the time that trends cover, and trendStep the time between two
	// sizes.
	trendSpan, trendStep = 30 * time.Minute, time.Minute
)

// Options are the address of a server and how to reach it.
type Options struct {
	// URL is the address below which /api/v1/query is, http or https.
	URL string `yaml:"url" is:"url"`
	// HTTPConfig is a file in the format of Prometheus for its HTTP clients:
	// authorization, basic_auth, tls_config; "" for none. Files that it refers to
	// are read again when they change. Redirects are never followed, as a request
	// to another server would contain the token.
	HTTPConfig string `yaml:"http_config_file" is:"path"`
}

// Server is a central server. Its methods must not be called concurrently.
type Server struct {
	Name    string // the address without user, password and query
	address *url.URL
	client  *http.Client
	within  time.Duration // limits all queries of one Look

	trends map[key][]model.SamplePair
	asked  time.Time // of the last query for trends
}

// New returns a server without querying it.
func New(o Options) (*Server, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf(
			"%q is no address of a Prometheus server; give one such as http://127.0.0.1:9090",
			httpclient.Shown(o.URL),
		)
	}

	client, err := httpclient.New(o.HTTPConfig)
	if err != nil {
		return nil, err
	}

	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	return &Server{
		Name:    shown.String(),
		address: u,
		client:  client,
		within:  answerWithin,
	}, nil
}

// Close closes idle connections.
func (s *Server) Close() { s.client.CloseIdleConnections() }

// Fleet is all sessions of a server at one moment.
type Fleet struct {
	api.Sessions
	// Curves are the context sizes of the last half hour, a minute apart and the oldest
	// first, by the sessions' ids.
	Curves map[string]*curve.History
}

// Sessions returns the sessions of Look.
func (s *Server) Sessions(ctx context.Context) (api.Sessions, error) {
	f, err := s.Look(ctx)
	return f.Sessions, err
}

// Look queries the present sessions of all hosts, ordered by host and name. It
// makes two queries, and a third one every half minute.
func (s *Server) Look(ctx context.Context) (Fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, s.within)
	defer cancel()

	now := time.Now()
	at := []string{unix(now)}
	figures, err := s.query(ctx, "query", url.Values{"query": {figuresQuery}, "time": at})
	var targets []series
	if err == nil {
		targets, err = s.query(ctx, "query", url.Values{"query": {targetsQuery}, "time": at})
	}
	if err == nil {
		err = s.follow(ctx, now)
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return Fleet{}, ctx.Err()
	}
	if err != nil {
		return Fleet{}, fmt.Errorf("ask %s: %w", s.Name, httpclient.OneLine(err))
	}
	return fleetOf(figures, targets, s.trends), nil
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// follow updates the trends: the last sizes of all contexts, as shares of their
// windows.
func (s *Server) follow(ctx context.Context, now time.Time) error {
	if now.Sub(s.asked) < trendEvery {
		return nil
	}
	end := now.Truncate(trendStep) // so that the older steps do not move
	found, err := s.query(ctx, "query_range", url.Values{
		"query": {"agent_session_context_ratio"},
		"start": {unix(end.Add(trendStep - trendSpan))},
		"end":   {unix(end)},
		"step":  {trendStep.String()},
	})
	if err != nil {
		return err
	}

	s.trends = make(map[key][]model.SamplePair, len(found))
	for _, one := range found {
		s.trends[keyOf(one.Labels)] = one.Samples
	}
	s.asked = now
	return nil
}
