package observer

import (
	"net"
	"net/http"
	"net/url"
	"time"

	webpage "sm/dashboards/page"
	"sm/observer/access"
	"sm/observer/api"
)

// postOpen gives an address that opens the page once, to our own user alone: it is asked on the socket.
func (s *server) postOpen(w http.ResponseWriter, _ *http.Request) error {
	address := pageAddress(tcpOf(s.Addrs()))
	if address == "" {
		return refuse(http.StatusConflict, "this observer listens on no TCP address, so no browser can reach it; set listen")
	}
	u := url.URL{Scheme: "http", Host: address, Path: "/open", RawQuery: url.Values{"token": {s.passes.Issue(time.Now())}}.Encode()}
	return answerJSON(w, http.StatusCreated, api.Page{URL: u.String(), Seconds: int(access.TokenLife / time.Second)})
}

// pageAddress is the address at which a browser of this machine reaches the page, "" for none: the first that is
// listened on, by its loopback name where it stands for all.
func pageAddress(addrs []string) string {
	for _, address := range addrs {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			host = "127.0.0.1"
		}
		return net.JoinHostPort(host, port)
	}
	return ""
}

// getOpen turns a token into a cookie and shows the page: the one GET that changes something, for it uses up the token.
func (s *server) getOpen(w http.ResponseWriter, r *http.Request) error {
	cookie, ok := s.passes.Redeem(r.URL.Query().Get("token"), time.Now())
	if !ok {
		access.WriteRefusal(w, r, http.StatusForbidden, "this link was used already, or is older than a minute; run sm open again")
		return nil
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Location", webpage.Address(r.URL.Query().Get("session")))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}
