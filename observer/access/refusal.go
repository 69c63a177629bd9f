package access

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// refusalPage is the page for a browser whose request is refused. It has no
// script and loads nothing.
//
//go:embed refusal.html
var refusalPage string

// HashOf returns the hash of an inline text for a Content-Security-Policy.
func HashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// WriteRefusal writes why a request is refused, with advice: a small page for a
// browser, else one line of JSON.
func WriteRefusal(w http.ResponseWriter, r *http.Request, code int, text string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead ||
		!strings.HasPrefix(r.Header.Get("Accept"), "text/html") {
		body, _ := json.Marshal(map[string]string{"error": text}) // a map of strings has no error
		WriteJSON(w, code, body)
		return
	}
	title := "Not for a browser"
	// The page may be in a folder.
	up := strings.Repeat("../", max(0, strings.Count(r.URL.Path, "/")-1))
	advice := template.HTML(`<a href="./` + up + `">All agents</a>`)
	switch {
	case code == http.StatusForbidden:
		title = "Not open to this browser"
		advice = "If a link on another site led here, press Enter in the address bar. " +
			"If not, run <code>sm open</code> in a terminal of your own on this machine: it opens the page."
	case code == http.StatusMisdirectedRequest:
		title = "Not open to this browser"
		advice = "Open <code>http://127.0.0.1</code> with the observer's port, 8420 unless it was changed, " +
			"or run <code>sm open</code>."
	case code == http.StatusNotFound:
		address := r.URL.Path
		if r.URL.RawQuery != "" {
			address += "?" + r.URL.RawQuery
		}
		title = fmt.Sprintf("Nothing is served at %.80q", address)
	case code >= http.StatusInternalServerError:
		title = "No answer now"
		advice = "Load this page again in a moment; <code>sm doctor</code> checks the observer."
	}
	page := template.Must(template.New("refusal").Parse(refusalPage))
	_, style, _ := strings.Cut(refusalPage, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	header := w.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; style-src "+HashOf(style)+"; frame-ancestors 'none'")
	header.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	// An error means that the peer has disconnected.
	_ = page.Execute(w, struct {
		Title, Text string
		Advice      template.HTML
	}{title, text, advice})
}
