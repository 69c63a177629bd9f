package term

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTable tests that no line is wider than the limit while the last column has at least 10
// cells, and that with Wrap its text continues in the next line instead.
func TestTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width, wrap int
		id          string
		want        string
	}{
		{0, 0, "長長", "ID    TEXT\n長長  a text that is long\nb     \n"},
		{28, 0, "長長", "ID    TEXT\n長長  a text that is long\nb     \n"},
		{18, 0, "長長", "ID    TEXT\n長長  a text that…\nb     \n"},
		{5, 0, "長長", "ID    TEXT\n長長  a text th…\nb     \n"},
		{0, 17, "a", "ID  TEXT\na   a text that\n    is long\nb   \n"},
		{0, 5, "a", "ID  TEXT\na   a text\n    that is\n    long\nb   \n"},
	} {
		table := Table{Headers: []string{"ID", "TEXT"}, Width: c.width, Wrap: c.wrap}
		table.Add(c.id, "a text that is long")
		table.Add("b", "")
		if diff := cmp.Diff(c.want, table.String()); diff != "" {
			t.Errorf("%d and %d cells (-want +got):\n%s", c.width, c.wrap, diff)
		}
	}
}

// TestRedraw tests that a screen is overwritten from its first line and cleared below.
func TestRedraw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		height int
		first  bool
		want   string
	}{
		{"a\nb\n", 24, false, "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"},
		{"a\nb\n", 24, true, "\x1b[H\x1b[2Ja\x1b[K\nb\x1b[K\n\x1b[J"},
		{"a\nb\nc\n", 3, false, "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J"},
		{"a\nb\n", 1, false, "\x1b[Ha\x1b[K\n\x1b[J"},
	} {
		if diff := cmp.Diff(c.want, Redraw(c.text, c.height, c.first)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
}
