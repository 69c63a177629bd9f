package observer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// TestOpen tests that the address from the socket opens the page once, in a browser that is
// then identified by its cookie.
func TestOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	page, err := api.NewClient([]string{r.o.Socket}).OpenPage(t.Context())
	noErrors(t, err)
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var got []string
	for _, c := range []struct{ method, address string }{
		{http.MethodHead, page.URL}, // a preview of the link
		{http.MethodGet, page.At("//evil\r\n&a b")},
		{http.MethodGet, page.URL},
	} {
		req, err := http.NewRequest(c.method, c.address, nil)
		noErrors(t, err)
		resp, err := client.Do(req)
		noErrors(t, err, resp.Body.Close())
		location := resp.Header.Get("Location")
		for _, cookie := range resp.Cookies() {
			location = strings.Replace(location, cookie.Path, "FOLDER/", 1)
			if !cookie.HttpOnly {
				t.Error("scripts can read the cookie")
			}
		}
		got = append(got, fmt.Sprint(resp.StatusCode, " ", location))
	}
	want := []string{"204 ", "303 FOLDER/?session=%2F%2Fevil%0D%0A%26a+b", "403 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
