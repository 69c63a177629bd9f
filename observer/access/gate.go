// Package access controls HTTP access: it opens the listeners, identifies the
// process at the other end of a connection, gives each user a share of the
// connections, and checks every request before its handler runs.
//
// A route without a tier is not served over TCP. A refused request does not
// reach a handler, and its body is read only after all other checks. Over TCP a
// route of the socket looks like a path that does not exist. On a system that
// does not identify peers, only the Unix socket is open to the observer's uid,
// and the page to a browser with a pass.
package access

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// A Tier determines who may use a route over TCP. On the Unix socket every
// route is open to the observer's uid. The zero value is the most restrictive:
// such a route is not served over TCP.
type Tier uint8

// The tiers, the most restrictive first.
const (
	SocketOnly Tier = iota
	SameUID         // a peer of our uid, or of one in http.allowed_uids
	AnyLocal        // any process of this machine
	Token           // a request with the bearer token
)

// defaultBodyBytes limits a request body unless its route has another limit.
const defaultBodyBytes = 64 << 10

// A Route is a handler with its access rules. A GET route also serves HEAD, and
// must not change anything.
type Route struct {
	Pattern string // path pattern of http.ServeMux, without method and host
	Method  string // GET, POST, DELETE
	Tier    Tier
	Body    int64 // largest body in bytes; 0 is 64 KiB
	NoBody  bool  // the handler ignores the body: no Content-Type is required
	Stream  bool  // a long poll or an event stream: no write deadline
	Page    bool  // a pass replaces a uid that the system does not report
	Opens   bool  // an unknown uid needs no pass: the handler requires a token
	Handler http.Handler
}

// Options are the rules of access from the configuration.
type Options struct {
	AllowedHosts []string            // http.allowed_hosts; the port may be omitted
	AllowedUIDs  []uint32            // http.allowed_uids
	Token        string              // empty: token routes do not exist on TCP
	Passes       *Passes             // of browsers
	Rejected     func(reason string) // called for each refused request with one of Reasons
	Logger       *slog.Logger
}

// Reasons returns all reasons that Options.Rejected is called with, in the
// order of the checks.
func Reasons() []string {
	return []string{"method", "host", "browser", "peer", "token", "type", "size"}
}

// NewHandlers returns handlers that check access before they call routes: one
// for the Unix socket, which serves all routes, and one for TCP, where the
// other routes look exactly like paths that do not exist. Both need the
// connection context of NewServer.
func NewHandlers(routes []Route, o Options) (socket, tcp http.Handler) {
	onTCP := slices.DeleteFunc(slices.Clone(routes), func(r Route) bool {
		return r.Tier == SocketOnly || r.Tier == Token && o.Token == ""
	})
	return newGatekeeper(routes, o, false), newGatekeeper(onTCP, o, true)
}

// gatekeeper checks the requests on one kind of listener.
type gatekeeper struct {
	Options
	tcp     bool
	mux     *http.ServeMux
	methods []string // of all routes on this kind of listener
}

// An endpoint has the routes of one pattern, by method.
type endpoint map[string]*Route

func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e[r.Method].Handler.ServeHTTP(w, r)
}

func newGatekeeper(routes []Route, o Options, tcp bool) *gatekeeper {
	g := &gatekeeper{
		Options: o,
		tcp:     tcp,
		mux:     http.NewServeMux(),
	}
	endpoints := map[string]endpoint{}
	for _, rt := range routes {
		rt.Body = cmp.Or(rt.Body, defaultBodyBytes)
		e := endpoints[rt.Pattern]
		if e == nil {
			e = endpoint{}
			endpoints[rt.Pattern] = e
			g.mux.Handle(rt.Pattern, e)
		}
		methods := []string{rt.Method}
		if rt.Method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		for _, m := range methods {
			e[m] = &rt
		}
		g.methods = append(g.methods, methods...)
	}
	slices.Sort(g.methods)
	g.methods = slices.Compact(g.methods)
	return g
}

// A visit is one request during the checks.
type visit struct {
	w        http.ResponseWriter
	r        *http.Request
	endpoint endpoint // nil: no such path
	route    *Route
}

// A refusal is the answer to a request that fails a check.
type refusal struct {
	reason string // one of Reasons; empty if it is not counted
	code   int
	text   string // ends with advice
}

func (g *gatekeeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.tcp {
		r = g.Passes.unfold(r)
		// There are no CORS headers: no other origin needs access.
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
		h.Set("Referrer-Policy", "no-referrer")
		if peerOf(r.Context()).stranger {
			// An idle connection would occupy the share.
			h.Set("Connection", "close")
		}
	}
	v := &visit{w: w, r: r}
	// The mux may return a redirect to a cleaned path. Such a path counts as
	// missing, so that no answer precedes the checks.
	h, _ := g.mux.Handler(r)
	if e, ok := h.(endpoint); ok {
		v.endpoint = e
		v.route = e[r.Method]
	}
	// The cheapest first; the body is read last.
	checks := []func(*visit) *refusal{
		g.checkMethod, g.checkHost, g.checkBrowser, g.checkPath, g.checkPeer, g.checkType, g.checkSize,
	}
	for _, check := range checks {
		if no := check(v); no != nil {
			g.refuse(w, r, no)
			return
		}
	}
	if v.route.Stream {
		// net/http has lifted the read deadline after the body. An error means
		// that the connection is closed or the writer has no deadlines.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	g.mux.ServeHTTP(w, v.r)
}

func (g *gatekeeper) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	if no.reason != "" {
		g.Rejected(no.reason)
		g.Logger.Debug(
			"request refused",
			"reason", no.reason,
			"code", no.code,
			"method", r.Method,
			"path", r.URL.Path,
		)
	}
	WriteRefusal(w, r, no.code, no.text)
}

// WriteJSON writes a JSON body and a newline.
func WriteJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error means that the peer has disconnected; its message is offered again.
	_, _ = w.Write(append(body, '\n'))
}
