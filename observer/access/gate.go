// Package access decides who may come in over HTTP: it opens the listeners, finds out whose process is at the other
// end of a connection, gives each user a share of the connections, and checks every request before its handler runs.
//
// Invariants: a route that names no tier is not on TCP; a refused request has not reached a handler, and nothing of its
// body was read unless all else was right; over TCP a route of the socket looks like a path that does not exist; on a
// system that does not tell who a peer is, only the Unix socket is open to our own uid, and the page to a browser with a pass.
//
// It knows routes as patterns with demands, and nothing of what they serve.
package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Tier says who may use a route over TCP. On the Unix socket every route is
// open to our own uid. The zero value is the narrowest one, so a route that
// forgets to name its tier is not on TCP at all.
type Tier uint8

const (
	SocketOnly Tier = iota
	SameUID         // a peer of our uid, or of one in http.allowed_uids
	AnyLocal        // any process of this machine
	Token           // a request with the bearer token
)

// defaultBodyBytes bounds a request body unless its route says otherwise.
const defaultBodyBytes = 64 << 10

// A Route is one handler with the policy in front of it. A GET route answers
// HEAD too, and must not change anything.
type Route struct {
	Pattern string   // path pattern of http.ServeMux, without method and host
	Methods []string // GET, POST, DELETE
	Tier    Tier
	Body    int64 // largest body in bytes; 0 is 64 KiB
	Stream  bool  // a long poll or an event stream: no write deadline
	Page    bool  // a pass stands in for a uid that the system does not tell
	Opens   bool  // so does nothing at all: the handler asks for a token of Passes
	Handler http.Handler
}

// Options is what the configuration says about who may come in.
type Options struct {
	AllowedHosts []string            // http.allowed_hosts; without a port, the listener's port fits too
	AllowedUIDs  []uint32            // http.allowed_uids
	Token        string              // empty: token routes do not exist on TCP
	Passes       *Passes             // of browsers; nil: there are none
	Rejected     func(reason string) // called for each refused request with one of Reasons; may be nil
	Logger       *slog.Logger        // may be nil
}

// The reasons for which a request is turned away, in the order of the checks.
const (
	rejectMethod  = "method"
	rejectHost    = "host"
	rejectBrowser = "browser"
	rejectPeer    = "peer"
	rejectToken   = "token"
	rejectType    = "type"
	rejectSize    = "size"
)

// Reasons is the closed set of reasons that Options.Rejected is called with.
func Reasons() []string {
	return []string{rejectMethod, rejectHost, rejectBrowser, rejectPeer, rejectToken, rejectType, rejectSize}
}

// NewHandlers puts the gate in front of routes: once for the Unix socket, where
// all of them are served, and once for TCP, where the others look exactly like
// paths that do not exist. Both need the connection context of NewServer.
func NewHandlers(routes []Route, o Options) (socket, tcp http.Handler) {
	if o.Rejected == nil {
		o.Rejected = func(string) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	onTCP := slices.DeleteFunc(slices.Clone(routes), func(r Route) bool {
		return r.Tier == SocketOnly || r.Tier == Token && o.Token == ""
	})
	return newGatekeeper(routes, o, false), newGatekeeper(onTCP, o, true)
}

// gatekeeper decides who may ask for what on one kind of listener.
type gatekeeper struct {
	Options
	tcp      bool
	uid      uint32
	tokenSum [sha256.Size]byte
	mux      *http.ServeMux
	methods  []string // what any route on this kind of listener answers to
}

// An endpoint is what stands behind one pattern: a route for each method.
type endpoint struct {
	byMethod map[string]*Route
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.byMethod[r.Method].Handler.ServeHTTP(w, r)
}

func newGatekeeper(routes []Route, o Options, tcp bool) *gatekeeper {
	g := &gatekeeper{
		Options: o, tcp: tcp, uid: uint32(os.Geteuid()),
		tokenSum: sha256.Sum256([]byte(o.Token)), mux: http.NewServeMux(),
	}
	endpoints, methods := map[string]*endpoint{}, map[string]bool{}
	for _, rt := range routes {
		if rt.Body == 0 {
			rt.Body = defaultBodyBytes
		}
		e := endpoints[rt.Pattern]
		if e == nil {
			e = &endpoint{byMethod: map[string]*Route{}}
			endpoints[rt.Pattern] = e
			g.mux.Handle(rt.Pattern, e)
		}
		names := slices.Clone(rt.Methods)
		if slices.Contains(names, http.MethodGet) {
			names = append(names, http.MethodHead)
		}
		for _, m := range names {
			if e.byMethod[m] != nil {
				panic("access: two routes for " + m + " " + rt.Pattern) // as the mux does for two patterns
			}
			e.byMethod[m], methods[m] = &rt, true
		}
	}
	g.methods = slices.Sorted(maps.Keys(methods))
	return g
}

// A visit is one request on its way through the checks.
type visit struct {
	w        http.ResponseWriter
	r        *http.Request
	endpoint *endpoint // nil: no such path
	route    *Route
}

// A refusal is the answer to a request that does not get through.
type refusal struct {
	reason     string // one of Reasons; empty when nothing is to be counted
	code       int
	text       string // ends with what to do
	key, value string // a header that the code asks for
}

func (g *gatekeeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.tcp {
		setSecurityHeaders(w.Header())
		if isStranger(peerOf(r.Context()).conn) {
			w.Header().Set("Connection", "close") // a connection that waits for more would take room in a share
		}
	}
	v := &visit{w: w, r: r}
	// The mux may have a redirect to a cleaned path instead; to us that is a path
	// that does not exist, so that nothing is said before the checks.
	h, _ := g.mux.Handler(r)
	if e, ok := h.(*endpoint); ok {
		v.endpoint, v.route = e, e.byMethod[r.Method]
	}
	// Cheapest first, and nothing of the body is read before all else is right.
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
		// The read deadline is gone by now: net/http lifts it after the body. An
		// error is a connection that is closed or a writer without deadlines.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	g.mux.ServeHTTP(w, v.r)
}

func (g *gatekeeper) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	if no.reason != "" {
		g.Rejected(no.reason)
		g.Logger.Debug("request refused", "reason", no.reason, "code", no.code, "method", r.Method, "path", r.URL.Path)
	}
	if no.key != "" {
		w.Header().Set(no.key, no.value)
	}
	if g.tcp {
		WriteRefusal(w, r, no.code, no.text)
		return
	}
	WriteError(w, no.code, no.text)
}

// setSecurityHeaders sets what every answer over TCP carries. There are no CORS headers,
// here or anywhere: no other origin has business with us.
func setSecurityHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// WriteError writes the body that every error has: one line of JSON whose
// text ends with what to do.
func WriteError(w http.ResponseWriter, code int, text string) {
	body, err := json.Marshal(struct {
		Error string `json:"error"`
	}{text})
	if err != nil {
		body = []byte(`{"error":"internal error; see the log"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A peer that is gone cannot be told anything.
	_, _ = w.Write(append(body, '\n'))
}

// checkMethod comes first, for known and unknown paths alike. An unknown path
// goes on with any method that some route of this kind of listener has, so that
// it looks like a route that only the other kind serves.
func (g *gatekeeper) checkMethod(v *visit) *refusal {
	allowed := g.methods
	if v.endpoint != nil {
		allowed = slices.Sorted(maps.Keys(v.endpoint.byMethod))
	}
	if slices.Contains(allowed, v.r.Method) {
		return nil
	}
	list := strings.Join(allowed, ", ")
	return &refusal{rejectMethod, http.StatusMethodNotAllowed, "method not allowed here; use " + list, "Allow", list}
}

// checkHost is the defence against DNS rebinding, and against 0.0.0.0 and the
// other names of loopback: a name is right because it is on the list. No browser
// reaches a Unix socket, so there any name will do.
func (g *gatekeeper) checkHost(v *visit) *refusal {
	// A target with a host of its own is meant for a proxy.
	target := v.r.URL.IsAbs() || v.r.URL.Host != ""
	if !g.tcp || !target && g.knownHost(v.r) {
		return nil
	}
	return &refusal{
		reason: rejectHost, code: http.StatusMisdirectedRequest,
		text: "not a name of this server; use 127.0.0.1 with the port, or add the name to http.allowed_hosts",
	}
}

func (g *gatekeeper) knownHost(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return false
	}
	port := strconv.Itoa(local.Port)
	switch r.Host {
	case "":
		return false
	case "127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port:
		return true
	}
	return slices.ContainsFunc(g.AllowedHosts, func(name string) bool {
		return name == r.Host || name+":"+port == r.Host
	})
}

// checkBrowser refuses what a browser adds to a request that another site made
// it send. Sec-Fetch-Mode alone says nothing: Node's fetch sends it too.
func (g *gatekeeper) checkBrowser(v *visit) *refusal {
	no := &refusal{
		reason: rejectBrowser, code: http.StatusForbidden,
		text: "refused because of its browser headers; open this server's own address, or send no Origin, Referer or Sec-Fetch-Site",
	}
	h := v.r.Header
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-Request-") || strings.HasPrefix(name, "Sec-Websocket-") {
			return no
		}
	}
	foreign := func(name string, ours func(string) bool) bool {
		values, present := h[name]
		// The socket has no origin that could be ours.
		return present && (!g.tcp || len(values) != 1 || !ours(values[0]))
	}
	origin := "http://" + v.r.Host
	if foreign("Origin", func(s string) bool { return s == origin }) ||
		foreign("Referer", func(s string) bool { return s == origin || strings.HasPrefix(s, origin+"/") }) ||
		foreign("Sec-Fetch-Site", func(s string) bool {
			// none is an address that the user typed; nobody types a POST.
			return s == "same-origin" || s == "none" && v.r.Method == http.MethodGet
		}) {
		return no
	}
	return nil
}

func (g *gatekeeper) checkPath(v *visit) *refusal {
	if v.route != nil {
		return nil
	}
	text := "no such path; check it against the README"
	if g.tcp {
		text = "no such path over TCP; check it against the README, or use the Unix socket"
	}
	return &refusal{code: http.StatusNotFound, text: text}
}

// checkPeer asks for the proof that the route's tier demands: a bearer token, or
// the uid that the kernel reports for the other end. Root is not one of us unless
// we are root. A pass stands in where the kernel reports none, and never for a uid
// that is known to be another.
func (g *gatekeeper) checkPeer(v *visit) *refusal {
	if g.tcp && v.route.Tier == Token {
		return g.checkToken(v)
	}
	if g.tcp && v.route.Tier == AnyLocal && fromLoopback(v.r.RemoteAddr) {
		return nil
	}
	no := &refusal{reason: rejectPeer, code: http.StatusForbidden}
	uid, err := peerOf(v.r.Context()).user()
	switch {
	case err != nil && g.tcp && (v.route.Opens || v.route.Page && g.Passes.Admits(v.r, time.Now())):
		return nil
	case err != nil && g.tcp && v.route.Page:
		no.text = "cannot tell which user this connection belongs to; run sm open, or use the Unix socket"
	case err != nil:
		g.Logger.Debug("peer unknown", "err", err)
		no.text = "cannot tell which user this connection belongs to; use the Unix socket"
	case uid == g.uid, g.tcp && v.route.Tier == AnyLocal, g.tcp && slices.Contains(g.AllowedUIDs, uid):
		return nil
	default:
		no.text = fmt.Sprintf("not open to uid %d; run as uid %d, or add yours to http.allowed_uids", uid, g.uid)
	}
	return no
}

// checkToken compares digests, so that neither the content nor the length of
// the token shows in the time it takes.
func (g *gatekeeper) checkToken(v *visit) *refusal {
	if values := v.r.Header["Authorization"]; len(values) == 1 {
		scheme, given, _ := strings.Cut(values[0], " ")
		sum := sha256.Sum256([]byte(given))
		if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], g.tokenSum[:]) == 1 {
			return nil
		}
	}
	return &refusal{
		rejectToken, http.StatusUnauthorized, "wrong or missing bearer token; send the one in http.webhook_token_file",
		"WWW-Authenticate", "Bearer",
	}
}

// checkType lets only JSON through to routes that change something: the types
// that a page can send without a preflight are all others.
func (g *gatekeeper) checkType(v *visit) *refusal {
	switch v.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return nil
	}
	if values := v.r.Header["Content-Type"]; len(values) == 1 {
		if kind, _, err := mime.ParseMediaType(values[0]); err == nil && kind == "application/json" {
			return nil
		}
	}
	return &refusal{
		reason: rejectType, code: http.StatusUnsupportedMediaType,
		text: "not JSON; send Content-Type: application/json",
	}
}

// checkSize reads the whole body. The handler then sees a complete one of a
// size that was agreed to, or is not called, also when no length was announced.
func (g *gatekeeper) checkSize(v *visit) *refusal {
	no := &refusal{
		reason: rejectSize, code: http.StatusRequestEntityTooLarge,
		text: fmt.Sprintf("body too large; send at most %d bytes", v.route.Body),
	}
	if v.r.ContentLength > v.route.Body {
		return no
	}
	if v.r.Body == nil || v.r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, v.route.Body))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return no
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &refusal{code: http.StatusRequestTimeout, text: "the body did not arrive in time; send it again"}
	}
	if err != nil {
		return &refusal{code: http.StatusBadRequest, text: "the body could not be read; send it again"}
	}
	// On a copy: the server looks at the body it made when it ends the request.
	v.r = v.r.WithContext(v.r.Context())
	v.r.Body = io.NopCloser(bytes.NewReader(body))
	v.r.ContentLength = int64(len(body))
	return nil
}

func fromLoopback(remote string) bool {
	a, err := netip.ParseAddrPort(remote)
	return err == nil && a.Addr().Unmap().IsLoopback()
}
