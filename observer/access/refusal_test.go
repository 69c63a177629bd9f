package access

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefusalPage: a person reads what was refused, or what was not found, and
// what to do. What the address holds is text.
func TestRefusalPage(t *testing.T) {
	t.Parallel()
	heading := regexp.MustCompile(`(?s)<title>sm: (.*?)</title>.*<h1>(.*?)</h1><p>(.*?)</p><p>(.*?)</p>`)
	open := "Run sm open in a terminal of your own on this machine: it opens the page in your browser."
	all := "The page with all agents is at / of this address."
	for _, tt := range []struct {
		code       int
		path, text string
		heading    string
		want       []string
	}{
		{
			http.StatusForbidden,
			"/",
			"not you",
			"Not open to this browser",
			[]string{"Not you.", open},
		},
		{
			http.StatusNotFound,
			"/%3Cb%3E",
			"no",
			`Nothing is served at &#34;/&lt;b&gt;&#34;`,
			[]string{"No.", all},
		},
		{
			http.StatusNotFound,
			"/a%E2%80%AEb",
			"",
			`Nothing is served at &#34;/a\u202eb&#34;`,
			[]string{"", all},
		},
	} {
		r := httptest.NewRequest(http.MethodGet, tt.path, nil)
		r.Header.Set("Accept", "text/html,*/*")
		w := httptest.NewRecorder()
		WriteRefusal(w, r, tt.code, tt.text)
		found := heading.FindStringSubmatch(w.Body.String())
		if len(found) == 0 || w.Code != tt.code {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		if diff := cmp.Diff(
			append([]string{tt.heading, tt.heading}, tt.want...),
			found[1:],
		); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
}
