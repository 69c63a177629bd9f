package top

import "testing"

// TestWaitText: the reason takes the room that there is, and never the place of the state where it is cut.
func TestWaitText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		state, reason string
		width         int
		want          string
	}{
		{"waiting", "permission: Bash", 26, "waiting: permission: Bash"},
		{"waiting", "permission: Bash", 16, "permission: Bash"},
		{"waiting", "permission: Bash", 10, "permission"},
		{"waiting", "permission prompt", 10, "waiting"},
		{"waiting", "question", 10, "question"},
		{"waiting", "", 10, "waiting"},
		{"waiting", "a\x1b[31m\nb", 26, "waiting: a?[31m b"},
		{"busy", "permission: Bash", 26, "busy"},
	} {
		if got := waitText(tt.state, tt.reason, tt.width); got != tt.want {
			t.Errorf("%q in %d: got %q, want %q", tt.reason, tt.width, got, tt.want)
		}
	}
}
