package projects

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestName tests the names of the projects of the directories in testdata/names.txtar.
func TestName(t *testing.T) {
	tree, err := txtar.ParseFile("testdata/names.txtar")
	dir := t.TempDir()
	noErrors(t, err, txtar.Write(tree, dir))
	t.Setenv("HOME", filepath.Join(dir, "home"))
	for line := range strings.Lines(string(tree.Comment)) {
		cwd, want, _ := strings.Cut(strings.TrimSpace(line), " => ")
		if got := Name(dir + "/" + cwd); got != want {
			t.Errorf("%s: got %q, want %q", cwd, got, want)
		}
	}
}
