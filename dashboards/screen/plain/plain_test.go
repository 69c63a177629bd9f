package plain

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	long := Line("a" + strings.Repeat("é", maxLine) + "; end")
	if len(long) > maxLine || !strings.HasSuffix(long, "; end") ||
		!strings.HasPrefix(long, "aé") {
		t.Errorf("long text: %d bytes, %.10q … %q", len(long), long, long[len(long)-10:])
	}
	for in, want := range map[string]string{
		"a\n\tb  c ": "a b c", "\x1b[31mred": "?[31mred", "bad \xff": "bad ?", "right\u202eleft": "right?left", "ok 50 %…": "ok 50 %…",
	} {
		if got := Line(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
