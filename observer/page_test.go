package observer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPageDoors: both routes are for our own user's browser, and for no other site.
func TestPageDoors(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(uuid(1), reply(ago(time.Minute), "m1", 50_123, 1))
	r.start()
	own := "http://" + r.tcp().String()
	for _, c := range []struct {
		name    string
		headers []string
		want    int
	}{
		{"an address that is typed", []string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		{"the page itself", []string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "empty", "Referer", own + "/?session=x"}, 200},
		{"our own origin", []string{"Origin", own}, 200},
		{"another site", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"another port", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"another origin", []string{"Origin", "http://evil.example"}, 403},
		{"a sandbox", []string{"Origin", "null"}, 403},
		{"a link on another site", []string{"Referer", "http://evil.example/"}, 403},
	} {
		for _, path := range []string{"/", "/events"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, own+path, nil)
			noErrors(t, err)
			for i := 0; i < len(c.headers); i += 2 {
				req.Header.Set(c.headers[i], c.headers[i+1])
			}
			want := c.want
			if c.headers[1] == "none" {
				req.Method = http.MethodGet // nobody types anything else
				if path == "/events" {
					continue
				}
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			noErrors(t, err)
			noErrors(t, resp.Body.Close())
			if resp.StatusCode != want {
				t.Errorf("%s, %s: %d, want %d", c.name, path, resp.StatusCode, want)
			}
			h := resp.Header
			if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Access-Control-Allow-Origin") != "" || h.Get("Referrer-Policy") != "no-referrer" ||
				h.Get("Cache-Control") != "no-store" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s, %s: %v", c.name, path, h)
			}
		}
	}
	for _, host := range []string{"evil.example", "evil.example:" + fmt.Sprint(r.tcp().Port), "0.0.0.0:" + fmt.Sprint(r.tcp().Port)} {
		for _, path := range []string{"/", "/events"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, own+path, nil)
			noErrors(t, err)
			req.Host = host
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			noErrors(t, err)
			noErrors(t, resp.Body.Close())
			if resp.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("%s%s: %d", host, path, resp.StatusCode)
			}
		}
	}
	for _, path := range []string{"/", "/events"} {
		if a := r.askTCP(http.MethodPost, path, "{}"); a.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d", path, a.Code)
		}
	}
	a := r.get("/")
	if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(a.Body, "50k of 200k") {
		t.Errorf("%s: %s", policy, a.Body)
	}
	r.stop()
}

// TestDetailHasThoseUnderIt: the agents that work for one stand under it, and lead to their own.
func TestDetailHasThoseUnderIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.write(uuid(1), reply(ago(time.Minute), "m1", 40_000, 1))
	r.write(uuid(2), reply(ago(time.Minute), "m2", 150_000, 1))
	r.start()
	r.joins(uuid(1), `,"name":"lead"`)
	r.joins(uuid(2), fmt.Sprintf(`,"name":"tests","parent_session_id":%q`, uuid(1)))
	r.get("/")
	r.until("the parent is known", func() bool { return r.session(uuid(2)).ParentID == uuid(1) })
	r.until("it stands there", func() bool {
		r.get("/")
		return strings.Contains(r.get("/?session=lead").Body, `<a href="./?session=`+uuid(2)+`"><bdi>tests</bdi></a>`)
	})
	if a := r.get("/?session=tests"); a.Code != 200 || strings.Contains(a.Body, `data-part="under"`) {
		t.Errorf("%d: somebody works for one without anybody: %s", a.Code, a.Body)
	}
	r.stop()
}
