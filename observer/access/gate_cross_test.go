package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestGateForeign: a request with a host of another site, with headers that a browser
// adds for another site, or of a type that a page can send without asking first,
// reaches no handler, and no answer allows another origin to read it.
func TestGateForeign(t *testing.T) {
	t.Parallel()
	p := new(recorder)
	_, h := NewHandlers(p.routes(), p.options())
	a := serveTCP(t, h, func(s *http.Server) { s.ConnContext = asUser(ownUID()) })
	own := fmt.Sprint("127.0.0.1:", a.Port)
	const json = "Content-Type: application/json\r\n"
	w := newRawClient(t, a)
	check := func(method, host, headers string, want int) {
		t.Helper()
		request := fmt.Sprintf("%s /seat HTTP/1.1\r\nHost: %s\r\n%sContent-Length: 2\r\n\r\n{}", method, host, headers)
		before := p.changes.Load()
		resp, body := w.send(method, request)
		if resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", request, resp.StatusCode, want)
		}
		if changed := p.changes.Load() != before; changed != (want == 200 && method == "POST") {
			t.Errorf("%q: changed something: %v", request, changed)
		}
		if leaked := strings.Contains(body, gateCanary); leaked != (want == 200 && method != "HEAD") {
			t.Errorf("%q: %d, body %q", request, want, body)
		}
		checkAnswer(t, resp, body)
	}
	for _, method := range []string{"GET", "HEAD", "POST"} {
		for _, c := range hostCases() {
			want := 421
			if c.ok {
				want = 200
			}
			check(method, strings.ReplaceAll(c.host, "PORT", fmt.Sprint(a.Port)), json, want)
		}
		for _, c := range browserCases() {
			want := 403
			if strings.Contains(c.methods, method) {
				want = 200
			}
			check(method, own, strings.ReplaceAll(c.headers, "HOST", own)+json, want)
		}
	}
	for _, c := range typeCases() {
		want := 415
		if c.ok {
			want = 200
		}
		check("POST", own, c.header, want)
	}
	for _, method := range []string{"PUT", "DELETE", "OPTIONS", "get"} {
		check(method, "evil.com", "", 405)
	}
}

// A hostCase is a Host header; PORT is replaced by the port of the listener.
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

// A browserCase is the headers of a browser; HOST is replaced by the Host header.
type browserCase struct {
	headers string
	methods string // with which it is let through
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
		{
			"Referer: http://HOST.evil.com/\r\n",
			"",
		}, {
			"Referer: http://HOST0/\r\n",
			"",
		}, {
			"Referer: about:blank\r\n",
			"",
		},
		{"Sec-Fetch-Site: cross-site\r\n", ""}, {"Sec-Fetch-Site: same-site\r\n", ""},
		{"Sec-Fetch-Site: Same-Origin\r\n", ""}, {"Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: none\r\n", ""},
		{"Access-Control-Request-Method: POST\r\n", ""}, {"Access-Control-Request-Headers: content-type\r\n", ""},
		{"Access-Control-Request-Private-Network: true\r\n", ""},
		{"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eA==\r\n", ""},
	}
}

type typeCase struct {
	header string
	ok     bool
}

func typeCases() []typeCase {
	return []typeCase{
		{"", false}, {"Content-Type: application/json\r\n", true},
		{"Content-Type: application/json; charset=utf-8\r\n", true}, {"Content-Type: text/plain\r\n", false},
		{
			"Content-Type: text/plain; a=application/json\r\n",
			false,
		}, {
			"Content-Type: application/json, text/plain\r\n",
			false,
		},
		{"Content-Type: application/jsonx\r\n", false}, {"Content-Type: application/json; =\r\n", false},
		{
			"Content-Type: application/x-www-form-urlencoded\r\n",
			false,
		}, {
			"Content-Type: multipart/form-data; boundary=b\r\n",
			false,
		},
		{"Content-Type: text/plain\r\nContent-Type: application/json\r\n", false},
	}
}

func checkAnswer(t *testing.T, resp *http.Response, body string) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name := range resp.Header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("answer has %s", name)
		}
	}
	if resp.StatusCode != 200 && resp.Request.Method != "HEAD" &&
		(!strings.HasPrefix(body, `{"error":"`) || strings.Count(body, "\n") != 1 || !strings.HasSuffix(body, "\n")) {
		t.Errorf("%d with body %q", resp.StatusCode, body)
	}
}
