package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestText checks that the result has the same width by every count, and that
// it is cut between characters.
func TestText(t *testing.T) {
	t.Parallel()
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
		{
			"abcdef",
			6,
			"abcdef",
			"abcdef",
		}, {
			"abcdef",
			4,
			"…def",
			"abc…",
		}, {
			"日本語",
			5,
			"…本語",
			"日本…",
		}, {
			"日本語",
			4,
			"…語",
			"日…",
		}, {
			"ab",
			1,
			"…",
			"…",
		}, {
			"ab",
			0,
			"",
			"",
		},
	} {
		if end, start := FitEnd(
			c.in,
			c.n,
		), FitStart(
			c.in,
			c.n,
		); end != c.end ||
			start != c.start {
			t.Errorf(
				"%q in %d: got %q and %q, want %q and %q",
				c.in,
				c.n,
				end,
				start,
				c.end,
				c.start,
			)
		}
	}
}

// TestWrap checks that words are kept, and broken only where they must be.
func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, nil},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two", 3, []string{"one", "two"}},
		{"abcdefgh ij", 4, []string{"abcd", "efgh", "ij"}},
		{"長長長 a", 4, []string{"長長", "長 a"}},
		{"長", 0, []string{"長"}},
	} {
		if diff := cmp.Diff(c.want, Wrap(c.text, c.width)); diff != "" {
			t.Errorf("%q in %d (-want +got):\n%s", c.text, c.width, diff)
		}
	}
}
