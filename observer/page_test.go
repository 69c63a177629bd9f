package observer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

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

// TestPageRoutes tests that the routes of the page are for our own user's browser,
// and for no other site.
func TestPageRoutes(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	own := "http://" + r.tcp().String()
	for _, path := range []string{"/", "/events"} {
		for _, c := range []struct {
			host, header, value string
			want                int
		}{
			{"", "Sec-Fetch-Site", "same-origin", 200},
			{"", "Origin", own, 200},
			{"", "Sec-Fetch-Site", "cross-site", 403},
			{"", "Origin", "null", 403},
			{"evil.example", "Sec-Fetch-Site", "same-origin", 421},
		} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, own+path, nil)
			noErrors(t, err)
			req.Host = c.host
			req.Header.Set(c.header, c.value)
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			noErrors(t, err, resp.Body.Close())
			h := resp.Header
			if resp.StatusCode != c.want || h.Get("Access-Control-Allow-Origin") != "" ||
				h.Get("Cache-Control") != "no-store" {
				t.Errorf("%s, %s %s: %d, want %d, %v", path, c.header, c.value, resp.StatusCode, c.want, h)
			}
		}
	}
	r.stop()
}
