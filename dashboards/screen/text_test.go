package screen

import (
	"testing"
)

// TestScreenText: what is left of a text has the same width by every count.
func TestScreenText(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\tb": "a b", "日本": "日本", "e\u0301": "e", "a\u202eb": "a?b", "\x1b[31mx": "?[31mx", "🇩🇪": "??", "\u200b": "?",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	for _, c := range []struct {
		in         string
		n          int
		end, start string
	}{
		{"abcdef", 6, "abcdef", "abcdef"}, {"abcdef", 4, "…def", "abc…"}, {"日本語", 5, "…本語", "日本…"}, {"日本語", 4, "…語", "日…"}, {"ab", 1, "…", "…"}, {"ab", 0, "", ""},
	} {
		if end, start := FitEnd(c.in, c.n), FitStart(c.in, c.n); end != c.end || start != c.start {
			t.Errorf("%q in %d: got %q and %q, want %q and %q", c.in, c.n, end, start, c.end, c.start)
		}
	}
}
