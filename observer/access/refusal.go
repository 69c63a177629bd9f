package access

import (
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// refusalPage is the answer to a browser that is refused. It loads nothing and has no
// script.
const refusalPage = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark"><title>sm: {{.Title}}</title></head>
<body><main><h1>{{.Title}}</h1><p>{{.Text}}</p><p>{{.Advice}}</p></main></body></html>
`

// wantsPage reports whether a request is from a browser that opens an address.
func wantsPage(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		strings.HasPrefix(r.Header.Get("Accept"), "text/html")
}

// WriteRefusal answers a browser with a small page that has the remedy, and
// other clients like [WriteError].
func WriteRefusal(w http.ResponseWriter, r *http.Request, code int, text string) {
	if !wantsPage(r) {
		WriteError(w, code, text)
		return
	}
	title := "Not open to this browser"
	advice := "Run sm open in a terminal of your own on this machine: it opens the page in your browser."
	switch code {
	case http.StatusMisdirectedRequest:
		advice = "Open http://127.0.0.1 with the observer's port, 8420 unless it was changed, or run sm open."
	case http.StatusNotFound:
		address := r.URL.Path
		if r.URL.RawQuery != "" {
			address += "?" + r.URL.RawQuery
		}
		title = fmt.Sprintf("Nothing is served at %.80q", address)
		advice = "The page with all agents is at / of this address."
	}
	page := template.Must(template.New("refusal").Parse(refusalPage))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if text != "" {
		text = strings.ToUpper(text[:1]) + text[1:] + "."
	}
	// An error means that the peer is gone.
	_ = page.Execute(w, struct{ Title, Text, Advice string }{title, text, advice})
}
