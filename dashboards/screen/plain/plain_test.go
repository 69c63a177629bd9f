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

// TestShellQuote tests that the result is one word of a shell, whatever the text is.
func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{
		"em-1":        "em-1",
		"":            "''",
		"a b":         "'a b'",
		"a=b":         "a=b",
		"=ls":         "'=ls'",
		"it's":        `'it'\''s'`,
		"$(x)`y`;z\n": "'$(x)`y`;z\n'",
	} {
		if got := ShellQuote(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
