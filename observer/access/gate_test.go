package access

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// gateCanary is in the answers of handlers, and must not be in a refusal.
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
	if p.rejected == nil {
		p.rejected = map[string]int{}
	}
	p.rejected[reason]++
}

func (p *recorder) routes() []Route {
	return []Route{
		{
			Pattern: "/seat",
			Methods: []string{"GET"},
			Tier:    SameUID,
			Handler: p,
		},
		{
			Pattern: "/seat",
			Methods: []string{"POST"},
			Tier:    SameUID,
			Handler: p,
		},
		{
			Pattern: "/seat/{id}",
			Methods: []string{"GET"},
			Tier:    SameUID,
			Handler: p,
		},
		{
			Pattern: "/open",
			Methods: []string{"GET"},
			Tier:    AnyLocal,
			Handler: p,
		},
		{
			Pattern: "/alarm",
			Methods: []string{"POST"},
			Tier:    Token,
			Handler: p,
		},
		{Pattern: "/hidden", Methods: []string{"POST", "DELETE"}, Handler: p},
		{
			Pattern: "/large",
			Methods: []string{"POST"},
			Tier:    SameUID,
			Body:    1 << 20,
			Handler: p,
		},
		{
			Pattern: "/{$}",
			Methods: []string{"GET"},
			Tier:    SameUID,
			Handler: p,
		},
	}
}

func (p *recorder) options() Options {
	return Options{
		AllowedHosts: []string{"box.lan", "fixed.lan:99"},
		AllowedUIDs:  []uint32{allowedUID()},
		Token:        "s3cret",
		Rejected:     p.reject,
	}
}

func ownUID() uint32      { return uint32(os.Geteuid()) }
func strangerUID() uint32 { return ownUID() + 1 }
func allowedUID() uint32  { return ownUID() + 2 }

// asUser is a ConnContext by which all connections belong to uid.
func asUser(uid uint32) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, peerKey{}, &peer{uid: uid})
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

// serveTCP runs h as one of our servers; change may be nil.
func serveTCP(t *testing.T, h http.Handler, change func(*http.Server)) *net.TCPAddr {
	t.Helper()
	listeners, err := ListenTCP(
		t.Context(),
		[]string{"127.0.0.1:0"},
		nil,
		NewShares(nil),
		slog.New(slog.DiscardHandler),
	)
	if err != nil {
		t.Fatal(err)
	}
	srv := NewServer(h, slog.New(slog.DiscardHandler))
	if change != nil {
		change(srv)
	}
	serveUntilEnd(t, srv, listeners[0])
	return listeners[0].Addr().(*net.TCPAddr)
}

// A rawClient sends requests as they are, over one connection while it lasts.
type rawClient struct {
	t       *testing.T
	network string
	address string
	conn    net.Conn
	in      *bufio.Reader
}

func newRawClient(t *testing.T, a net.Addr) *rawClient {
	w := &rawClient{t: t, network: a.Network(), address: a.String()}
	t.Cleanup(w.hangUp)
	return w
}

func (w *rawClient) hangUp() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

func (w *rawClient) send(method, request string) (*http.Response, string) {
	w.t.Helper()
	if w.conn == nil {
		c, err := net.Dial(w.network, w.address)
		if err != nil {
			w.t.Fatal(err)
		}
		w.conn, w.in = c, bufio.NewReader(c)
	}
	_ = w.conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(w.conn, request); err != nil {
		w.t.Fatalf("send %q: %v", request, err)
	}
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("answer to %.200q: %v", request, err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("answer to %.200q: %v", request, err)
	}
	if resp.Close {
		w.hangUp()
	}
	return resp, string(body)
}

func (w *rawClient) code(request string) int {
	w.t.Helper()
	method, _, _ := strings.Cut(request, " ")
	resp, _ := w.send(method, request)
	return resp.StatusCode
}

// TestGateOrder starts with a request that fails every check and corrects one fault
// at a time.
func TestGateOrder(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	_, h := NewHandlers(p.routes(), p.options())
	var uid atomic.Uint32
	uid.Store(strangerUID())
	a := serveTCP(t, h, func(s *http.Server) {
		s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return asUser(uid.Load())(ctx, c) }
	})
	r := map[string]string{
		"method": "PUT", "host": "evil.com", "origin": "Origin: http://evil.com\r\n", "type": "text/plain",
		"body": strings.Repeat("x", defaultBodyBytes+1),
	}
	var got []int
	for _, correct := range []func(){
		func() {},
		func() { r["method"] = "POST" },
		func() { r["host"] = a.String() },
		func() { r["origin"] = "" },
		func() { uid.Store(ownUID()) },
		func() { r["type"] = "application/json" },
		func() { r["body"] = "{}" },
	} {
		correct()
		got = append(got, newRawClient(
			t,
			a,
		).code(fmt.Sprintf("%s /seat HTTP/1.1\r\nHost: %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			r["method"], r["host"], r["origin"], r["type"], len(r["body"]), r["body"])))
	}
	if diff := cmp.Diff([]int{405, 421, 403, 403, 415, 413, 200}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	want := map[string]int{"method": 1, "host": 1, "browser": 1, "peer": 1, "type": 1, "size": 1}
	if diff := cmp.Diff(want, p.rejected); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// TestGateTiers requests each tier on both kinds of listeners as each kind of user.
func TestGateTiers(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	socket, tcp := NewHandlers(p.routes(), p.options())
	unknown := strangerUID() + 7 // stands for a user that the system does not report
	ask := func(h http.Handler, method, path, remote string, uid uint32) int {
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Host = "127.0.0.1:8420"
		r.RemoteAddr = remote
		r.Header.Set("Content-Type", "application/json")
		ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{Port: 8420})
		if uid != unknown {
			ctx = asUser(uid)(ctx, nil)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(ctx))
		return w.Code
	}
	near := "127.0.0.1:5000"
	far := "192.0.2.7:5000"
	for _, tc := range []struct {
		path, method, remote string
		// as: our uid, a stranger, a configured uid, unknown
		socket, tcp [4]int
	}{
		{"/seat", "GET", near, [4]int{200, 403, 403, 403}, [4]int{200, 403, 200, 403}},
		{"/seat", "POST", near, [4]int{200, 403, 403, 403}, [4]int{200, 403, 200, 403}},
		{"/open", "GET", near, [4]int{200, 403, 403, 403}, [4]int{200, 200, 200, 200}},
		{"/open", "GET", "[::1]:5000", [4]int{200, 403, 403, 403}, [4]int{200, 200, 200, 200}},
		{"/open", "GET", far, [4]int{200, 403, 403, 403}, [4]int{200, 200, 200, 403}},
		{"/alarm", "POST", far, [4]int{200, 403, 403, 403}, [4]int{401, 401, 401, 401}},
		{"/hidden", "POST", near, [4]int{200, 403, 403, 403}, [4]int{404, 404, 404, 404}},
		{"/hidden", "DELETE", near, [4]int{200, 403, 403, 403}, [4]int{405, 405, 405, 405}},
		{"/nothing", "POST", near, [4]int{404, 404, 404, 404}, [4]int{404, 404, 404, 404}},
	} {
		t.Run(strings.Join([]string{tc.method, tc.path, tc.remote}, " "), func(t *testing.T) {
			var gotSocket, gotTCP [4]int
			for i, uid := range []uint32{ownUID(), strangerUID(), allowedUID(), unknown} {
				gotSocket[i] = ask(socket, tc.method, tc.path, tc.remote, uid)
				gotTCP[i] = ask(tcp, tc.method, tc.path, tc.remote, uid)
			}
			if diff := cmp.Diff(tc.socket, gotSocket); diff != "" {
				t.Errorf("socket (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.tcp, gotTCP); diff != "" {
				t.Errorf("TCP (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGateRaw has requests that no HTTP client sends: with several hosts or none, with
// targets that are not paths, and with paths that are not clean.
func TestGateRaw(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	_, h := NewHandlers(p.routes(), p.options())
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	w := newRawClient(t, a)
	host := "Host: " + a.String() + "\r\n"
	for _, tc := range []struct {
		request string
		want    int
	}{
		{"GET /seat HTTP/1.1\r\n" + host + host + "\r\n", 400},
		{"GET /seat HTTP/1.1\r\n\r\n", 400},
		{"GET /seat HTTP/1.1\r\nHost: me@" + a.String() + "\r\n\r\n", 400},
		{"GET /seat HTTP/1.0\r\n\r\n", 421},
		{"GET /seat HTTP/1.1\r\n" + host + "Origin : http://evil.com\r\n\r\n", 400},
		{"GET /seat HTTP/1.1\r\n" + host + "Origin: http://" + a.String() + "\r\n , http://evil.com\r\n\r\n", 403},
		{"GET http://evil.com/seat HTTP/1.1\r\n" + host + "\r\n", 421},
		{"GET http://" + a.String() + "/seat HTTP/1.1\r\nHost: evil.com\r\n\r\n", 421},
		{"CONNECT " + a.String() + " HTTP/1.1\r\n" + host + "\r\n", 405},
		{"OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 405},
		{"TRACE /seat HTTP/1.1\r\n" + host + "\r\n", 405},
		{"GET //seat HTTP/1.1\r\n" + host + "\r\n", 404},
		{"GET //evil.com/seat HTTP/1.1\r\n" + host + "\r\n", 404},
		{"GET /a/../seat HTTP/1.1\r\n" + host + "\r\n", 404},
		{"GET /seat/ HTTP/1.1\r\n" + host + "\r\n", 404},
		{"GET //seat HTTP/1.1\r\nHost: evil.com\r\n\r\n", 421},
		// Refused at once, not after waiting for the announced body.
		{"POST /seat HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n", 413},
		{
			"POST /seat HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n",
			413,
		},
		{"GET /seat/x%2Fy HTTP/1.1\r\n" + host + "\r\n", 200},
		{
			"GET /seat HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
			200,
		},
		{"GET /seat HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 16<<10) + "\r\n\r\n", 431},
	} {
		if got := w.code(tc.request); got != tc.want {
			t.Errorf("%.100q: %d, want %d", tc.request, got, tc.want)
		}
		w.hangUp()
	}
	_, hidden := w.send("POST", "POST /hidden HTTP/1.1\r\n"+host+"Content-Length: 0\r\n\r\n")
	_, nothing := w.send("POST", "POST /nothing HTTP/1.1\r\n"+host+"Content-Length: 0\r\n\r\n")
	if diff := cmp.Diff(nothing, hidden); diff != "" {
		t.Errorf("hidden path (-path that does not exist +got):\n%s", diff)
	}
}

func TestGateToken(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	_, h := NewHandlers(p.routes(), p.options())
	without := p.options()
	without.Token = ""
	_, none := NewHandlers(p.routes(), without)
	a := serveTCP(t, h, nil)
	b := serveTCP(t, none, nil)
	for auth, want := range map[string]int{
		"":                                  401,
		"Authorization: Bearer s3cret\r\n":  200,
		"Authorization: bearer s3cret\r\n":  200,
		"Authorization: Bearer s3cretx\r\n": 401,
		"Authorization: Bearer S3CRET\r\n":  401,
		"Authorization: Bearer \r\n":        401,
		"Authorization: Basic s3cret\r\n":   401,
		"Authorization: s3cret\r\n":         401,
		"Authorization: Bearer s3cret\r\nAuthorization: Bearer s3cret\r\n": 401,
	} {
		for addr, want := range map[*net.TCPAddr]int{a: want, b: 404} {
			request := fmt.Sprintf(
				"POST /alarm HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
				addr,
				auth,
			)
			if got := newRawClient(t, addr).code(request); got != want {
				t.Errorf("%q: %d, want %d", auth, got, want)
			}
		}
	}
	if got := p.rejected["token"]; got != 7 {
		t.Errorf("counted %d wrong tokens, want 7", got)
	}
}

func TestGateSize(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	_, h := NewHandlers(p.routes(), p.options())
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	for _, tc := range []struct {
		method, path string
		size         int
		want         int
	}{
		{"POST", "/seat", 0, 200},
		{"POST", "/seat", defaultBodyBytes, 200},
		{"POST", "/seat", defaultBodyBytes + 1, 413},
		{"POST", "/large", 10 * defaultBodyBytes, 200},
		{"GET", "/seat", defaultBodyBytes + 1, 413},
	} {
		body := strings.Repeat("x", tc.size)
		plain := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", tc.size, body)
		chunked := "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
		if tc.size > 0 {
			chunked = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", tc.size, body)
		}
		want := body
		if tc.want != 200 {
			want = "untouched"
		}
		for _, framed := range []string{plain, chunked} {
			p.body.Store("untouched")
			resp, _ := newRawClient(t, a).send(
				tc.method,
				fmt.Sprintf(
					"%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s",
					tc.method,
					tc.path,
					a,
					framed,
				),
			)
			if resp.StatusCode != tc.want || p.body.Load() != want {
				t.Errorf(
					"%s %s %d %.20q: %d with %d bytes read, want %d",
					tc.method,
					tc.path,
					tc.size,
					framed,
					resp.StatusCode,
					len(p.body.Load().(string)),
					tc.want,
				)
			}
		}
	}
}

// TestGateSocket: over the Unix socket every route is served to our uid, under any
// host name, but not to a browser that was forwarded by a proxy.
func TestGateSocket(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	h, _ := NewHandlers(p.routes(), p.options())
	l, err := ListenUnix(t.Context(), shortPath(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	serveUntilEnd(t, NewServer(h, slog.New(slog.DiscardHandler)), l)
	w := newRawClient(t, l.Addr())
	json := "Content-Type: application/json\r\n"
	for _, tc := range []struct {
		method, path, headers string
		want                  int
	}{
		{"GET", "/seat", "", 200},
		{"HEAD", "/seat", "", 200},
		{"GET", "/open", "", 200},
		{"POST", "/alarm", json, 200},
		{"POST", "/hidden", json, 200},
		{"POST", "/hidden", "", 415},
		{"DELETE", "/hidden", "", 200},
		{"DELETE", "/seat", "", 405},
		{"GET", "/nothing", "", 404},
		{"POST", "/hidden", json + "Origin: http://sm\r\n", 403},
		{"POST", "/hidden", json + "Referer: http://sm/\r\n", 403},
		{"GET", "/seat", "Sec-Fetch-Site: none\r\n", 403},
	} {
		request := fmt.Sprintf(
			"%s %s HTTP/1.1\r\nHost: sm\r\n%sContent-Length: 0\r\n\r\n",
			tc.method,
			tc.path,
			tc.headers,
		)
		if got := w.code(request); got != tc.want {
			t.Errorf("%q: %d, want %d", request, got, tc.want)
		}
	}
}
