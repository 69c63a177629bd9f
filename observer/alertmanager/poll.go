package alertmanager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"sm/observer/httpclient"
)

const (
	// answerWithin bounds one request, answerBytes its answer: an alert takes about 1 KiB.
	answerWithin = 10 * time.Second
	answerBytes  = 16 << 20
)

// Options say which servers are asked, and for what.
type Options struct {
	// URLs are the addresses of the Alertmanagers of one cluster, below which /api/v2/alerts is; none for no asking.
	URLs []string
	// Interval is the time between two rounds.
	Interval time.Duration
	// Host is the value of the label host of this machine's alerts.
	Host string
	// HTTPConfig is a file as package httpclient takes it, "" for none.
	HTTPConfig string
}

// Check returns the error with which a Poller would refuse the options.
func (o *Options) Check() error {
	_, err := newRound(o)
	return err
}

// Failing asks each server once and returns the errors of those that give no list of alerts.
func (o *Options) Failing(ctx context.Context) (failures []error) {
	r, err := newRound(o)
	if err != nil {
		return []error{err}
	}
	defer r.close()
	_, errs := r.ask(ctx)
	for i, err := range errs {
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", r.servers[i].name, err))
		}
	}
	return failures
}

// Take passes alerts to the engine. It returns those of unknown agents, which are passed again later.
type Take func(ctx context.Context, list []Firing) (unknown []Firing, err error)

// Poller asks Alertmanagers for the alerts of this machine, again and again.
type Poller struct {
	log     *slog.Logger
	take    Take
	count   func(outcome string)
	changed chan struct{} // holds a sign

	mu   sync.Mutex
	next *round
}

// Outcomes are all that a Poller counts: a request has been answered, or has failed.
func Outcomes() []string { return []string{"answered", "failed"} }

// NewPoller returns a poller that polls after the first begin of Prepare. Count is called with one of Outcomes for each request.
func NewPoller(log *slog.Logger, take Take, count func(outcome string)) *Poller {
	return &Poller{
		log:     log,
		take:    take,
		count:   count,
		changed: make(chan struct{}, 1),
		next:    &round{},
	}
}

// Prepare reads what other options need. Once begin is called, the next round goes by them, at once.
func (p *Poller) Prepare(o Options) (begin func(), err error) {
	r, err := newRound(&o)
	if err != nil {
		return nil, err
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.next = r
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}, nil
}

// Run asks until ctx ends.
func (p *Poller) Run(ctx context.Context) {
	var timer <-chan time.Time
	r := &round{}
	defer func() { r.close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
			p.mu.Lock()
			next := p.next
			p.mu.Unlock()
			next.taken = r.taken // what has been said stays said
			r.close()
			r = next
		case <-timer:
		}
		timer = nil
		if len(r.servers) > 0 {
			p.ask(ctx, r)
			timer = time.After(r.interval)
		}
	}
}

// round is what is asked in one go, and what has come of it.
type round struct {
	servers  []*server
	interval time.Duration
	host     string
	client   *http.Client
	// taken are the alerts that the policy has, by fingerprint, with the time since when they fire; waiting those that it
	// has been offered in vain, which the log has.
	taken, waiting map[string]time.Time
}

// server is one Alertmanager.
type server struct {
	name  string // without what is secret
	query string
	fails bool
}

func newRound(o *Options) (*round, error) {
	r := &round{interval: cmp.Or(o.Interval, time.Minute), host: o.Host}
	if len(o.URLs) == 0 {
		return r, nil
	}
	if o.Host == "" {
		return nil, errors.New("alertmanager.host is empty, and this machine has no name; set it to the value of the label host")
	}
	for _, text := range o.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf(
				"alertmanager.urls: %q is no address of an Alertmanager; give one such as http://127.0.0.1:9093",
				httpclient.Shown(text),
			)
		}
		u = u.JoinPath("api/v2/alerts")
		name := url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.Path}
		if slices.ContainsFunc(
			r.servers,
			func(s *server) bool { return s.name == name.String() },
		) {
			return nil, fmt.Errorf(
				"alertmanager.urls: %s is asked already; remove one of the two",
				name.String(),
			)
		}
		u.RawQuery = url.Values{
			"active": {"true"}, "silenced": {"false"}, "inhibited": {"false"}, "unprocessed": {"false"},
			"filter": {
				matcher("host", "=", o.Host),
				matcher("session", "!=", ""),
				matcher("kind", "!=", ""),
			},
		}.Encode()
		r.servers = append(r.servers, &server{name: name.String(), query: u.String()})
	}
	var err error
	if r.client, err = httpclient.New(o.HTTPConfig, answerBytes); err != nil {
		return nil, fmt.Errorf("alertmanager.http_config_file: %w", err)
	}
	return r, nil
}

// matcher is one as Alertmanager reads it.
func matcher(label, operator, value string) string {
	return label + operator + `"` + strings.NewReplacer(
		`\`,
		`\\`,
		`"`,
		`\"`,
		"\n",
		`\n`,
	).Replace(value) + `"`
}

func (r *round) close() {
	if r.client != nil {
		r.client.CloseIdleConnections()
	}
}

// alert is the part of one that counts here, as /api/v2/alerts has it.
type alert struct {
	Fingerprint string            `json:"fingerprint"`
	Labels      map[string]string `json:"labels"`
	StartsAt    time.Time         `json:"startsAt"`
	Status      struct {
		State       string   `json:"state"` // active, suppressed, unprocessed
		SilencedBy  []string `json:"silencedBy"`
		InhibitedBy []string `json:"inhibitedBy"`
		MutedBy     []string `json:"mutedBy"` // time intervals; since 0.28
	} `json:"status"`
}

// fires reports whether the alert is of this host and not silenced. The servers are
// asked only for such alerts, but other implementations may ignore that.
func (a *alert) fires(host string) bool {
	s := &a.Status
	return s.State == "active" && len(s.SilencedBy)+len(s.InhibitedBy)+len(s.MutedBy) == 0 &&
		a.Labels["host"] == host
}

// sort finds the alerts that are new, and since when each alert fires, by fingerprint. What was taken and fires no more
// is forgotten.
func (r *round) sort(all []alert) (in Notification, fires map[string]time.Time) {
	found := map[string]time.Time{}
	fires = map[string]time.Time{}
	for _, a := range all {
		if _, twice := fires[a.Fingerprint]; twice || !a.fires(r.host) {
			continue
		}
		fires[a.Fingerprint] = a.StartsAt
		if at, known := r.taken[a.Fingerprint]; known && at.Equal(a.StartsAt) {
			found[a.Fingerprint] = at
			continue
		}
		in.Alerts = append(in.Alerts, Alert{
			Status:      "firing",
			Labels:      a.Labels,
			StartsAt:    a.StartsAt,
			Fingerprint: a.Fingerprint,
		})
	}
	r.taken = found
	return in, fires
}

// ask asks all servers at once, and hands on what is new.
func (p *Poller) ask(ctx context.Context, r *round) {
	answers, errs := r.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	answered := false
	for i, s := range r.servers {
		answered = p.note(s, errs[i]) || answered
	}
	if !answered {
		return // what fires is not known, so no alert is taken for ended
	}
	in, fires := r.sort(slices.Concat(answers...))
	list := Firings(&in, time.Now())
	if len(list) == 0 {
		return
	}
	unknown, err := p.take(ctx, list)
	if err != nil {
		p.log.Debug("alerts are not taken; they are asked for again", "err", err)
		return
	}
	waiting := map[string]time.Time{}
	var fresh []Firing
	for _, x := range unknown {
		waiting[x.Fingerprint] = fires[x.Fingerprint]
		if r.waiting[x.Fingerprint].IsZero() {
			fresh = append(fresh, x)
		}
	}
	r.waiting = waiting
	LogUnknown(p.log, fresh)
	for _, x := range list {
		if _, waits := waiting[x.Fingerprint]; !waits {
			r.taken[x.Fingerprint] = fires[x.Fingerprint]
		}
	}
}

// LogUnknown writes one line about alerts for sessions that do not exist, and none if
// there are none.
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

// note counts a request, and logs when a server begins to fail and when it answers
// again.
func (p *Poller) note(s *server, err error) (answered bool) {
	switch {
	case err != nil && !s.fails:
		p.log.Warn(
			"an Alertmanager does not answer; see alertmanager.urls",
			"server", s.name,
			"err", err,
		)
	case err == nil && s.fails:
		p.log.Info("the Alertmanager answers again", "server", s.name)
	}
	s.fails = err != nil
	outcome := "answered"
	if s.fails {
		outcome = "failed"
	}
	p.count(outcome)
	return err == nil
}

// ask asks all servers at once. An answer or an error is at the index of its server.
func (r *round) ask(ctx context.Context) (answers [][]alert, errs []error) {
	answers = make([][]alert, len(r.servers))
	errs = make([]error, len(r.servers))
	var all sync.WaitGroup
	for i, s := range r.servers {
		all.Go(func() { answers[i], errs[i] = r.get(ctx, s) })
	}
	all.Wait()
	return answers, errs
}

// get asks one server.
func (r *round) get(ctx context.Context, s *server) (list []alert, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.query, nil)
	if err != nil {
		return nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which may hold a password
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, fmt.Errorf("its answer is no list of alerts: %w", httpclient.OneLine(err))
	}
	return list, nil
}
