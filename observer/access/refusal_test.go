package access

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRefusalPage tests that a refused or missing page shows the reason and the remedy. Text
// of the address is escaped, and the policy allows the style.
func TestRefusalPage(t *testing.T) {
	t.Parallel()
	heading := regexp.MustCompile(`(?s)<title>sm: (.*?)</title>.<style>(.*?)</style>.*<h1>(.*?)</h1><p>(.*?)</p><p>(.*?)</p>`)
	for _, tt := range []struct {
		code                        int
		path, text, heading, advice string
	}{
		{403, "/", "Not you.", "Not open to this browser", "sm open"},
		{401, "/alerts/webhook", "No token.", "Not for a browser", `<a href="./../">All agents</a>`},
		{404, "/%3Cb%3E", "No.", `Nothing is served at &#34;/&lt;b&gt;&#34;`, `<a href="./">All agents</a>`},
		{404, "/a%E2%80%AEb", "", `Nothing is served at &#34;/a\u202eb&#34;`, `<a href="./">All agents</a>`},
		{503, "/", "Stopping.", "No answer now", "sm doctor"},
	} {
		r := httptest.NewRequest(http.MethodGet, tt.path, nil)
		r.Header.Set("Accept", "text/html,*/*")
		w := httptest.NewRecorder()
		WriteRefusal(w, r, tt.code, strings.ToLower(strings.TrimSuffix(tt.text, ".")))
		found := heading.FindStringSubmatch(w.Body.String())
		if len(found) == 0 || w.Code != tt.code {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		want := []string{tt.heading, tt.heading, tt.text}
		if diff := cmp.Diff(want, []string{found[1], found[3], found[4]}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
		if !strings.Contains(found[5], tt.advice) {
			t.Errorf("%s: got advice %q, want %q", tt.path, found[5], tt.advice)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, HashOf(found[2])) {
			t.Errorf("%s: %s does not allow the style", tt.path, policy)
		}
	}
}
