package alertmanager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"sm/observer/httpclient"
)

const (
	// answerWithin limits the time of one request, answerBytes the size of its
	// answer: an alert takes about 1 KiB.
	answerWithin = 10 * time.Second
	answerBytes  = 16 << 20
)

// Options are the servers to poll, and the alerts to request.
type Options struct {
	// URLs are the base addresses of the Alertmanagers of one cluster, without
	// /api/v2/alerts; empty for no polling.
	URLs []string `yaml:"urls" is:"url"`
	// Interval is the time between two rounds.
	Interval time.Duration `yaml:"interval" default:"30s" bounds:"5s.."`
	// Host is the value of the label host of this machine's alerts.
	Host string `yaml:"host" is:"label"`
	// HTTPConfig is a file for package httpclient, "" for none.
	HTTPConfig string `yaml:"http_config_file" is:"path"`
}

// Check returns the error with which a Poller would refuse the options.
func (o *Options) Check() error {
	_, err := newRound(o)
	return err
}

// Failing requests alerts from each server once and returns the errors.
func (o *Options) Failing(ctx context.Context) (failures []error) {
	r, err := newRound(o)
	if err != nil {
		return []error{err}
	}
	defer r.close()
	r.ask(ctx)
	for _, s := range r.servers {
		if s.err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", s.name, s.err))
		}
	}
	return failures
}

// Take passes alerts to the engine. It returns those of unknown agents, which
// are passed again later.
type Take func(ctx context.Context, list []Firing) (unknown []Firing, err error)

// Poller polls Alertmanagers for the alerts of this machine.
type Poller struct {
	log   *slog.Logger
	take  Take
	count func(failed bool)
	next  chan *round // holds the newest
	// taken has the alerts that the engine has received, by fingerprint, with
	// the time when they began to fire. unknown has the alerts of unknown
	// agents, which were logged.
	taken   map[string]time.Time
	unknown map[string]bool
}

// NewPoller returns a poller, which polls after the first begin of Prepare.
// count is called for each request.
func NewPoller(log *slog.Logger, take Take, count func(failed bool)) *Poller {
	return &Poller{
		log:   log,
		take:  take,
		count: count,
		next:  make(chan *round, 1),
		taken: map[string]time.Time{},
	}
}

// Prepare reads the files of new options. begin applies them and starts the
// next round at once. It must not be called concurrently.
func (p *Poller) Prepare(o Options) (begin func(), err error) {
	r, err := newRound(&o)
	if err != nil {
		return nil, err
	}
	return func() {
		select {
		case <-p.next:
		default:
		}
		p.next <- r
	}, nil
}

// Run polls until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	r := &round{}
	defer func() { r.close() }()
	for {
		var timer <-chan time.Time
		if len(r.servers) > 0 {
			p.ask(ctx, r)
			timer = time.After(cmp.Or(r.Interval, time.Minute))
		}
		select {
		case <-ctx.Done():
			return
		case next := <-p.next:
			r.close()
			r = next
		case <-timer:
		}
	}
}

// round has the servers of one configuration, which are polled together.
type round struct {
	Options
	servers []*server
	client  *http.Client
}

// server is one Alertmanager.
type server struct {
	name   string // without secrets
	query  string
	alerts []polled // the last answer
	err    error
	fails  bool // the last logged state
}

func newRound(o *Options) (*round, error) {
	r := &round{Options: *o}
	if len(o.URLs) == 0 {
		return r, nil
	}
	if o.Host == "" {
		return nil, errors.New("alertmanager.host is empty, and this machine has no name; set it to the value of the label host")
	}
	for _, text := range o.URLs {
		u, err := url.Parse(text)
		if err != nil { // the configuration has checked the address already
			return nil, errors.New("alertmanager.urls: no address of an Alertmanager")
		}
		u = u.JoinPath("api/v2/alerts")
		shown := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.Path}
		name := shown.String()
		if slices.ContainsFunc(r.servers, func(s *server) bool { return s.name == name }) {
			return nil, fmt.Errorf(
				"alertmanager.urls: %s is asked already; remove one of the two",
				name,
			)
		}
		u.RawQuery = url.Values{
			"active": {"true"}, "silenced": {"false"}, "inhibited": {"false"}, "unprocessed": {"false"},
			"filter": {
				fmt.Sprintf("host=%q", o.Host),
				`session!=""`,
				`kind!=""`,
			},
		}.Encode()
		r.servers = append(r.servers, &server{name: name, query: u.String()})
	}
	var err error
	if r.client, err = httpclient.New(o.HTTPConfig); err != nil {
		return nil, fmt.Errorf("alertmanager.http_config_file: %w", err)
	}
	return r, nil
}

func (r *round) close() {
	if r.client != nil {
		r.client.CloseIdleConnections()
	}
}

// polled is an alert in the answer of /api/v2/alerts.
type polled struct {
	Alert
	Status struct {
		State       string   `json:"state"` // active, suppressed, unprocessed
		SilencedBy  []string `json:"silencedBy"`
		InhibitedBy []string `json:"inhibitedBy"`
		MutedBy     []string `json:"mutedBy"` // time intervals; since 0.28
	} `json:"status"`
}

// fires reports whether the alert is of this host and not silenced. The request
// selects such alerts, but other implementations may ignore that.
func (a *polled) fires(host string) bool {
	s := &a.Status
	return s.State == "active" && len(s.SilencedBy)+len(s.InhibitedBy)+len(s.MutedBy) == 0 &&
		a.Labels["host"] == host
}

// ask polls all servers concurrently, and passes new alerts on.
func (p *Poller) ask(ctx context.Context, r *round) {
	r.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	began := map[string]time.Time{} // of the firing alerts, by fingerprint
	var list []Firing
	answered := false
	for _, s := range r.servers {
		failed := s.err != nil
		p.count(failed)
		switch {
		case failed == s.fails:
		case failed:
			p.log.Warn(
				"an Alertmanager does not answer; see alertmanager.urls",
				"server", s.name,
				"err", s.err,
			)
		default:
			p.log.Info("the Alertmanager answers again", "server", s.name)
		}
		s.fails = failed
		answered = answered || s.err == nil
		for _, a := range s.alerts {
			x, ours := a.firing(now)
			if _, twice := began[a.Fingerprint]; twice || !ours || !a.fires(r.Host) {
				continue
			}
			began[a.Fingerprint] = a.StartsAt
			if !p.taken[a.Fingerprint].Equal(a.StartsAt) {
				list = append(list, x)
			}
		}
	}
	if !answered {
		return // unknown alerts must not count as resolved
	}
	maps.DeleteFunc(p.taken, func(alert string, at time.Time) bool {
		return !began[alert].Equal(at)
	})
	if len(list) == 0 {
		return
	}
	unknown, err := p.take(ctx, list)
	if err != nil {
		p.log.Debug("alerts are not taken; they are asked for again", "err", err)
		return
	}
	logged := p.unknown
	p.unknown = map[string]bool{}
	for _, x := range unknown {
		p.unknown[x.Fingerprint] = true
	}
	LogUnknown(p.log, slices.DeleteFunc(unknown, func(x Firing) bool {
		return logged[x.Fingerprint]
	}))
	for _, x := range list {
		if !p.unknown[x.Fingerprint] {
			p.taken[x.Fingerprint] = began[x.Fingerprint]
		}
	}
}

// LogUnknown logs one line about alerts for unknown sessions, if there are any.
func LogUnknown(log *slog.Logger, list []Firing) {
	if len(list) > 0 {
		log.Warn(
			"alerts name unknown sessions",
			"count", len(list),
			"session", list[0].Session,
			"kind", list[0].Kind,
		)
	}
}

// ask polls all servers concurrently.
func (r *round) ask(ctx context.Context) {
	var all sync.WaitGroup
	for _, s := range r.servers {
		all.Go(func() { s.alerts, s.err = r.get(ctx, s.query) })
	}
	all.Wait()
}

// get polls one server.
func (r *round) get(ctx context.Context, query string) (list []polled, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	resp, body, err := httpclient.Get(ctx, r.client, query, answerBytes)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, fmt.Errorf("its answer is no list of alerts: %w", httpclient.OneLine(err))
	}
	return list, nil
}
