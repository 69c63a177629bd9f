package access

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
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

// checkMethod is the first check, for known and unknown paths alike. On an
// unknown path it admits any method of any route on this kind of listener, so
// that the path looks like a route of the other kind.
func (g *gatekeeper) checkMethod(v *visit) *refusal {
	allowed := g.methods
	if v.endpoint != nil {
		allowed = slices.Sorted(maps.Keys(v.endpoint))
	}
	if slices.Contains(allowed, v.r.Method) {
		return nil
	}
	list := strings.Join(allowed, ", ")
	v.w.Header().Set("Allow", list)
	return &refusal{
		"method",
		http.StatusMethodNotAllowed,
		"method not allowed here; use " + list,
	}
}

// checkHost prevents DNS rebinding and access by 0.0.0.0 and other names of
// loopback: only listed names are admitted. A browser cannot connect to a Unix
// socket, so any name is admitted there.
func (g *gatekeeper) checkHost(v *visit) *refusal {
	// Only requests to a proxy have a host in the target.
	target := v.r.URL.IsAbs() || v.r.URL.Host != ""
	if !g.tcp || !target && g.knownHost(v.r) {
		return nil
	}
	return &refusal{
		"host",
		http.StatusMisdirectedRequest,
		"not a name of this server; use 127.0.0.1 with the port, or add the name to http.allowed_hosts",
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

// checkBrowser refuses the headers of requests that a browser sends on behalf
// of another site. Sec-Fetch-Mode alone does not identify a browser: Node's
// fetch sends it, too.
func (g *gatekeeper) checkBrowser(v *visit) *refusal {
	no := &refusal{
		"browser",
		http.StatusForbidden,
		"refused because of its browser headers; open this server's own address, or send no Origin, Referer or Sec-Fetch-Site",
	}
	h := v.r.Header
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-Request-") ||
			strings.HasPrefix(name, "Sec-Websocket-") {
			return no
		}
	}
	foreign := func(name string, ours func(string) bool) bool {
		values, present := h[name]
		// The socket has no origin, so any is foreign.
		return present && (!g.tcp || len(values) != 1 || !ours(values[0]))
	}
	origin := "http://" + v.r.Host
	if foreign("Origin", func(s string) bool { return s == origin }) ||
		foreign("Referer", func(s string) bool { return strings.HasPrefix(s+"/", origin+"/") }) ||
		foreign("Sec-Fetch-Site", func(s string) bool {
			// none is an address that the user typed, which is never a POST.
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
	return &refusal{"", http.StatusNotFound, text}
}

// checkPeer checks the proof that the route's tier requires: a bearer token, or the
// uid that the kernel reports for the peer. Root is admitted only if the observer
// runs as root. A pass replaces an unknown uid, and never a known one.
func (g *gatekeeper) checkPeer(v *visit) *refusal {
	if g.tcp && v.route.Tier == Token {
		return g.checkToken(v)
	}
	from, err := netip.ParseAddrPort(v.r.RemoteAddr)
	if g.tcp && v.route.Tier == AnyLocal && err == nil && from.Addr().Unmap().IsLoopback() {
		return nil
	}
	no := &refusal{reason: "peer", code: http.StatusForbidden}
	p := peerOf(v.r.Context())
	own := uint32(os.Geteuid())
	switch {
	case !p.known && g.tcp &&
		(v.route.Opens || v.route.Page && g.Passes.Admits(v.r, time.Now())):
		return nil
	case !p.known && g.tcp && v.route.Page:
		no.text = "cannot tell which user this connection belongs to; run sm open, or use the Unix socket"
	case !p.known:
		no.text = "cannot tell which user this connection belongs to; use the Unix socket"
	case p.uid == own, g.tcp &&
		v.route.Tier == AnyLocal, g.tcp &&
		slices.Contains(g.AllowedUIDs, p.uid):
		return nil
	default:
		no.text = fmt.Sprintf(
			"not open to uid %d; run as uid %d, or add yours to http.allowed_uids",
			p.uid,
			own,
		)
	}
	return no
}

// checkToken compares digests, so that the time taken reveals neither the
// content nor the length of the token.
func (g *gatekeeper) checkToken(v *visit) *refusal {
	if values := v.r.Header["Authorization"]; len(values) == 1 {
		scheme, given, _ := strings.Cut(values[0], " ")
		sum := sha256.Sum256([]byte(given))
		want := sha256.Sum256([]byte(g.Token))
		if strings.EqualFold(scheme, "Bearer") &&
			subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			return nil
		}
	}
	v.w.Header().Set("WWW-Authenticate", "Bearer")
	return &refusal{
		"token",
		http.StatusUnauthorized,
		"wrong or missing bearer token; send the one in http.webhook_token_file",
	}
}

// checkType admits only JSON to routes that change something: a page can send
// all other types without a preflight.
func (g *gatekeeper) checkType(v *visit) *refusal {
	if v.route.NoBody {
		return nil
	}
	switch v.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return nil
	}
	if values := v.r.Header["Content-Type"]; len(values) == 1 {
		if kind, _, err := mime.ParseMediaType(values[0]); err == nil &&
			kind == "application/json" {
			return nil
		}
	}
	return &refusal{
		"type",
		http.StatusUnsupportedMediaType,
		"not JSON; send Content-Type: application/json",
	}
}

// checkSize reads the whole body, so that the handler is only called with a
// complete body within the limit, also if the request has no Content-Length.
func (g *gatekeeper) checkSize(v *visit) *refusal {
	no := &refusal{
		"size",
		http.StatusRequestEntityTooLarge,
		fmt.Sprintf("body too large; send at most %d bytes", v.route.Body),
	}
	r := v.r
	if r.ContentLength > v.route.Body {
		return no
	}
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(v.w, r.Body, v.route.Body))
	_, tooLarge := errors.AsType[*http.MaxBytesError](err)
	switch {
	case tooLarge:
		return no
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{
			"",
			http.StatusRequestTimeout,
			"the body did not arrive in time; send it again",
		}
	case err != nil:
		return &refusal{
			"",
			http.StatusBadRequest,
			"the body could not be read; send it again",
		}
	}
	// Change a copy, as the server uses the original body when it ends the
	// request.
	r = r.WithContext(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	v.r = r
	return nil
}
