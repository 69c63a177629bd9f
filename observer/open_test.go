package observer

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
)

// TestOpen: the address that the socket gives opens the page once, in a browser that is then known by its cookie.
func TestOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t).start()
	page, err := api.NewClient([]string{r.o.Socket}).OpenPage(t.Context())
	noErrors(t, err)
	if want := "http://" + r.tcp().String() + "/open?token="; !strings.HasPrefix(page.URL, want) || page.Seconds != 60 {
		t.Fatalf("%+v, want %s…", page, want)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	type answer struct {
		Code            int
		Location, Kind  string
		Cookies         int
		HTTPOnly, Saved bool
	}
	ask := func(address string) (a answer) {
		req, err := http.NewRequest(http.MethodGet, address, nil)
		noErrors(t, err)
		req.Header.Set("Accept", "text/html")
		resp, err := client.Do(req)
		noErrors(t, err)
		defer resp.Body.Close()
		a = answer{Code: resp.StatusCode, Location: resp.Header.Get("Location"), Kind: resp.Header.Get("Content-Type"), Cookies: len(resp.Cookies())}
		for _, c := range resp.Cookies() {
			a.HTTPOnly = c.HttpOnly
			a.Location = strings.Replace(a.Location, c.Path, "FOLDER/", 1)
		}
		a.Saved = resp.Header.Get("Cache-Control") != "no-store"
		return a
	}
	head, err := client.Head(page.URL)
	noErrors(t, err)
	noErrors(t, head.Body.Close())
	if head.StatusCode != http.StatusNoContent || len(head.Cookies()) > 0 {
		t.Errorf("HEAD: %s with %d cookies", head.Status, len(head.Cookies()))
	}

	again, err := api.NewClient([]string{r.o.Socket}).OpenPage(t.Context())
	noErrors(t, err)
	long, err := api.NewClient([]string{r.o.Socket}).OpenPage(t.Context())
	noErrors(t, err)
	want := []answer{
		{Code: 303, Location: "FOLDER/", Cookies: 1, HTTPOnly: true},
		{Code: 403, Kind: "text/html; charset=utf-8"},
		{Code: 303, Location: "FOLDER/?session=%2F%2Fevil%0D%0A%26a+b", Cookies: 1, HTTPOnly: true},
		{Code: 303, Location: "FOLDER/", Cookies: 1, HTTPOnly: true},
	}
	got := []answer{ask(page.URL), ask(page.URL), ask(again.At("//evil\r\n&a b")), ask(long.At(strings.Repeat("x", 1000)))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if a := r.ask("POST", "/open", `{}`); a.Code != http.StatusCreated {
		t.Errorf("on the socket: %d %s", a.Code, a.Body)
	}
	r.stop()
	r.o.Listen = nil
	r.start()
	if _, err := api.NewClient([]string{r.o.Socket}).OpenPage(t.Context()); err == nil || !strings.Contains(err.Error(), "set listen") {
		t.Errorf("without a TCP address: %v", err)
	}
	r.stop()
}
