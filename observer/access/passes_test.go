package access

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newPasses(t *testing.T, state string) *Passes {
	t.Helper()
	p, err := NewPasses(state)
	noErrors(t, err)
	return p
}

func withCookie(c *http.Cookie) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	if c != nil {
		r.AddCookie(c)
	}
	return r
}

func TestTokens(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	p := newPasses(t, t.TempDir())
	first := p.Issue(now)
	second := p.Issue(now)
	late := p.Issue(now)
	for _, try := range []struct {
		what, token string
		after       time.Duration
		want        bool
	}{
		{"made up", "guess", 0, false},
		{"none", "", 0, false},
		{"right", first, 59 * time.Second, true},
		{"used", first, 59 * time.Second, false},
		{"another", second, 0, true},
		{"too old", late, time.Minute, false},
		{"too old, again", late, 0, false},
	} {
		if _, ok := p.Redeem(try.token, now.Add(try.after)); ok != try.want {
			t.Errorf("a token that is %s: %t", try.what, ok)
		}
	}
	oldest := p.Issue(now)
	for range maxTokens {
		p.Issue(now)
	}
	if _, ok := p.Redeem(oldest, now); ok {
		t.Errorf("more than %d tokens are kept", maxTokens)
	}
}

func TestPass(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	state := t.TempDir()
	p := newPasses(t, state)
	cookie, ok := p.Redeem(p.Issue(now), now)
	if !ok {
		t.Fatal("no cookie")
	}
	want := http.Cookie{
		Name:     cookie.Name,
		Value:    cookie.Value,
		Path:     cookie.Path,
		MaxAge:   12 * 60 * 60,
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
	if diff := cmp.Diff(
		want.String(),
		cookie.String(),
	); diff != "" ||
		!strings.HasPrefix(cookie.Name, "sm-") {
		t.Errorf("(-want +got):\n%s", diff)
	}
	until, signature, _ := strings.Cut(cookie.Value, ".")
	longer := strconv.FormatInt(now.Add(24*time.Hour).Unix(), 10)
	other := newPasses(t, t.TempDir())
	foreign, _ := other.Redeem(other.Issue(now), now)
	named := *foreign
	named.Name = cookie.Name
	for name, c := range map[string]struct {
		cookie *http.Cookie
		by     *Passes
		after  time.Duration
		want   bool
	}{
		"right": {cookie, p, 0, true},
		"after a restart": {
			cookie,
			newPasses(t, state),
			12*time.Hour - time.Second,
			true,
		},
		"too old":                    {cookie, p, 12 * time.Hour, false},
		"none":                       {nil, p, 0, false},
		"of another state directory": {foreign, p, 0, false},
		"of another, called as ours": {&named, p, 0, false},
		"with a later date": {&http.Cookie{
			Name:  cookie.Name,
			Value: longer + "." + signature,
		}, p, 0, false},
		"with an empty signature": {&http.Cookie{
			Name:  cookie.Name,
			Value: until + ".",
		}, p, 0, false},
		"empty": {&http.Cookie{Name: cookie.Name}, p, 0, false},
	} {
		r := withCookie(c.cookie)
		if got := c.by.Admits(r, now.Add(c.after)); got != c.want {
			t.Errorf("a cookie that is %s: %t", name, got)
		}
	}
}

// TestPassFolder tests that a browser sends the cookie to the observer, and to no server on
// another port of the same host.
func TestPassFolder(t *testing.T) {
	t.Parallel()
	passes := newPasses(t, t.TempDir())
	cookie, _ := passes.Redeem(passes.Issue(time.Now()), time.Now())
	jar, err := cookiejar.New(nil)
	noErrors(t, err)
	parse := func(address string) *url.URL {
		u, err := url.Parse(address)
		noErrors(t, err)
		return u
	}
	jar.SetCookies(parse("http://127.0.0.1:8420/open"), []*http.Cookie{cookie})

	for address, want := range map[string]int{
		"http://127.0.0.1:9999/":                         0,
		"http://127.0.0.1:9999/events":                   0,
		"http://127.0.0.1:8420" + cookie.Path:            1,
		"http://127.0.0.1:8420" + cookie.Path + "events": 1,
	} {
		if got := len(jar.Cookies(parse(address))); got != want {
			t.Errorf("%s: got %d cookies, want %d", address, got, want)
		}
	}

	others := newPasses(t, t.TempDir())
	other, _ := others.Redeem(others.Issue(time.Now()), time.Now())
	if len(cookie.Path) < 32 || other.Path == cookie.Path {
		t.Errorf("folder %q can be guessed", cookie.Path)
	}
}

// TestPassKey tests that a key that others may know, or that is invalid, is not used.
func TestPassKey(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	path := filepath.Join(state, keyFile)
	cookieOf := func() string { return newPasses(t, state).cookie }
	first := cookieOf()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 ||
		cookieOf() != first {
		t.Fatalf("got %v, %v", info, err)
	}
	for name, spoil := range map[string]func() error{
		"readable by others": func() error { return os.Chmod(path, 0o644) },
		"cut off":            func() error { return os.Truncate(path, 5) },
		"a link": func() error {
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.Symlink(path+".old", path)
		},
	} {
		was := cookieOf()
		noErrors(t, spoil())
		if cookieOf() == was {
			t.Errorf("%s: it is still used", name)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: afterwards %v, %v", name, info, err)
		}
	}
}

// TestGatePass tests that if the peer's uid is unknown, a pass opens the page and nothing
// else, and that another user is refused also with a pass.
func TestGatePass(t *testing.T) {
	t.Parallel()
	passes := newPasses(t, t.TempDir())
	cookie, _ := passes.Redeem(passes.Issue(time.Now()), time.Now())
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	route := func(method, pattern string, tier Tier) Route {
		return Route{
			Pattern: pattern,
			Method:  method,
			Tier:    tier,
			Handler: ok,
		}
	}
	routes := []Route{
		route("GET", "/{$}", SameUID),
		route("GET", "/open", SameUID),
		route("POST", "/open", SocketOnly),
		route("GET", "/sessions", SameUID),
		route("GET", "/metrics", AnyLocal),
	}
	routes[0].Page = true
	routes[1].Opens = true
	rules := noRules()
	rules.Passes = passes
	socket, tcp := NewHandlers(routes, rules)
	pass := cookie.Name + "=" + cookie.Value

	// The columns: the page, the page in the cookie's folder, GET and POST /open,
	// /sessions, /sessions in the folder, /metrics.
	for line := range strings.Lines(`tcp unknown -      403 403 200 405 403 403 200
tcp unknown cookie 200 200 200 405 403 403 200
tcp ours -      200 200 200 405 200 200 200
tcp ours cookie 200 200 200 405 200 200 200
tcp foreign -      403 403 403 405 403 403 200
tcp foreign cookie 403 403 403 405 403 403 200
socket unknown cookie 403 404 403 403 403 404 403
socket ours -      200 404 200 200 200 404 200
socket foreign cookie 403 404 403 403 403 404 403
`) {
		words := strings.Fields(line)
		h := map[string]http.Handler{"tcp": tcp, "socket": socket}[words[0]]
		p := map[string]peer{
			"unknown": {},
			"ours":    {uid: ownUID(), known: true},
			"foreign": {uid: strangerUID(), known: true},
		}[words[1]]
		header := http.Header{"Content-Type": {"application/json"}}
		if words[2] == "cookie" {
			header.Set("Cookie", pass)
		}
		got := words[:3:3]
		for _, path := range []string{
			"/",
			cookie.Path,
			"/open",
			"POST",
			"/sessions",
			cookie.Path + "sessions",
			"/metrics",
		} {
			method := "GET"
			if path == "POST" {
				method = path
				path = "/open"
			}
			got = append(got, fmt.Sprint(askAs(h, method, path, "127.0.0.1:999", p, header)))
		}
		if diff := cmp.Diff(words, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}

	foreign := http.Header{"Cookie": {pass}, "Origin": {"http://evil.com"}}
	if got := askAs(tcp, "GET", "/", "127.0.0.1:999", peer{}, foreign); got != http.StatusForbidden {
		t.Errorf("page with a pass from another site: %d", got)
	}
}

// askAs requests a path as a peer and returns the code of the answer.
func askAs(h http.Handler, method, path, remote string, p peer, header http.Header) int {
	r := httptest.NewRequest(method, path, strings.NewReader("{}"))
	r.Host = "127.0.0.1:8420"
	r.RemoteAddr = remote
	r.Header = header
	ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{Port: 8420})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(context.WithValue(ctx, peerKey{}, p)))
	return w.Code
}
