package access

import (
	"context"
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
	if err != nil {
		t.Fatal(err)
	}
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
	first, second := p.Issue(now), p.Issue(now)
	late := p.Issue(now)
	for _, try := range []struct {
		what, token string
		after       time.Duration
		want        bool
	}{
		{"of nobody", "guess", 0, false},
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
		t.Errorf("more than %d tokens wait", maxTokens)
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
	want := http.Cookie{Name: cookie.Name, Value: cookie.Value, Path: cookie.Path, MaxAge: 12 * 60 * 60, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if diff := cmp.Diff(want.String(), cookie.String()); diff != "" || !strings.HasPrefix(cookie.Name, "sm-") {
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
		"right":                          {cookie, p, 0, true},
		"after a restart":                {cookie, newPasses(t, state), 12*time.Hour - time.Second, true},
		"too old":                        {cookie, p, 12 * time.Hour, false},
		"none":                           {nil, p, 0, false},
		"of another state directory":     {foreign, p, 0, false},
		"of another, called as ours":     {&named, p, 0, false},
		"with a later date":              {&http.Cookie{Name: cookie.Name, Value: longer + "." + signature}, p, 0, false},
		"without a signature":            {&http.Cookie{Name: cookie.Name, Value: until}, p, 0, false},
		"with an empty signature":        {&http.Cookie{Name: cookie.Name, Value: until + "."}, p, 0, false},
		"empty":                          {&http.Cookie{Name: cookie.Name}, p, 0, false},
		"where there are no passes":      {cookie, nil, 0, false},
		"beside another of the name":     {cookie, p, 0, true},
		"in the place of another's name": {&http.Cookie{Name: "sm", Value: cookie.Value}, p, 0, false},
	} {
		r := withCookie(c.cookie)
		if name == "beside another of the name" {
			r = withCookie(&http.Cookie{Name: cookie.Name, Value: "x.y"})
			r.AddCookie(cookie)
		}
		if got := c.by.Admits(r, now.Add(c.after)); got != c.want {
			t.Errorf("a cookie that is %s: %t", name, got)
		}
	}
}

// TestPassFolder: a browser sends the cookie to the observer, and to no server
// that listens on another port of the same host.
func TestPassFolder(t *testing.T) {
	t.Parallel()
	passes := newPasses(t, t.TempDir())
	cookie, _ := passes.Redeem(passes.Issue(time.Now()), time.Now())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(address string) *url.URL {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	jar.SetCookies(parse("http://127.0.0.1:8420/open"), []*http.Cookie{cookie})

	sent := map[string]int{}
	for _, address := range []string{
		"http://127.0.0.1:9999/",
		"http://127.0.0.1:9999/events",
		"http://127.0.0.1:8420" + cookie.Path,
		"http://127.0.0.1:8420" + cookie.Path + "events",
	} {
		sent[address] = len(jar.Cookies(parse(address)))
	}
	want := map[string]int{
		"http://127.0.0.1:9999/":                         0,
		"http://127.0.0.1:9999/events":                   0,
		"http://127.0.0.1:8420" + cookie.Path:            1,
		"http://127.0.0.1:8420" + cookie.Path + "events": 1,
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("cookies sent (-want +got):\n%s", diff)
	}

	others := newPasses(t, t.TempDir())
	other, _ := others.Redeem(others.Issue(time.Now()), time.Now())
	if len(cookie.Path) < 32 || other.Path == cookie.Path {
		t.Errorf("the folder %q can be guessed", cookie.Path)
	}
}

// TestPassKey: a key that others could know, or that is none, is not used.
func TestPassKey(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	path := filepath.Join(state, keyFile)
	cookieOf := func() string { return newPasses(t, state).cookie }
	first := cookieOf()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || cookieOf() != first {
		t.Fatalf("%v, %v", info, err)
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
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if cookieOf() == was {
			t.Errorf("%s: it is still used", name)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: afterwards %v, %v", name, info, err)
		}
	}
}

// TestGatePass: where the system does not tell who asks, a pass opens the page and its events, and nothing else; a uid
// that is known to be another's is refused with it, too.
func TestGatePass(t *testing.T) {
	t.Parallel()
	passes := newPasses(t, t.TempDir())
	cookie, _ := passes.Redeem(passes.Issue(time.Now()), time.Now())
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	get := []string{http.MethodGet}
	socket, tcp := NewHandlers([]Route{
		{Pattern: "/{$}", Methods: get, Tier: SameUID, Page: true, Handler: ok},
		{Pattern: "/open", Methods: get, Tier: SameUID, Opens: true, Handler: ok},
		{Pattern: "/open", Methods: []string{http.MethodPost}, Handler: ok},
		{Pattern: "/sessions", Methods: get, Tier: SameUID, Handler: ok},
		{Pattern: "/metrics", Methods: get, Tier: AnyLocal, Handler: ok},
	}, Options{Passes: passes})
	own := uint32(os.Geteuid())
	peers := map[string]func() (uint32, error){
		"unknown": func() (uint32, error) { return 0, errPeerUnknown },
		"ours":    func() (uint32, error) { return own, nil },
		"foreign": func() (uint32, error) { return own + 1, nil },
	}
	type answer struct{ Page, Folder, Open, Mint, Sessions, Inner, Metrics int }
	all := map[string]answer{}
	for peerName, user := range peers {
		for _, with := range []string{"no cookie", "cookie"} {
			for listener, h := range map[string]http.Handler{"tcp": tcp, "socket": socket} {
				do := func(method, path string) int {
					r := httptest.NewRequest(method, "http://127.0.0.1:8420"+path, nil)
					r.URL.Host, r.URL.Scheme, r.RemoteAddr = "", "", "127.0.0.1:999"
					r.Header.Set("Sec-Fetch-Site", "none")
					if method == http.MethodPost || listener == "socket" {
						r.Header.Del("Sec-Fetch-Site")
						r.Header.Set("Content-Type", "application/json")
					}
					if with == "cookie" {
						r.AddCookie(cookie)
					}
					ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420})
					ctx = context.WithValue(ctx, peerKey{}, &peer{user: user})
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r.WithContext(ctx))
					return w.Code
				}
				all[listener+", peer "+peerName+", "+with] = answer{
					Page:     do("GET", "/"),
					Folder:   do("GET", cookie.Path),
					Open:     do("GET", "/open"),
					Mint:     do("POST", "/open"),
					Sessions: do("GET", "/sessions"),
					Inner:    do("GET", cookie.Path+"sessions"),
					Metrics:  do("GET", "/metrics"),
				}
			}
		}
	}
	want := map[string]answer{
		"tcp, peer unknown, no cookie":    {403, 403, 200, 405, 403, 403, 200},
		"tcp, peer unknown, cookie":       {200, 200, 200, 405, 403, 403, 200},
		"tcp, peer ours, no cookie":       {200, 200, 200, 405, 200, 200, 200},
		"tcp, peer ours, cookie":          {200, 200, 200, 405, 200, 200, 200},
		"tcp, peer foreign, no cookie":    {403, 403, 403, 405, 403, 403, 200},
		"tcp, peer foreign, cookie":       {403, 403, 403, 405, 403, 403, 200},
		"socket, peer unknown, no cookie": {403, 404, 403, 403, 403, 404, 403},
		"socket, peer unknown, cookie":    {403, 404, 403, 403, 403, 404, 403},
		"socket, peer ours, no cookie":    {200, 404, 200, 200, 200, 404, 200},
		"socket, peer ours, cookie":       {200, 404, 200, 200, 200, 404, 200},
		"socket, peer foreign, no cookie": {403, 404, 403, 403, 403, 404, 403},
		"socket, peer foreign, cookie":    {403, 404, 403, 403, 403, 404, 403},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGateBrowserPass: a pass changes nothing of what a browser may send.
func TestGateBrowserPass(t *testing.T) {
	t.Parallel()
	passes := newPasses(t, t.TempDir())
	cookie, _ := passes.Redeem(passes.Issue(time.Now()), time.Now())
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	_, tcp := NewHandlers([]Route{
		{Pattern: "/{$}", Methods: []string{http.MethodGet}, Tier: SameUID, Page: true, Handler: ok},
		{Pattern: "/seat", Methods: []string{http.MethodPost}, Tier: SameUID, Handler: ok},
	}, Options{Passes: passes, AllowedHosts: []string{"box.lan", "fixed.lan:99"}})
	tried := 0
	for _, host := range hostCases() {
		for _, browser := range browserCases() {
			for _, with := range []bool{false, true} {
				for _, accept := range []string{"", "text/html,application/xhtml+xml", "*/*"} {
					name := strings.ReplaceAll(host.host, "PORT", "8420")
					r := httptest.NewRequest("GET", "/", nil)
					r.Host, r.RemoteAddr = name, "127.0.0.1:999"
					for line := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(browser.headers, "HOST", name)), "\r\n") {
						if key, value, found := strings.Cut(line, ":"); found {
							r.Header.Add(key, strings.TrimSpace(value))
						}
					}
					if with {
						r.AddCookie(cookie)
					}
					if accept != "" {
						r.Header.Set("Accept", accept)
					}
					ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8420})
					w := httptest.NewRecorder()
					tcp.ServeHTTP(w, r.WithContext(ctx)) // the peer is unknown
					want := http.StatusOK
					switch {
					case !host.ok:
						want = http.StatusMisdirectedRequest
					case !strings.Contains(" "+browser.ok+" ", " GET "), !with:
						want = http.StatusForbidden
					}
					if tried++; w.Code != want {
						t.Errorf("%q, %q, cookie %t: %d, want %d", name, browser.headers, with, w.Code, want)
					}
					person := strings.HasPrefix(accept, "text/html")
					if html := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"); w.Code != http.StatusOK && html != person {
						t.Errorf("%q, Accept %q: answered with %s", name, accept, w.Header().Get("Content-Type"))
					}
					if w.Code != http.StatusOK && person && (!strings.Contains(w.Body.String(), "sm open") || w.Header().Get("Content-Security-Policy") == "") {
						t.Errorf("the page does not say what to do, or has no policy: %s", w.Body)
					}
				}
			}
		}
	}
	if tried < 5000 {
		t.Errorf("%d combinations", tried)
	}
}
