package places

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWatchedCodexDirs tests that Codex's folder is watched beside named folders only if
// CODEX_HOME names it.
func TestWatchedCodexDirs(t *testing.T) {
	t.Parallel()
	home := []string{"/h/.codex/sessions", "/h/.codex/archived_sessions"}
	other := []string{"/c/sessions", "/c/archived_sessions"}
	for _, c := range []struct {
		vars  map[string]string
		named bool
		want  []string
	}{
		{map[string]string{"HOME": "/h"}, false, home},
		{map[string]string{"HOME": "/h"}, true, nil},
		{map[string]string{"HOME": "/h", "CODEX_HOME": "relative"}, true, nil},
		{map[string]string{"HOME": "/h", "CODEX_HOME": "/c"}, true, other},
		{map[string]string{"HOME": "/h", "CODEX_HOME": "/c"}, false, other},
	} {
		env := Env(func(name string) (string, bool) { v, ok := c.vars[name]; return v, ok })
		if diff := cmp.Diff(c.want, env.WatchedCodexDirs(c.named)); diff != "" {
			t.Errorf("%v, named %v (-want +got):\n%s", c.vars, c.named, diff)
		}
	}
}
