package main_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// layoutComments wants one package comment, in one file, that is long enough to say what the package
// is for, what always holds and what it leaves to others.
func layoutComments(files []layoutFile) []string {
	comments := map[string][]string{}
	title := map[string]string{}
	for _, f := range files {
		if f.test() || layoutHidden(f) {
			continue
		}
		title[f.pkg()] = "Package " + f.ast.Name.Name
		if f.ast.Name.Name == "main" {
			title[f.pkg()] = "Command " + path.Base(f.pkg())
		}
		if f.ast.Doc != nil {
			comments[f.pkg()] = append(comments[f.pkg()], f.ast.Doc.Text())
		}
	}
	var wrong []string
	for pkg, want := range title {
		got := comments[pkg]
		switch {
		case len(got) != 1:
			wrong = append(wrong, fmt.Sprintf("%s has %d package comments, not 1", pkg, len(got)))
		case !strings.HasPrefix(got[0], want+" "):
			wrong = append(wrong, fmt.Sprintf("the comment of %s does not start with %q", pkg, want))
		case strings.Count(strings.TrimSpace(got[0]), "\n") < 2:
			wrong = append(wrong, fmt.Sprintf("the comment of %s is shorter than three lines", pkg))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// layoutHidden reports whether a file is run by name (go generate) and belongs to no package.
func layoutHidden(f layoutFile) bool {
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if c.Text == "//go:build ignore" && c.Pos() < f.ast.Package {
				return true
			}
		}
	}
	return false
}

func TestLayoutPackageComments(t *testing.T) {
	layoutReport(t, layoutComments(layoutSources(t, layoutRoot(t))))
}

func TestLayoutPackageCommentsBite(t *testing.T) {
	const long = "// Package a does this.\n// And never that.\n// Nor the other.\npackage a\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"right", map[string]string{"a/a.go": long, "a/b.go": "package a", "a/a_test.go": "// More.\npackage a"}, ""},
		{"command", map[string]string{"cmd/b/main.go": "// Command b does\n// so much\n// more.\npackage main"}, ""},
		{
			"command as package",
			map[string]string{"cmd/b/main.go": "// Package main\n// is\n// it.\npackage main"},
			`the comment of sm/cmd/b does not start with "Command b"`,
		},
		{"none", map[string]string{"a/a.go": "package a"}, "sm/a has 0 package comments, not 1"},
		{
			"detached",
			map[string]string{"a/a.go": strings.Replace(long, "\npackage", "\n\npackage", 1)},
			"sm/a has 0 package comments, not 1",
		},
		{"two", map[string]string{"a/a.go": long, "a/b.go": long}, "sm/a has 2 package comments, not 1"},
		{
			"short",
			map[string]string{"a/a.go": "// Package a does\n// this.\npackage a"},
			"the comment of sm/a is shorter than three lines",
		},
		{
			"another name",
			map[string]string{"a/a.go": strings.Replace(long, "Package a", "Package ab", 1)},
			`the comment of sm/a does not start with "Package a"`,
		},
		{"only tests", map[string]string{"a/a_test.go": "package a"}, ""},
		{
			"generator",
			map[string]string{"a/a.go": long, "a/gen.go": "//go:build ignore\n\n// Gen writes.\npackage main"},
			"",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(layoutComments(layoutParseAll(t, c.files)), "\n"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func layoutParseAll(t *testing.T, sources map[string]string) []layoutFile {
	t.Helper()
	var files []layoutFile
	for name, source := range sources {
		f, err := layoutParse(name, []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// layoutForbidden finds what happens behind a caller's back: work at import time, metrics that two
// instances in one process would share, and exits that skip deferred clean-up.
func layoutForbidden(files []layoutFile) []string {
	var wrong []string
	for _, f := range files {
		if f.test() {
			continue
		}
		report := func(what string) { wrong = append(wrong, f.name+": "+what) }
		if f.local("github.com/prometheus/client_golang/prometheus/promauto") != "" {
			report("promauto registers globally: register with the registerer that is passed in")
		}
		prometheus := f.local("github.com/prometheus/client_golang/prometheus")
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report("func init: do it where it is seen, in a constructor or in run")
			}
			if gen, ok := d.(*ast.GenDecl); ok && gen.Tok == token.VAR &&
				layoutUses(gen, prometheus, func(name string) bool { return strings.HasPrefix(name, "New") }) {
				report("a metric in a package-level var: make it in a constructor")
			}
		}
		inMain := f.ast.Name.Name == "main" && path.Base(f.name) == "main.go"
		if !inMain && layoutUses(f.ast, f.local("os"), func(name string) bool { return name == "Exit" }) {
			report("os.Exit outside main.go: return an error")
		}
		if !inMain &&
			layoutUses(f.ast, f.local("log"), func(name string) bool { return strings.HasPrefix(name, "Fatal") }) {
			report("log.Fatal is os.Exit: return an error")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// layoutUses reports whether n uses a name of the package that the file imports as pkg.
func layoutUses(n ast.Node, pkg string, match func(name string) bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && pkg != "" {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == pkg && match(s.Sel.Name)
		}
		return !found
	})
	return found
}

func TestLayoutForbidden(t *testing.T) {
	layoutReport(t, layoutForbidden(layoutSources(t, layoutRoot(t))))
}

func TestLayoutForbiddenBites(t *testing.T) {
	const prom = "github.com/prometheus/client_golang/prometheus"
	for _, c := range []struct {
		name, file, source, want string
	}{
		{"init", "a/a.go", "package a\nfunc init() {}", "func init"},
		{"method init", "a/a.go", "package a\ntype T int\nfunc (T) init() {}", ""},
		{"init in a test", "a/a_test.go", "package a\nfunc init() {}", ""},
		{
			"global metric",
			"a/a.go",
			"package a\nimport \"" + prom + "\"\nvar c = prometheus.NewCounter(prometheus.CounterOpts{})",
			"a metric in a package-level var",
		},
		{
			"renamed and nested",
			"a/a.go",
			"package a\nimport p \"" + prom + "\"\nvar (\n\ta int\n\tc = []any{p.NewGauge(p.GaugeOpts{})}\n)",
			"a metric in a package-level var",
		},
		{
			"metric in a function",
			"a/a.go",
			"package a\nimport \"" + prom + "\"\nfunc f() { var c = prometheus.NewRegistry(); _ = c }",
			"",
		},
		{"promauto", "a/a.go", "package a\nimport _ \"" + prom + "/promauto\"", "promauto"},
		{"exit", "a/a.go", "package a\nimport \"os\"\nfunc f() { os.Exit(1) }", "os.Exit"},
		{"exit as a value", "a/a.go", "package a\nimport o \"os\"\nvar exit = o.Exit", "os.Exit"},
		{"exit in main.go", "cmd/a/main.go", "package main\nimport \"os\"\nfunc main() { os.Exit(1) }", ""},
		{"exit in a library's main.go", "a/main.go", "package a\nimport \"os\"\nfunc f() { os.Exit(1) }", "os.Exit"},
		{"exit in another file", "cmd/a/root.go", "package main\nimport \"os\"\nfunc f() { os.Exit(1) }", "os.Exit"},
		{"fatal", "a/a.go", "package a\nimport \"log\"\nfunc f() { log.Fatalf(\"\") }", "log.Fatal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := layoutForbidden(layoutParseAll(t, map[string]string{c.file: c.source}))
			switch {
			case c.want == "" && len(got) != 0:
				t.Errorf("got %q, want nothing", got)
			case c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], c.file+": "+c.want)):
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
