package observer

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

// A tier says who may use a route over TCP. On the Unix socket every route is
// open to our own uid. The zero value is the narrowest one, so a route that
// forgets to name its tier is not on TCP at all.
type tier uint8

const (
	tierSocketOnly tier = iota
	tierSameUID         // a peer of our uid, or of one in http.allowed_uids
	tierAnyLocal        // any process of this machine
	tierToken           // whoever shows the bearer token
)

// defaultBodyBytes bounds a request body unless its route says otherwise.
const defaultBodyBytes = 64 << 10

// A route is one handler with the policy that stands in front of it. A GET
// route answers HEAD too, and must not change anything.
type route struct {
	pattern string   // path pattern of http.ServeMux, without method and host
	methods []string // GET, POST, DELETE
	tier    tier
	body    int64 // largest body in bytes; 0 is defaultBodyBytes
	stream  bool  // a long poll or an event stream: no write deadline
	handler http.Handler
}

// gatekeeperOptions is what the configuration says about who may come in.
type gatekeeperOptions struct {
	allowedHosts []string            // http.allowed_hosts; without a port, the listener's port fits too
	allowedUIDs  []uint32            // http.allowed_uids
	token        string              // empty: token routes do not exist on TCP
	rejected     func(reason string) // counts; called with one of rejectReasons; may be nil
	log          *slog.Logger        // may be nil
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

// rejectReasons is the closed set that gatekeeperOptions.rejected is called with.
func rejectReasons() []string {
	return []string{rejectMethod, rejectHost, rejectBrowser, rejectPeer, rejectToken, rejectType, rejectSize}
}

// newHandler puts the guard in front of routes: once for the Unix socket, where
// all of them are served, and once for TCP, where the others look exactly like
// paths that do not exist. Both need the connection context of newServer.
func newHandler(routes []route, o gatekeeperOptions) (socket, tcp http.Handler) {
	if o.rejected == nil {
		o.rejected = func(string) {}
	}
	if o.log == nil {
		o.log = slog.New(slog.DiscardHandler)
	}
	onTCP := slices.DeleteFunc(slices.Clone(routes), func(r route) bool {
		return r.tier == tierSocketOnly || r.tier == tierToken && o.token == ""
	})
	return newGatekeeper(routes, o, false), newGatekeeper(onTCP, o, true)
}

// gatekeeper decides who may ask for what on one kind of listener.
type gatekeeper struct {
	gatekeeperOptions
	tcp      bool
	uid      uint32
	tokenSum [sha256.Size]byte
	mux      *http.ServeMux
	methods  []string // what any route behind this door answers to
}

// An endpoint is what stands behind one pattern: a route for each method.
type endpoint struct {
	byMethod map[string]*route
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.byMethod[r.Method].handler.ServeHTTP(w, r)
}

func newGatekeeper(routes []route, o gatekeeperOptions, tcp bool) *gatekeeper {
	g := &gatekeeper{
		gatekeeperOptions: o, tcp: tcp, uid: uint32(os.Geteuid()),
		tokenSum: sha256.Sum256([]byte(o.token)), mux: http.NewServeMux(),
	}
	endpoints, methods := map[string]*endpoint{}, map[string]bool{}
	for _, rt := range routes {
		if rt.body == 0 {
			rt.body = defaultBodyBytes
		}
		e := endpoints[rt.pattern]
		if e == nil {
			e = &endpoint{byMethod: map[string]*route{}}
			endpoints[rt.pattern] = e
			g.mux.Handle(rt.pattern, e)
		}
		names := slices.Clone(rt.methods)
		if slices.Contains(names, http.MethodGet) {
			names = append(names, http.MethodHead)
		}
		for _, m := range names {
			if e.byMethod[m] != nil {
				panic("observer: two routes for " + m + " " + rt.pattern) // as the mux does for two patterns
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
	route    *route
}

// A refusal is the answer to a request that does not get through.
type refusal struct {
	reason     string // one of rejectReasons; empty when nothing is to be counted
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
	if v.route.stream {
		// The read deadline is gone by now: net/http lifts it after the body. An
		// error is a connection that is closed or a writer without deadlines.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	}
	g.mux.ServeHTTP(w, v.r)
}

func (g *gatekeeper) refuse(w http.ResponseWriter, r *http.Request, no *refusal) {
	if no.reason != "" {
		g.rejected(no.reason)
		g.log.Debug("request refused", "reason", no.reason, "code", no.code, "method", r.Method, "path", r.URL.Path)
	}
	if no.key != "" {
		w.Header().Set(no.key, no.value)
	}
	answerError(w, no.code, no.text)
}

// setSecurityHeaders sets what every answer over TCP carries. There are no CORS headers,
// here or anywhere: no other origin has business with us.
func setSecurityHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer")
}

// answerError writes the body that every error has: one line of JSON whose
// text ends with what to do.
func answerError(w http.ResponseWriter, code int, text string) {
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
// goes on with any method that some route behind this door has, so that it
// cannot be told from a route that is not on this door.
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
	return slices.ContainsFunc(g.allowedHosts, func(name string) bool {
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

// checkPeer asks the kernel who is on the other end. Root is not one of us
// unless we are root.
func (g *gatekeeper) checkPeer(v *visit) *refusal {
	if g.tcp && v.route.tier == tierToken {
		return g.checkToken(v)
	}
	if g.tcp && v.route.tier == tierAnyLocal && fromLoopback(v.r.RemoteAddr) {
		return nil
	}
	no := &refusal{reason: rejectPeer, code: http.StatusForbidden}
	uid, err := peerOf(v.r.Context()).user()
	switch {
	case err != nil:
		g.log.Debug("peer unknown", "err", err)
		no.text = "cannot tell which user this connection belongs to; use the Unix socket"
	case uid == g.uid, g.tcp && v.route.tier == tierAnyLocal, g.tcp && slices.Contains(g.allowedUIDs, uid):
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
		text: fmt.Sprintf("body too large; send at most %d bytes", v.route.body),
	}
	if v.r.ContentLength > v.route.body {
		return no
	}
	if v.r.Body == nil || v.r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, v.route.body))
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
