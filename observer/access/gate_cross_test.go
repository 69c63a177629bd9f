package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A hostCase is a Host header; PORT stands for the port of the listener.
type hostCase struct {
	host string
	ok   bool
}

func hostCases() []hostCase {
	return []hostCase{
		{"127.0.0.1:PORT", true}, {"localhost:PORT", true}, {"[::1]:PORT", true},
		{"box.lan", true}, {"box.lan:PORT", true}, {"fixed.lan:99", true},
		{"evil.com:PORT", false}, {"evil.com", false}, {"127.0.0.1", false}, {"localhost", false},
		{"127.0.0.1:1", false}, {"127.0.0.1:0PORT", false}, {"0.0.0.0:PORT", false}, {"[::]:PORT", false},
		{"[::ffff:127.0.0.1]:PORT", false}, {"[0:0:0:0:0:0:0:1]:PORT", false}, {"[::1%25lo]:PORT", false},
		{"LOCALHOST:PORT", false}, {"localhost.:PORT", false}, {"127.0.0.1.:PORT", false}, {"127.1:PORT", false},
		{"2130706433:PORT", false}, {"127.0.0.1:PORT,evil.com", false},
		{"box.lan:99", false}, {"fixed.lan", false}, {"fixed.lan:PORT", false}, {"a.box.lan", false}, {"", false},
	}
}

// A browserCase is what a browser may add; HOST stands for the Host header.
type browserCase struct {
	headers string
	ok      string // the methods that it may come with
}

func browserCases() []browserCase {
	every := "GET HEAD POST"
	return []browserCase{
		{"", every}, {"Sec-Fetch-Mode: cors\r\n", every}, {"Sec-Fetch-Dest: empty\r\n", every},
		{"Origin: http://HOST\r\n", every}, {"origin: http://HOST\r\n", every},
		{"Origin: http://HOST\r\nReferer: http://HOST/x\r\nSec-Fetch-Site: same-origin\r\n", every},
		{"Referer: http://HOST\r\n", every}, {"Referer: http://HOST/events?x=1\r\n", every},
		{"Sec-Fetch-Site: same-origin\r\n", every}, {"Sec-Fetch-Site: none\r\n", "GET"},
		{"Origin: null\r\n", ""}, {"Origin: \r\n", ""}, {"Origin: http://evil.com\r\n", ""},
		{"Origin: http://localhost:3000\r\n", ""}, {"Origin: https://HOST\r\n", ""}, {"Origin: HTTP://HOST\r\n", ""},
		{"Origin: http://HOST/\r\n", ""}, {"Origin: http://HOST.\r\n", ""}, {"Origin: http://me@HOST\r\n", ""},
		{"Origin: http://HOST\r\nOrigin: http://HOST\r\n", ""}, {"Origin: http://HOST http://HOST\r\n", ""},
		{"Origin: http://HOST\r\nSec-Fetch-Site: cross-site\r\n", ""},
		{"Referer: http://evil.com/\r\n", ""}, {"Referer: http://HOST@evil.com/\r\n", ""},
		{"Referer: http://HOST.evil.com/\r\n", ""}, {"Referer: http://HOST0/\r\n", ""}, {"Referer: about:blank\r\n", ""},
		{"Sec-Fetch-Site: cross-site\r\n", ""}, {"Sec-Fetch-Site: same-site\r\n", ""},
		{"Sec-Fetch-Site: Same-Origin\r\n", ""}, {"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n", ""},
		{"Access-Control-Request-Method: POST\r\n", ""}, {"Access-Control-Request-Headers: content-type\r\n", ""},
		{"Access-Control-Request-Private-Network: true\r\n", ""},
		{"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n", ""},
	}
}

type typeCase struct {
	headers string
	ok      bool
}

func typeCases() []typeCase {
	return []typeCase{
		{"", false}, {"Content-Type: application/json\r\n", true},
		{"Content-Type: application/json; charset=utf-8\r\n", true}, {"Content-Type: text/plain\r\n", false},
		{"Content-Type: text/plain; a=application/json\r\n", false}, {"Content-Type: application/json, text/plain\r\n", false},
		{"Content-Type: application/jsonx\r\n", false}, {"Content-Type: application/json; =\r\n", false},
		{"Content-Type: application/x-www-form-urlencoded\r\n", false}, {"Content-Type: multipart/form-data; boundary=b\r\n", false},
		{"Content-Type: text/plain\r\nContent-Type: application/json\r\n", false},
	}
}

// A crossCase is one request and what the tables above say must come of it.
type crossCase struct {
	method, request string
	want            int
}

// crossCases is the cross product, with the paths taken in turn.
func crossCases(port int) []crossCase {
	var cases []crossCase
	paths := []string{"/seat", "/hidden", "/", "/nothing"}
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "get"} {
		types := typeCases()
		if method != "POST" {
			types = types[:2] // to the others it is nothing
		}
		for _, host := range hostCases() {
			for _, browser := range browserCases() {
				for _, typ := range types {
					path := paths[len(cases)%len(paths)]
					name := strings.ReplaceAll(host.host, "PORT", fmt.Sprint(port))
					c := crossCase{method: method, want: 200}
					switch {
					case !strings.Contains(" GET HEAD POST ", " "+method+" "), path == "/" && method == "POST":
						c.want = 405
					case !host.ok:
						c.want = 421
					case !strings.Contains(" "+browser.ok+" ", " "+method+" "):
						c.want = 403
					case path == "/hidden", path == "/nothing":
						c.want = 404
					case method == "POST" && !typ.ok:
						c.want = 415
					}
					c.request = fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%s%sContent-Length: 2\r\n\r\n{}",
						method, path, name, strings.ReplaceAll(browser.headers, "HOST", name), typ.headers)
					cases = append(cases, c)
				}
			}
		}
	}
	return cases
}

// TestGateCross: nothing that a browser can be made to send changes anything,
// learns anything, or is told that another origin may read the answer.
func TestGateCross(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
	_, h := NewHandlers(p.routes(), p.options())
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	cases, reached := crossCases(a.Port), map[int]int{}
	w := newRawClient(t, a)
	for _, c := range cases {
		before := p.changes.Load()
		resp, body := w.send(c.method, c.request)
		reached[resp.StatusCode]++
		if resp.StatusCode != c.want {
			t.Fatalf("%q: %d, want %d", c.request, resp.StatusCode, c.want)
		}
		changes := c.want == 200 && c.method == "POST"
		if changed := p.changes.Load() != before; changed != changes {
			t.Fatalf("%q: changed something: %v, want %v", c.request, changed, changes)
		}
		if leaked := strings.Contains(body, gateCanary); leaked != (c.want == 200 && c.method != "HEAD") {
			t.Fatalf("%q: %d, body %q", c.request, c.want, body)
		}
		checkAnswer(t, resp, body)
	}
	t.Logf("%d requests: %v", len(cases), reached)
	if len(cases) < 5000 {
		t.Errorf("%d requests, want at least 5000", len(cases))
	}
	for _, code := range []int{200, 403, 404, 405, 415, 421} {
		if reached[code] == 0 {
			t.Errorf("no request was answered %d", code)
		}
	}
}

func checkAnswer(t *testing.T, resp *http.Response, body string) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Fatalf("%s: %q, want %q", name, got, want)
		}
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Fatalf("answer has %s", name)
		}
	}
	if resp.StatusCode != 200 && resp.Request.Method != "HEAD" &&
		(!strings.HasPrefix(body, `{"error":"`) || strings.Count(body, "\n") != 1 || !strings.HasSuffix(body, "\n")) {
		t.Fatalf("%d with body %q", resp.StatusCode, body)
	}
}

// TestGateCrossBites sends what TestGateCross sends, without the gate: were
// the requests harmless by themselves, that test would prove nothing.
func TestGateCrossBites(t *testing.T) {
	checkLeaks(t)
	p := new(plant)
	a := serveTCP(t, p, nil)
	w, through := newRawClient(t, a), map[int]int{}
	for i, c := range crossCases(a.Port) {
		if c.method != "POST" || i%7 != 0 {
			continue
		}
		before := p.changes.Load()
		if _, body := w.send(c.method, c.request); p.changes.Load() == before || !strings.Contains(body, gateCanary) {
			t.Fatalf("%q changed nothing without the gate either", c.request)
		}
		through[c.want]++
	}
	for _, code := range []int{403, 404, 405, 415, 421} {
		if through[code] == 0 {
			t.Errorf("no request of those that the gate answers %d", code)
		}
	}
}
