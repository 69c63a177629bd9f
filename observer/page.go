package observer

import (
	"io"
	"net/http"
)

// landing is the page at /: what is served here, and nothing about sessions.
const landing = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>sm</title>
<h1>sm</h1>
<p>Watches the contexts of Claude Code agents.</p>
<ul>
<li><a href="/metrics">/metrics</a> for Prometheus</li>
<li><a href="/sessions">/sessions</a> as JSON</li>
<li><a href="/-/ready">/-/ready</a>, <a href="/-/healthy">/-/healthy</a></li>
</ul>
</html>
`

func (a *App) getPage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, landing) // the peer has gone: nobody to tell
}
