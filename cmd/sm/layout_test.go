package main_test

import (
	"bytes"
	"cmp"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const layoutModule = "sm"

// layoutLayers are in the order in which they build on each other: a package
// imports its own layer and those before it.
func layoutLayers() []string {
	return strings.Fields("transcript alerts handoff observer dashboards deploy cmd")
}

// layoutRule limits who may import a package and what is below it.
type layoutRule struct {
	path      string
	importers []string // with what is below them
	tests     bool     // and every test
}

func layoutRules() []layoutRule {
	return []layoutRule{
		{path: "sm/transcript/transcripttest", importers: []string{"sm/cmd/bench"}, tests: true},
		{path: "sm/observer/history/historytest", tests: true},
		{path: "github.com/nxadm/tail", importers: []string{"sm/transcript/follow"}},
		{path: "github.com/spf13/viper", importers: []string{"sm/cmd/sm/internal/config"}},
		{path: "github.com/spf13/cobra", importers: []string{"sm/cmd/sm"}},
	}
}

// layoutPure are packages that decide, and so reach neither files nor processes
// nor the network.
func layoutPure() []string {
	return []string{
		"sm/transcript",
		"sm/transcript/jsonwalk",
		"sm/transcript/claude",
		"sm/transcript/codex",
		"sm/alerts",
		"sm/alerts/outbox",
	}
}

// layoutJudge returns what is wrong with an import, "" for nothing.
func layoutJudge(from, to string, test bool) string {
	edge := from + " imports " + to
	for _, rule := range layoutRules() {
		allowed := rule.tests && test || layoutBelow(from, rule.path)
		for _, importer := range rule.importers {
			allowed = allowed || layoutBelow(from, importer)
		}
		if layoutBelow(to, rule.path) && !allowed {
			return edge + ": only for " + cmp.Or(strings.Join(rule.importers, " and "), "tests")
		}
	}
	if test {
		return ""
	}

	outside := []string{"os/exec", "os/signal", "net", "syscall"}
	if slices.Contains(layoutPure(), from) &&
		(to == "os" || slices.ContainsFunc(outside, func(o string) bool { return layoutBelow(to, o) })) {
		return edge + ": the package is pure"
	}
	if layoutLevel(to) > layoutLevel(from) {
		return edge + ": against the order of layers"
	}
	return ""
}

func layoutBelow(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// layoutLevel returns the index of a package's layer, -1 for packages that are
// not ours.
func layoutLevel(p string) int {
	return slices.IndexFunc(layoutLayers(), func(layer string) bool { return layoutBelow(p, layoutModule+"/"+layer) })
}

// layoutFile is one Go source file, whatever its build constraints: a rule that holds on one platform
// holds on all.
type layoutFile struct {
	name  string // slash-separated, from the repository's root
	ast   *ast.File
	lines int
}

func (f layoutFile) test() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f layoutFile) pkg() string { return path.Join(layoutModule, path.Dir(f.name)) }

func (f layoutFile) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		paths = append(paths, layoutUnquote(spec))
	}
	return paths
}

// local returns the name under which the file knows the package, "" if it does not import it.
func (f layoutFile) local(importPath string) string {
	for _, spec := range f.ast.Imports {
		if layoutUnquote(spec) != importPath {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(importPath)
	}
	return ""
}

func layoutUnquote(spec *ast.ImportSpec) string {
	p, _ := strconv.Unquote(spec.Path.Value) // the parser has seen that it is a string
	return p
}

func layoutParse(name string, source []byte) (layoutFile, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ParseComments|parser.SkipObjectResolution)
	return layoutFile{name: name, ast: f, lines: bytes.Count(source, []byte{'\n'})}, err
}

// layoutSources reads the Go files that ./... would match, and those that build constraints hide.
func layoutSources(t *testing.T, root string) []layoutFile {
	t.Helper()
	var files []layoutFile
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(base) != ".go" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
			return nil
		}
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		f, err := layoutParse(name, source)
		files = append(files, f)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func layoutRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod above the working directory")
		}
	}
	t.Fatal(err)
	return ""
}

// layoutReport fails the test with every problem at once: they are fixed together.
func layoutReport(t *testing.T, wrong []string) {
	t.Helper()
	for _, w := range wrong {
		t.Error(w)
	}
}

// TestLayoutImports has the direction of imports; .golangci.yml has it for editors.
func TestLayoutImports(t *testing.T) {
	t.Parallel()
	for _, f := range layoutSources(t, layoutRoot(t)) {
		for _, to := range f.imports() {
			if wrong := layoutJudge(f.pkg(), to, f.test()); wrong != "" {
				t.Errorf("%s: %s", f.name, wrong)
			}
		}
	}
}

func TestLayoutImportsBite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		test     bool
		want     string
	}{
		{from: "sm/alerts", to: "sm/transcript"},
		{from: "sm/alerts", to: "time"},
		{from: "sm/transcript", to: "sm/alerts", want: ": against the order of layers"},
		{from: "sm/transcript", to: "sm/alerts", test: true},
		{from: "sm/dashboards", to: "sm/deploy/install", want: ": against the order of layers"},
		{from: "sm/transcript", to: "net/http", want: ": the package is pure"},
		{from: "sm/transcript/follow", to: "os"},
		{from: "sm/transcript/follow", to: "github.com/nxadm/tail"},
		{
			from: "sm/observer",
			to:   "github.com/nxadm/tail/watch",
			test: true,
			want: ": only for sm/transcript/follow",
		},
		{from: "sm/cmd/bench", to: "github.com/nxadm/tailor"},
		{from: "sm/alerts", to: "sm/transcript/transcripttest", want: ": only for sm/cmd/bench"},
		{from: "sm/alerts", to: "sm/transcript/transcripttest", test: true},
	} {
		want := c.want
		if want != "" {
			want = c.from + " imports " + c.to + want
		}
		if got := layoutJudge(c.from, c.to, c.test); got != want {
			t.Errorf("%s → %s: got %q, want %q", c.from, c.to, got, want)
		}
	}
}
