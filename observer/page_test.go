package observer

import (
	"net/http"
	"testing"
)

// TestPageRoutes tests that the routes of the page are for a browser of the observer's user,
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
			req, err := http.NewRequestWithContext(
				t.Context(),
				http.MethodHead,
				own+path,
				nil,
			)
			noErrors(t, err)
			req.Host = c.host
			req.Header.Set(c.header, c.value)
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			noErrors(t, err, resp.Body.Close())
			h := resp.Header
			if resp.StatusCode != c.want || h.Get("Access-Control-Allow-Origin") != "" ||
				h.Get("Cache-Control") != "no-store" {
				t.Errorf(
					"%s, %s %s: got %d, want %d, %v",
					path,
					c.header,
					c.value,
					resp.StatusCode,
					c.want,
					h,
				)
			}
		}
	}
}
