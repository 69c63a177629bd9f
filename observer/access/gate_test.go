package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gateCanary is in the answers of handlers and must not be in a refusal.
const gateCanary = "canary-4711"

// recorder is the handler of all routes in a test.
type recorder struct {
	changes atomic.Int64
	body    atomic.Value // of the last request

	mu       sync.Mutex
	rejected map[string]int // by reason
}

func (p *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.body.Store(string(body))
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p.changes.Add(1)
	}
	fmt.Fprintln(w, gateCanary, r.PathValue("id"))
}

func (p *recorder) reject(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rejected[reason]++
}

// newGate returns a recorder and its handlers.
func newGate() (p *recorder, socket, tcp http.Handler) {
	p = &recorder{rejected: map[string]int{}}
	route := func(pattern string, tier Tier, method string) Route {
		return Route{
			Pattern: pattern,
			Method:  method,
			Tier:    tier,
			Handler: p,
		}
	}
	large := route("/large", SameUID, "POST")
	large.Body = 1 << 20
	routes := []Route{
		route("/seat", SameUID, "GET"),
		route("/seat", SameUID, "POST"),
		route("/seat/{id}", SameUID, "GET"),
		route("/open", AnyLocal, "GET"),
		route("/alarm", Token, "POST"),
		route("/hidden", SocketOnly, "POST"),
		route("/hidden", SocketOnly, "DELETE"),
		route("/{$}", SameUID, "GET"),
		large,
	}
	socket, tcp = NewHandlers(routes, Options{
		AllowedHosts: []string{"box.lan", "fixed.lan:99"},
		AllowedUIDs:  []uint32{allowedUID()},
		Token:        "s3cret",
		Passes:       &Passes{folder: "/folder/"},
		Rejected:     p.reject,
		Logger:       slog.New(slog.DiscardHandler),
	})
	return p, socket, tcp
}

// noRules returns options that allow nothing besides the routes.
func noRules() Options {
	return Options{
		Passes:   &Passes{folder: "/folder/"},
		Rejected: func(string) {},
		Logger:   slog.New(slog.DiscardHandler),
	}
}

func ownUID() uint32      { return uint32(os.Geteuid()) }
func strangerUID() uint32 { return ownUID() + 1 }
func allowedUID() uint32  { return ownUID() + 2 }

// asUser returns a ConnContext by which all connections belong to uid.
func asUser(uid uint32) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, peerKey{}, peer{uid: uid, known: true})
	}
}

// serveUntilEnd runs srv on l until the test ends.
func serveUntilEnd(t *testing.T, srv *http.Server, l net.Listener) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() {
		_ = srv.Close()
		wg.Wait()
	})
}

// serveTCP serves h as the observer does; change may be nil.
func serveTCP(t *testing.T, h http.Handler, change func(*http.Server)) net.Addr {
	t.Helper()
	l := listenTCP(t, NewShares(nil))
	srv := NewServer(h, slog.New(slog.DiscardHandler))
	if change != nil {
		change(srv)
	}
	serveUntilEnd(t, srv, l)
	return l.Addr()
}

// listenTCP returns a listener on any port of loopback.
func listenTCP(t *testing.T, s *Shares) net.Listener {
	t.Helper()
	all, err := listenAt(t, new(Passed), s, "127.0.0.1:0")
	noErrors(t, err)
	return all[0]
}

func listenAt(t *testing.T, p *Passed, s *Shares, addresses ...string) ([]net.Listener, error) {
	return ListenTCP(t.Context(), addresses, p, s, slog.New(slog.DiscardHandler))
}

// A rawClient sends requests unchanged, over one connection while it lasts.
type rawClient struct {
	t       *testing.T
	address net.Addr
	conn    net.Conn
	in      *bufio.Reader
}

func newRawClient(t *testing.T, a net.Addr) *rawClient {
	w := &rawClient{t: t, address: a}
	t.Cleanup(w.hangUp)
	return w
}

func (w *rawClient) hangUp() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// send sends a request in which " | " ends a line, " || " the headers, and HOST and PORT are
// those of the server.
func (w *rawClient) send(text string) (*http.Response, string) {
	w.t.Helper()
	if w.conn == nil {
		c, err := net.Dial(w.address.Network(), w.address.String())
		noErrors(w.t, err)
		w.conn = c
		w.in = bufio.NewReader(c)
	}
	if !strings.Contains(text, " || ") {
		text += " || "
	}
	_, port, _ := strings.Cut(w.address.String(), ":")
	request := strings.NewReplacer(
		" || ", "\r\n\r\n", " | ", "\r\n", "HOST", w.address.String(), "PORT", port,
		"JSON", "Content-Type: application/json", "LENGTH", "Content-Length",
	).Replace(text)
	method, _, _ := strings.Cut(request, " ")
	_ = w.conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, err := io.WriteString(w.conn, request)
	noErrors(w.t, err)
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("answer to %.200q: %v", text, err)
	}
	body, err := io.ReadAll(resp.Body)
	noErrors(w.t, err)
	if resp.Close {
		w.hangUp()
	}
	return resp, string(body)
}

// checkCodes sends the requests of a table, whose lines begin with the expected code, each
// over a new connection.
func checkCodes(t *testing.T, a net.Addr, table string) {
	t.Helper()
	w := newRawClient(t, a)
	for line := range strings.Lines(table) {
		code, request, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		if resp, _ := w.send(request); fmt.Sprint(resp.StatusCode) != code {
			t.Errorf("%.100q: got %d, want %s", request, resp.StatusCode, code)
		}
		w.hangUp()
	}
}

// TestGateOrder starts with a request that fails every check and corrects one fault
// at a time.
func TestGateOrder(t *testing.T) {
	t.Parallel()
	p, _, h := newGate()
	var uid atomic.Uint32
	uid.Store(strangerUID())
	a := serveTCP(t, h, func(s *http.Server) {
		s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
			return asUser(uid.Load())(
				ctx,
				c,
			)
		}
	})
	large := fmt.Sprintf(
		"%d || %s",
		defaultBodyBytes+1,
		strings.Repeat("x", defaultBodyBytes+1),
	)
	request := "PUT /seat HTTP/1.1 | Host: evil.com | Origin: http://evil.com | Content-Type: text/plain | LENGTH: " + large
	got := []string{}
	for _, correct := range [][2]string{
		{},
		{"PUT", "POST"},
		{"evil.com", "HOST"},
		{"Origin", "X"},
		{"uid"},
		{"text/plain", "application/json"},
		{large, "2 || {}"},
	} {
		request = strings.Replace(request, correct[0], correct[1], 1)
		if correct[0] == "uid" {
			uid.Store(ownUID())
		}
		resp, _ := newRawClient(t, a).send(request)
		got = append(got, fmt.Sprint(resp.StatusCode))
	}
	if diff := cmp.Diff("405 421 403 403 415 413 200", strings.Join(got, " ")); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	want := map[string]int{
		"method":  1,
		"host":    1,
		"browser": 1,
		"peer":    1,
		"type":    1,
		"size":    1,
	}
	if diff := cmp.Diff(want, p.rejected); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// TestGateTiers requests each tier on both kinds of listeners as each kind of user: the
// observer's, another, a configured one, and one that the system does not report.
func TestGateTiers(t *testing.T) {
	t.Parallel()
	_, socket, tcp := newGate()
	peers := []peer{{}}
	for _, uid := range []uint32{allowedUID(), strangerUID(), ownUID()} {
		peers = append([]peer{{uid: uid, known: true}}, peers...)
	}
	for line := range strings.Lines(`GET /seat 127.0.0.1: 200 403 403 403, 200 403 200 403
POST /seat 127.0.0.1: 200 403 403 403, 200 403 200 403
GET /open 127.0.0.1: 200 403 403 403, 200 200 200 200
GET /open [::1]: 200 403 403 403, 200 200 200 200
GET /open 192.0.2.7: 200 403 403 403, 200 200 200 403
POST /alarm 192.0.2.7: 200 403 403 403, 401 401 401 401
POST /hidden 127.0.0.1: 200 403 403 403, 404 404 404 404
DELETE /hidden 127.0.0.1: 200 403 403 403, 405 405 405 405
POST /nothing 127.0.0.1: 404 404 404 404, 404 404 404 404
`) {
		words := strings.Fields(line)
		got := strings.Join(words[:3], " ")
		for i, h := range []http.Handler{socket, tcp} {
			got += ","[:i]
			for _, p := range peers {
				header := http.Header{"Content-Type": {"application/json"}}
				got += fmt.Sprint(
					" ",
					askAs(h, words[0], words[1], words[2]+"5000", p, header),
				)
			}
		}
		if diff := cmp.Diff(strings.TrimSpace(line), got); diff != "" {
			t.Errorf("on the socket, over TCP (-want +got):\n%s", diff)
		}
	}
}

// TestGateRaw sends requests that no HTTP client sends: with several hosts or none, with
// targets that are not paths, and with paths that are not clean. A body announced as too
// large is refused at once.
func TestGateRaw(t *testing.T) {
	t.Parallel()
	_, _, h := newGate()
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	checkCodes(t, a, `400 GET /seat HTTP/1.1 | Host: HOST | Host: HOST
400 GET /seat HTTP/1.1
400 GET /seat HTTP/1.1 | Host: me@HOST
421 GET /seat HTTP/1.0
400 GET /seat HTTP/1.1 | Host: HOST | Origin : http://evil.com
403 GET /seat HTTP/1.1 | Host: HOST | Origin: http://HOST |  , http://evil.com
421 GET http://evil.com/seat HTTP/1.1 | Host: HOST
421 GET http://HOST/seat HTTP/1.1 | Host: evil.com
405 CONNECT HOST HTTP/1.1 | Host: HOST
405 OPTIONS * HTTP/1.1 | Host: HOST
405 TRACE /seat HTTP/1.1 | Host: HOST
404 GET //seat HTTP/1.1 | Host: HOST
404 GET //evil.com/seat HTTP/1.1 | Host: HOST
404 GET /a/../seat HTTP/1.1 | Host: HOST
404 GET /seat/ HTTP/1.1 | Host: HOST
421 GET //seat HTTP/1.1 | Host: evil.com
413 POST /seat HTTP/1.1 | Host: HOST | JSON | LENGTH: 999999999
413 POST /seat HTTP/1.1 | Host: HOST | JSON | Expect: 100-continue | LENGTH: 65537
200 GET /seat/x%2Fy HTTP/1.1 | Host: HOST
200 GET /seat HTTP/1.1 | Host: HOST | Connection: Upgrade, HTTP2-Settings | Upgrade: h2c | HTTP2-Settings: AA
431 GET /seat HTTP/1.1 | Host: HOST | X: `+strings.Repeat("x", 16<<10))

	w := newRawClient(t, a)
	_, hidden := w.send("POST /hidden HTTP/1.1 | Host: HOST | LENGTH: 0")
	_, nothing := w.send("POST /nothing HTTP/1.1 | Host: HOST | LENGTH: 0")
	if diff := cmp.Diff(nothing, hidden); diff != "" {
		t.Errorf("hidden path (-path that does not exist +got):\n%s", diff)
	}
}

func TestGateToken(t *testing.T) {
	t.Parallel()
	p, _, h := newGate()
	table := `401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0
200 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: Bearer s3cret
200 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: bearer s3cret
401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: Bearer s3cretx
401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: Bearer S3CRET
401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: Bearer` + " " + `
401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: Basic s3cret
401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: s3cret
401 POST /alarm HTTP/1.1 | Host: HOST | JSON | LENGTH: 0 | Authorization: Bearer s3cret | Authorization: Bearer s3cret
`
	checkCodes(t, serveTCP(t, h, nil), table)
	if got := p.rejected["token"]; got != 7 {
		t.Errorf("got %d wrong tokens, want 7", got)
	}
	_, none := NewHandlers([]Route{{
		Pattern: "/alarm",
		Method:  "POST",
		Tier:    Token,
		Handler: p,
	}}, noRules())
	checkCodes(
		t,
		serveTCP(t, none, nil),
		strings.NewReplacer("401 P", "405 P", "200 P", "405 P").Replace(table),
	)
}

func TestGateSize(t *testing.T) {
	t.Parallel()
	p, _, h := newGate()
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	for _, tc := range []struct {
		target string
		size   int
		want   int
	}{
		{"POST /seat", 0, 200},
		{"POST /seat", defaultBodyBytes, 200},
		{"POST /seat", defaultBodyBytes + 1, 413},
		{"POST /large", 10 * defaultBodyBytes, 200},
		{"GET /seat", defaultBodyBytes + 1, 413},
	} {
		body := strings.Repeat("x", tc.size)
		chunked := "Transfer-Encoding: chunked || 0\r\n\r\n"
		if tc.size > 0 {
			chunked = fmt.Sprintf(
				"Transfer-Encoding: chunked || %x\r\n%s\r\n0\r\n\r\n",
				tc.size,
				body,
			)
		}
		want := body
		if tc.want != 200 {
			want = "untouched"
		}
		for _, framed := range []string{
			fmt.Sprintf("LENGTH: %d || %s", tc.size, body),
			chunked,
		} {
			p.body.Store("untouched")
			resp, _ := newRawClient(
				t,
				a,
			).send(tc.target + " HTTP/1.1 | Host: HOST | JSON | " + framed)
			if got := p.body.Load().(string); resp.StatusCode != tc.want || got != want {
				t.Errorf(
					"%v, %.20q: %d with %d bytes read",
					tc,
					framed,
					resp.StatusCode,
					len(got),
				)
			}
		}
	}
}

// TestGateSocket tests that over the Unix socket every route is served to the observer's
// user, under any host name, but not to a browser through a proxy.
func TestGateSocket(t *testing.T) {
	t.Parallel()
	_, h, _ := newGate()
	l, err := ListenUnix(t.Context(), shortPath(t), new(Passed))
	noErrors(t, err)
	serveUntilEnd(t, NewServer(h, slog.New(slog.DiscardHandler)), l)
	checkCodes(t, l.Addr(), `200 GET /seat HTTP/1.1 | Host: sm
200 HEAD /seat HTTP/1.1 | Host: sm
200 GET /open HTTP/1.1 | Host: sm
200 POST /alarm HTTP/1.1 | Host: sm | JSON | LENGTH: 0
200 POST /hidden HTTP/1.1 | Host: sm | JSON | LENGTH: 0
415 POST /hidden HTTP/1.1 | Host: sm | LENGTH: 0
200 DELETE /hidden HTTP/1.1 | Host: sm
405 DELETE /seat HTTP/1.1 | Host: sm
404 GET /nothing HTTP/1.1 | Host: sm
403 POST /hidden HTTP/1.1 | Host: sm | JSON | LENGTH: 0 | Origin: http://sm
403 POST /hidden HTTP/1.1 | Host: sm | JSON | LENGTH: 0 | Referer: http://sm/
403 GET /seat HTTP/1.1 | Host: sm | Sec-Fetch-Site: none`)
}

// TestGateForeign tests that a request with a host of another site, with headers that a
// browser adds for another site, or of a type that a page can send without a preflight
// request, reaches no handler, and that no answer allows another origin to read it.
func TestGateForeign(t *testing.T) {
	t.Parallel()
	p, _, h := newGate()
	w := newRawClient(
		t,
		serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) }),
	)
	check := func(method, headers string, want int) {
		t.Helper()
		before := p.changes.Load()
		resp, body := w.send(method + " /seat HTTP/1.1 | LENGTH: 2 | " + headers + " || {}")
		if resp.StatusCode != want {
			t.Errorf("%s %q: got %d, want %d", method, headers, resp.StatusCode, want)
		}
		if changed := p.changes.Load() != before; changed != (want == 200 &&
			method == "POST") {
			t.Errorf("%s %q: changed something: %v", method, headers, changed)
		}
		if leaked := strings.Contains(
			body,
			gateCanary,
		); leaked != (want == 200 &&
			method != "HEAD") {
			t.Errorf("%s %q: body %q", method, headers, body)
		}
		checkAnswer(t, resp, body)
	}
	for _, method := range []string{"GET", "HEAD", "POST"} {
		for code, hosts := range map[int]string{
			200: "127.0.0.1:PORT localhost:PORT [::1]:PORT box.lan box.lan:PORT fixed.lan:99",
			421: "evil.com:PORT evil.com 127.0.0.1 localhost 127.0.0.1:1 127.0.0.1:0PORT 0.0.0.0:PORT [::]:PORT " +
				"[::ffff:127.0.0.1]:PORT [0:0:0:0:0:0:0:1]:PORT [::1%25lo]:PORT LOCALHOST:PORT localhost.:PORT " +
				"127.0.0.1.:PORT 127.1:PORT 2130706433:PORT 127.0.0.1:PORT,evil.com box.lan:99 fixed.lan " +
				"fixed.lan:PORT a.box.lan",
		} {
			for _, host := range strings.Fields(hosts) {
				check(method, "JSON | Host: "+host, code)
			}
		}
		check(method, "JSON | Host:", 421)
		for code, lines := range map[int]string{200: ownHeaders, 403: foreignHeaders} {
			for headers := range strings.Lines(lines) {
				check(method, "JSON | Host: HOST | "+strings.TrimSuffix(headers, "\n"), code)
			}
		}
	}
	check("GET", "Host: HOST | Sec-Fetch-Site: none", 200)
	check("POST", "JSON | Host: HOST | Sec-Fetch-Site: none", 403)
	for kind := range strings.Lines(`text/plain
text/plain; a=application/json
application/json, text/plain
application/jsonx
application/json; =
application/x-www-form-urlencoded
multipart/form-data; boundary=b
text/plain | JSON
`) {
		check("POST", "Host: HOST | Content-Type: "+strings.TrimSpace(kind), 415)
	}
	check("POST", "Host: HOST", 415)
	check("POST", "Host: HOST | Content-Type: application/json; charset=utf-8", 200)
	for _, method := range []string{"PUT", "DELETE", "OPTIONS", "get"} {
		check(method, "Host: evil.com", 405)
	}
}

// Headers of a browser on a page of the server, and on another page.
const (
	ownHeaders = `Sec-Fetch-Mode: cors
Sec-Fetch-Dest: empty
Origin: http://HOST
origin: http://HOST
Origin: http://HOST | Referer: http://HOST/x | Sec-Fetch-Site: same-origin
Referer: http://HOST
Referer: http://HOST/events?x=1
Sec-Fetch-Site: same-origin
`
	foreignHeaders = `Origin: null
Origin:
Origin: http://evil.com
Origin: http://localhost:3000
Origin: https://HOST
Origin: HTTP://HOST
Origin: http://HOST/
Origin: http://HOST.
Origin: http://me@HOST
Origin: http://HOST | Origin: http://HOST
Origin: http://HOST http://HOST
Origin: http://HOST | Sec-Fetch-Site: cross-site
Referer: http://evil.com/
Referer: http://HOST@evil.com/
Referer: http://HOST.evil.com/
Referer: http://HOST0/
Referer: about:blank
Sec-Fetch-Site: cross-site
Sec-Fetch-Site: same-site
Sec-Fetch-Site: Same-Origin
Sec-Fetch-Site: same-origin | Sec-Fetch-Site: none
Access-Control-Request-Method: POST
Access-Control-Request-Headers: content-type
Access-Control-Request-Private-Network: true
Connection: Upgrade | Upgrade: websocket | Sec-WebSocket-Version: 13 | Sec-WebSocket-Key: eA==
`
)

func checkAnswer(t *testing.T, resp *http.Response, body string) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("answer has %s", name)
		}
	}
	if resp.StatusCode != 200 && resp.Request.Method != "HEAD" &&
		(!strings.HasPrefix(body, `{"error":"`) || strings.Count(body, "\n") != 1 ||
			!strings.HasSuffix(body, "\n")) {
		t.Errorf("%d with body %q", resp.StatusCode, body)
	}
}
