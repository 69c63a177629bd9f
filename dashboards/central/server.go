package central

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	promapi "github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"sm/observer/api"
	"sm/observer/httpclient"
)

const (
	// answerWithin bounds all queries of one look.
	answerWithin = 10 * time.Second
	// answerBytes bounds one answer: the series of a session take some 8 KiB of it.
	answerBytes = 64 << 20
	// trendEvery is how old the trends may be: they are the dearest to ask for and change least.
	trendEvery = 30 * time.Second
	// trendSpan and trendStep say how far the trends go back, and how far apart their sizes are.
	trendSpan, trendStep = 30 * time.Minute, time.Minute
)

// Options say where a server is.
type Options struct {
	// URL is the address below which /api/v1/query is, http or https.
	URL string
	// HTTPConfig is a file as Prometheus has them for its HTTP clients: authorization, basic_auth, tls_config; "" for none.
	// What it refers to is read again when it changes. Redirects are never followed, for they would take the token along.
	HTTPConfig string
}

// Server is one central server. It may be used by several at once.
type Server struct {
	name   string // its address without what is secret
	api    promv1.API
	within time.Duration // in which it has to answer all queries of one look
	idle   func()        // closes what is open

	mu     sync.Mutex
	trends map[key][]Point
	asked  time.Time // for trends
}

// New prepares a server; nothing is asked yet.
func New(o Options) (*Server, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no address of a Prometheus server; give one such as http://127.0.0.1:9090", httpclient.Shown(o.URL))
	}
	client, err := httpclient.New(o.HTTPConfig, answerBytes)
	if err != nil {
		return nil, err
	}
	c, err := promapi.NewClient(promapi.Config{Address: o.URL, Client: client})
	if err != nil {
		return nil, fmt.Errorf("%s: %w; give an address such as http://127.0.0.1:9090", u.Redacted(), err)
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimRight(u.Path, "/")}
	return &Server{name: shown.String(), api: promv1.NewAPI(c), within: answerWithin, idle: client.CloseIdleConnections}, nil
}

// Name is the server's address as people may see it: without user, password and query.
func (s *Server) Name() string { return s.name }

// Close closes connections that wait for another query.
func (s *Server) Close() { s.idle() }

// Fleet is what a server knows at one moment.
type Fleet struct {
	api.Sessions
	// Curves are the sizes of the last half hour, a minute apart and the oldest first, by the sessions' ids.
	Curves map[string][]Point
}

// Point is a context size at a time, as a share of the window.
type Point struct {
	At    time.Time
	Share float64
}

// Sessions are those of all hosts, see Look.
func (s *Server) Sessions(ctx context.Context) (api.Sessions, error) {
	f, err := s.Look(ctx)
	return f.Sessions, err
}

// Look asks for the sessions of all hosts as the server has them now, by host and name. It makes two queries, and each half
// minute a third.
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

func (s *Server) instant(ctx context.Context, query string, now time.Time) (model.Vector, error) {
	v, _, _, err := s.api.Query(ctx, query, now)
	if err != nil {
		return nil, err
	}
	vector, ok := v.(model.Vector)
	if !ok {
		return nil, &promv1.Error{Type: promv1.ErrBadResponse, Msg: "it answers a query with " + v.Type().String()}
	}
	return vector, nil
}

// trendsOf are the last sizes of all contexts, as shares of their windows.
func (s *Server) trendsOf(ctx context.Context, now time.Time) (map[key][]Point, error) {
	s.mu.Lock()
	trends, age := s.trends, now.Sub(s.asked)
	s.mu.Unlock()
	if age >= 0 && age < trendEvery {
		return trends, nil
	}
	end := now.Truncate(trendStep) // so that older steps stay the same
	v, _, _, err := s.api.QueryRange(ctx, "agent_session_context_ratio", promv1.Range{Start: end.Add(trendStep - trendSpan), End: end, Step: trendStep})
	if err != nil {
		return nil, err
	}
	matrix, ok := v.(model.Matrix)
	if !ok {
		return nil, &promv1.Error{Type: promv1.ErrBadResponse, Msg: "it answers a query with " + v.Type().String()}
	}
	trends = make(map[key][]Point, len(matrix))
	for _, series := range matrix {
		sizes := make([]Point, len(series.Values))
		for i, x := range series.Values {
			sizes[i] = Point{x.Timestamp.Time(), float64(x.Value)}
		}
		trends[keyOf(series.Metric)] = sizes
	}
	s.mu.Lock()
	s.trends, s.asked = trends, now
	s.mu.Unlock()
	return trends, nil
}

// explain says in one line what is wrong, and what to do.
func (s *Server) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err() // nobody waits any more
	}
	refused, isRefused := errors.AsType[*promv1.Error](err)
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err // without the address, which is said already
	}
	text, remedy := httpclient.OneLine(err).Error(), "see whether it runs and whether the address is right"
	switch {
	case tooLarge:
		text, remedy = fmt.Sprintf("its answer is larger than %d MiB", answerBytes>>20), "lower metrics.max_sessions on the machines"
	case errors.Is(err, context.DeadlineExceeded):
		text, remedy = "no answer in time", "see whether it is busy, and whether the address is right"
	case isRefused && refused.Type == promv1.ErrClient && (strings.HasSuffix(refused.Msg, " 401") || strings.HasSuffix(refused.Msg, " 403")):
		text, remedy = refused.Msg, "give it a token or password that it takes, in the file for its HTTP client"
	case isRefused && refused.Type == promv1.ErrBadResponse, isRefused && refused.Type == promv1.ErrClient:
		text, remedy = httpclient.OneLine(refused).Error(), "give the address below which it serves /api/v1/query"
	case isRefused:
		text, remedy = httpclient.OneLine(refused).Error(), "see its log"
	}
	return fmt.Errorf("ask %s: %s; %s", s.name, text, remedy)
}
