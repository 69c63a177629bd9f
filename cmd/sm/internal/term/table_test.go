package term

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTableFits tests that no line is wider than the limit while the last column has at least
// 10 cells.
func TestTableFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "ID      TEXT\n長長    a text that is long\n"},
		{30, "ID      TEXT\n長長    a text that is long\n"},
		{20, "ID      TEXT\n長長    a text that…\n"},
		{5, "ID      TEXT\n長長    a text th…\n"},
	} {
		table := Table{Headers: []string{"ID    ", "TEXT"}, Width: c.width}
		table.Add("長長", "a text that is long")
		if diff := cmp.Diff(c.want, table.String()); diff != "" {
			t.Errorf("%d cells (-want +got):\n%s", c.width, diff)
		}
	}
}

// TestTableWraps tests that text that does not fit continues in the next line of its column.
func TestTableWraps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "ID  TEXT\na   a text that is long\nb   \n"},
		{17, "ID  TEXT\na   a text that\n    is long\nb   \n"},
		{5, "ID  TEXT\na   a text\n    that is\n    long\nb   \n"},
	} {
		table := Table{Headers: []string{"ID", "TEXT"}, Wrap: c.width}
		table.Add("a", "a text that is long")
		table.Add("b", "")
		if diff := cmp.Diff(c.want, table.String()); diff != "" {
			t.Errorf("%d cells (-want +got):\n%s", c.width, diff)
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
