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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// gateCanary is what a handler knows and a refused request must not learn.
const gateCanary = "canary-4711"

// A plant is what the requests of a test try to reach.
type plant struct {
	changes  atomic.Int64
	lastBody atomic.Value
	rejects  sync.Map // reason → *atomic.Int64
}

func (p *plant) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	p.lastBody.Store(string(body))
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		p.changes.Add(1)
	}
	fmt.Fprintln(w, gateCanary, r.PathValue("id"))
}

func (p *plant) rejected(reason string) {
	n, _ := p.rejects.LoadOrStore(reason, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

func (p *plant) counts() map[string]int64 {
	counts := map[string]int64{}
	p.rejects.Range(func(k, v any) bool {
		counts[k.(string)] = v.(*atomic.Int64).Load()
		return true
	})
	return counts
}

func (p *plant) routes() []Route {
	return []Route{
		{Pattern: "/seat", Methods: []string{"GET"}, Tier: SameUID, Handler: p},
		{Pattern: "/seat", Methods: []string{"POST"}, Tier: SameUID, Handler: p},
		{Pattern: "/seat/{id}", Methods: []string{"GET"}, Tier: SameUID, Handler: p},
		{Pattern: "/open", Methods: []string{"GET"}, Tier: AnyLocal, Handler: p},
		{Pattern: "/alarm", Methods: []string{"POST"}, Tier: Token, Handler: p},
		{Pattern: "/hidden", Methods: []string{"POST", "DELETE"}, Handler: p},
		{Pattern: "/large", Methods: []string{"POST"}, Tier: SameUID, Body: 1 << 20, Handler: p},
		{Pattern: "/{$}", Methods: []string{"GET"}, Tier: SameUID, Handler: p},
	}
}

func (p *plant) options() Options {
	return Options{
		AllowedHosts: []string{"box.lan", "fixed.lan:99"},
		AllowedUIDs:  []uint32{allowedUID()},
		Token:        "s3cret",
		Rejected:     p.rejected,
	}
}

func ownUID() uint32      { return uint32(os.Geteuid()) }
func strangerUID() uint32 { return ownUID() + 1 }
func allowedUID() uint32  { return ownUID() + 2 }

// asUser makes every connection of a server one of uid, on any system.
func asUser(uid uint32) func(context.Context, net.Conn) context.Context {
	return func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, peerKey{}, &peer{user: func() (uint32, error) { return uid, nil }})
	}
}

func checkLeaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

// serveUntilEnd runs srv on l until the test ends.
func serveUntilEnd(t *testing.T, srv *http.Server, l net.Listener) {
	t.Helper()
	var wg sync.WaitGroup
	// net/http lingers half a second over a connection that it cuts short.
	srv.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			wg.Add(1)
		case http.StateClosed:
			wg.Done()
		}
	}
	wg.Go(func() { _ = srv.Serve(l) })
	t.Cleanup(func() {
		_ = srv.Close()
		wg.Wait()
	})
}

// serveTCP runs h as one of our servers; change may be nil.
func serveTCP(t *testing.T, h http.Handler, change func(*http.Server)) *net.TCPAddr {
	t.Helper()
	listeners, err := ListenTCP(t.Context(), []string{"127.0.0.1:0"}, nil, NewShares(nil), slog.New(slog.DiscardHandler))
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

// A rawClient sends requests byte by byte as told, over one connection while it lasts.
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

// TestGateOrder starts with a request that is wrong in every way and mends one
// thing at a time.
func TestGateOrder(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
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
	for _, mend := range []func(){
		func() {},
		func() { r["method"] = "POST" },
		func() { r["host"] = a.String() },
		func() { r["origin"] = "" },
		func() { uid.Store(ownUID()) },
		func() { r["type"] = "application/json" },
		func() { r["body"] = "{}" },
	} {
		mend()
		got = append(got, newRawClient(t, a).code(fmt.Sprintf("%s /seat HTTP/1.1\r\nHost: %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
			r["method"], r["host"], r["origin"], r["type"], len(r["body"]), r["body"])))
	}
	if diff := cmp.Diff([]int{405, 421, 403, 403, 415, 413, 200}, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	for reason := range p.counts() {
		if !slices.Contains(Reasons(), reason) {
			t.Errorf("counted %q, which is not a reason", reason)
		}
	}
	want := map[string]int64{"method": 1, "host": 1, "browser": 1, "peer": 1, "type": 1, "size": 1}
	if diff := cmp.Diff(want, p.counts()); diff != "" {
		t.Errorf("counted (-want +got):\n%s", diff)
	}
}

// TestGateTiers asks each tier on both doors as each kind of user.
func TestGateTiers(t *testing.T) {
	p := new(plant)
	socket, tcp := NewHandlers(p.routes(), p.options())
	unknown := strangerUID() + 7 // stands for a user that the system does not say
	ask := func(h http.Handler, method, path, remote string, uid uint32) int {
		r := httptest.NewRequest(method, path, strings.NewReader("{}"))
		r.Host, r.RemoteAddr = "127.0.0.1:8420", remote
		r.Header.Set("Content-Type", "application/json")
		ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{Port: 8420})
		if uid != unknown {
			ctx = asUser(uid)(ctx, nil)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(ctx))
		return w.Code
	}
	near, far := "127.0.0.1:5000", "192.0.2.7:5000"
	for _, tc := range []struct {
		path, method, remote string
		// as: our uid, a stranger, a configured uid, unknown
		socket, tcp [4]int
	}{
		{"/seat", "GET", near, [4]int{200, 403, 403, 403}, [4]int{200, 403, 200, 403}},
		{"/seat", "GET", far, [4]int{200, 403, 403, 403}, [4]int{200, 403, 200, 403}},
		{"/seat", "POST", near, [4]int{200, 403, 403, 403}, [4]int{200, 403, 200, 403}},
		{"/open", "GET", near, [4]int{200, 403, 403, 403}, [4]int{200, 200, 200, 200}},
		{"/open", "GET", "[::1]:5000", [4]int{200, 403, 403, 403}, [4]int{200, 200, 200, 200}},
		{"/open", "GET", "[::ffff:127.0.0.1]:5000", [4]int{200, 403, 403, 403}, [4]int{200, 200, 200, 200}},
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

// TestGateRaw holds what does not fit the tables: several hosts, none, targets
// that are not paths, paths that are not clean.
func TestGateRaw(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
	_, h := NewHandlers(p.routes(), p.options())
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	w, host := newRawClient(t, a), "Host: "+a.String()+"\r\n"
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
		// Told at once, not after waiting for what was announced.
		{"POST /seat HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nContent-Length: 999999999\r\n\r\n", 413},
		{"POST /seat HTTP/1.1\r\n" + host + "Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 65537\r\n\r\n", 413},
		{"GET /seat/x%2Fy HTTP/1.1\r\n" + host + "\r\n", 200},
		{"GET /seat HTTP/1.1\r\n" + host + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n", 200},
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
		t.Errorf("a hidden path is not like one that does not exist (-want +got):\n%s", diff)
	}
}

func TestGateToken(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
	_, h := NewHandlers(p.routes(), p.options())
	without := p.options()
	without.Token = ""
	_, none := NewHandlers(p.routes(), without)
	a, b := serveTCP(t, h, nil), serveTCP(t, none, nil)
	for _, tc := range []struct {
		auth             string
		with, notWithout int
	}{
		{"", 401, 404},
		{"Authorization: Bearer s3cret\r\n", 200, 404},
		{"Authorization: bearer s3cret\r\n", 200, 404},
		{"Authorization: Bearer s3cre\r\n", 401, 404},
		{"Authorization: Bearer s3cretx\r\n", 401, 404},
		{"Authorization: Bearer S3CRET\r\n", 401, 404},
		{"Authorization: Bearer\r\n", 401, 404},
		{"Authorization: Bearer \r\n", 401, 404},
		{"Authorization: Basic s3cret\r\n", 401, 404},
		{"Authorization: s3cret\r\n", 401, 404},
		{"Authorization: Bearer s3cret\r\nAuthorization: Bearer s3cret\r\n", 401, 404},
	} {
		for addr, want := range map[*net.TCPAddr]int{a: tc.with, b: tc.notWithout} {
			request := fmt.Sprintf("POST /alarm HTTP/1.1\r\nHost: %s\r\n%sContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", addr, tc.auth)
			if got := newRawClient(t, addr).code(request); got != want {
				t.Errorf("%q: %d, want %d", tc.auth, got, want)
			}
		}
	}
	if got := p.counts()["token"]; got != 9 {
		t.Errorf("counted %d wrong tokens, want 9", got)
	}
}

func TestGateSize(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
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
		{"POST", "/seat", 10 * defaultBodyBytes, 413},
		{"POST", "/large", 10 * defaultBodyBytes, 200},
		{"POST", "/large", 1<<20 + 1, 413},
		{"GET", "/seat", defaultBodyBytes + 1, 413},
	} {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s %d chunked=%v", tc.method, tc.path, tc.size, chunked), func(t *testing.T) {
				body := strings.Repeat("x", tc.size)
				framed := fmt.Sprintf("Content-Length: %d\r\n\r\n%s", tc.size, body)
				if chunked {
					framed = "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
					if tc.size > 0 {
						framed = fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", tc.size, body)
					}
				}
				p.lastBody.Store("untouched")
				w := newRawClient(t, a)
				resp, _ := w.send(tc.method, fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%s", tc.method, tc.path, a, framed))
				want := body
				if tc.want != 200 {
					want = "untouched"
				}
				if resp.StatusCode != tc.want || p.lastBody.Load() != want {
					t.Errorf("%d with %d bytes seen, want %d with %d", resp.StatusCode, len(p.lastBody.Load().(string)), tc.want, len(want))
				}
			})
		}
	}
}

// TestGateSocket: over the Unix socket every route is there for us, by any
// name, but still not for a browser that got there through a proxy.
func TestGateSocket(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
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
		request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: sm\r\n%sContent-Length: 0\r\n\r\n", tc.method, tc.path, tc.headers)
		if got := w.code(request); got != tc.want {
			t.Errorf("%q: %d, want %d", request, got, tc.want)
		}
	}
}
