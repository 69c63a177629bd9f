package main_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	layoutModule  = "sm"
	layoutSupport = "sm/transcript/transcripttest"
)

// layoutRules say who may import what.
type layoutRules struct {
	rows map[string]layoutRow // by package; one without a row may not exist
	only []layoutOnly
}

// layoutRow is what a package may import of ours, and whether it may import anybody else's code.
// Test files may import layoutSupport and other people's code besides.
type layoutRow struct {
	ours    []string
	stdOnly bool
}

// layoutOnly holds whatever the rows say, so that a careless row cannot undo it.
type layoutOnly struct {
	path      string
	below     bool // packages below path too
	importers []string
	tests     bool // and every test file
}

// layoutTable is the architecture: data flows right, imports point left. Purity is the point of it:
// what decides (transcript, alerts, fleet) cannot reach what acts (tmux, files, sockets).
func layoutTable() layoutRules {
	libraries := []string{
		"sm/transcript", "sm/transcript/hook", "sm/transcript/follow", "sm/alerts", "sm/alerts/outbox",
		"sm/handoff", "sm/handoff/tmux", "sm/handoff/supervise", "sm/observer", "sm/observer/fleet",
		"sm/observer/state", "sm/observer/api", "sm/dashboards", "sm/deploy",
	}
	commands := []string{"sm/cmd/sm", "sm/cmd/bench"}
	return layoutRules{
		rows: map[string]layoutRow{
			"sm/transcript":        {stdOnly: true},
			layoutSupport:          {stdOnly: true},
			"sm/transcript/hook":   {},
			"sm/transcript/follow": {ours: []string{"sm/transcript"}},
			"sm/alerts":            {ours: []string{"sm/transcript"}},
			"sm/alerts/outbox":     {ours: []string{"sm/alerts"}},
			"sm/handoff":           {ours: []string{"sm/alerts", "sm/transcript", "sm/transcript/hook"}},
			"sm/handoff/tmux":      {},
			"sm/handoff/supervise": {},
			"sm/observer/fleet":    {ours: []string{"sm/transcript", "sm/transcript/hook", "sm/alerts"}},
			"sm/observer/state":    {ours: []string{"sm/transcript", "sm/transcript/hook", "sm/alerts", "sm/alerts/outbox", "sm/handoff", "sm/observer/fleet"}},
			"sm/observer/api":      {},
			"sm/observer":          {ours: layoutWithout(libraries, "sm/observer", "sm/handoff/tmux", "sm/handoff/supervise")},
			"sm/dashboards":        {},
			"sm/deploy":            {},
			"sm/cmd/sm":            {ours: libraries},
			"sm/cmd/bench":         {ours: append(slices.Clone(libraries), layoutSupport)},
		},
		only: []layoutOnly{
			{path: "sm/cmd", below: true},
			{path: "sm/observer", importers: commands},
			{path: layoutSupport, importers: []string{"sm/cmd/bench"}, tests: true},
			{path: "github.com/nxadm/tail", below: true, importers: []string{"sm/transcript/follow"}},
			{path: "github.com/spf13/viper", below: true, importers: []string{"sm/cmd/sm"}},
			{path: "github.com/spf13/cobra", below: true, importers: []string{"sm/cmd/sm"}},
		},
	}
}

func layoutWithout(from []string, out ...string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(s string) bool { return slices.Contains(out, s) })
}

// layoutGraph has each package's imports.
type layoutGraph map[string]layoutImports

type layoutImports struct {
	code, tests []string
}

// layoutCheck returns one line for each import, or package, that the rules do not allow.
func layoutCheck(rules layoutRules, graph layoutGraph) []string {
	var wrong []string
	for pkg, imports := range graph {
		if _, known := rules.rows[pkg]; !known {
			wrong = append(wrong, pkg+" is not in the table: give it a row in layoutTable, or move the code")
			continue
		}
		for _, to := range imports.code {
			wrong = append(wrong, rules.judge(pkg, to, false)...)
		}
		for _, to := range imports.tests {
			wrong = append(wrong, rules.judge(pkg, to, true)...)
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

func (r layoutRules) judge(from, to string, test bool) []string {
	edge := from + " imports " + to
	if test {
		edge = "a test of " + edge
		if from == to { // the package x_test of x
			return nil
		}
	}
	for _, o := range r.only {
		if o.covers(to) && !slices.Contains(o.importers, from) && !(o.tests && test) {
			return []string{edge + ": only for " + cmp.Or(strings.Join(o.importers, " and "), "nobody")}
		}
	}
	row := r.rows[from]
	switch {
	case to == layoutModule || strings.HasPrefix(to, layoutModule+"/"):
		if !slices.Contains(row.ours, to) && !(test && to == layoutSupport) {
			return []string{edge + ": not in its row"}
		}
	case row.stdOnly && !test && !layoutStandard(to):
		return []string{edge + ": standard library only"}
	}
	return nil
}

func (o layoutOnly) covers(p string) bool {
	return p == o.path || o.below && strings.HasPrefix(p, o.path+"/")
}

// layoutStandard relies on every other module's path starting with a domain name.
func layoutStandard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return p != "C" && !strings.Contains(first, ".")
}

// layoutFile is one Go source file, whatever its build constraints: a rule that holds on one platform
// holds on all.
type layoutFile struct {
	name string // slash-separated, from the repository's root
	ast  *ast.File
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
	return layoutFile{name: name, ast: f}, err
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

func layoutGraphOf(files []layoutFile) layoutGraph {
	graph := layoutGraph{}
	for _, f := range files {
		imports := graph[f.pkg()]
		if f.test() {
			imports.tests = append(imports.tests, f.imports()...)
		} else {
			imports.code = append(imports.code, f.imports()...)
		}
		graph[f.pkg()] = imports
	}
	return graph
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

func TestLayoutImports(t *testing.T) {
	graph := layoutGraphOf(layoutSources(t, layoutRoot(t)))
	if len(graph) == 0 {
		t.Fatal("found no package")
	}
	layoutReport(t, layoutCheck(layoutTable(), graph))
}

func TestLayoutTable(t *testing.T) {
	rules := layoutTable()
	for pkg, row := range rules.rows {
		for _, to := range row.ours {
			if _, known := rules.rows[to]; !known {
				t.Errorf("the row of %s names %s, which has none", pkg, to)
			}
			if wrong := rules.judge(pkg, to, false); wrong != nil {
				t.Errorf("the row of %s breaks a rule: %s", pkg, wrong)
			}
		}
	}
}

func TestLayoutImportsBite(t *testing.T) {
	code := func(pkg string, to ...string) layoutGraph { return layoutGraph{pkg: {code: to}} }
	tests := func(pkg string, to ...string) layoutGraph { return layoutGraph{pkg: {tests: to}} }
	for _, c := range []struct {
		name  string
		graph layoutGraph
		want  string // "" for a graph that is right
	}{
		{"down the flow", code("sm/alerts", "sm/transcript", "time"), ""},
		{"up the flow", code("sm/transcript", "sm/alerts"), "sm/transcript imports sm/alerts: not in its row"},
		{"sideways", code("sm/handoff/tmux", "sm/handoff"), "sm/handoff/tmux imports sm/handoff: not in its row"},
		{"the loop types", code("sm/observer", "sm/handoff/tmux"), "sm/observer imports sm/handoff/tmux: not in its row"},
		{"unknown package", code("sm/util", "fmt"), "sm/util is not in the table: give it a row in layoutTable, or move the code"},
		{"code at the root", code("sm"), "sm is not in the table: give it a row in layoutTable, or move the code"},
		{"import of the unknown", code("sm/cmd/sm", "sm/util"), "sm/cmd/sm imports sm/util: not in its row"},
		{"of a command", code("sm/observer", "sm/cmd/sm/internal"), "sm/observer imports sm/cmd/sm/internal: only for nobody"},
		{"of a command by a test", tests("sm/cmd/bench", "sm/cmd/sm"), "a test of sm/cmd/bench imports sm/cmd/sm: only for nobody"},
		{"of observer by a command", code("sm/cmd/bench", "sm/observer"), ""},
		{"of observer by a test", tests("sm/dashboards", "sm/observer"), "a test of sm/dashboards imports sm/observer: only for sm/cmd/sm and sm/cmd/bench"},
		{"below observer", code("sm/observer/state", "sm/observer/fleet", "go.etcd.io/bbolt"), ""},
		{"pure", code("sm/transcript", "golang.org/x/sys/unix"), "sm/transcript imports golang.org/x/sys/unix: standard library only"},
		{"pure without cgo", code("sm/transcript", "C"), "sm/transcript imports C: standard library only"},
		{"pure, tested with more", tests("sm/transcript", "sm/transcript", layoutSupport, "github.com/google/go-cmp/cmp"), ""},
		{"support by code", code("sm/transcript/follow", layoutSupport), "sm/transcript/follow imports " + layoutSupport + ": only for sm/cmd/bench"},
		{"support by the benchmark", code("sm/cmd/bench", layoutSupport), ""},
		{"support by the command", code("sm/cmd/sm", layoutSupport), "sm/cmd/sm imports " + layoutSupport + ": only for sm/cmd/bench"},
		{"support imports ours", code(layoutSupport, "sm/transcript"), layoutSupport + " imports sm/transcript: not in its row"},
		{"tail at home", code("sm/transcript/follow", "github.com/nxadm/tail"), ""},
		{"tail elsewhere", code("sm/observer", "github.com/nxadm/tail/watch"), "sm/observer imports github.com/nxadm/tail/watch: only for sm/transcript/follow"},
		{"tail in a test", tests("sm/observer", "github.com/nxadm/tail"), "a test of sm/observer imports github.com/nxadm/tail: only for sm/transcript/follow"},
		{"flags at home", code("sm/cmd/sm", "github.com/spf13/cobra", "github.com/spf13/viper"), ""},
		{"viper elsewhere", code("sm/observer", "github.com/spf13/viper"), "sm/observer imports github.com/spf13/viper: only for sm/cmd/sm"},
		{"cobra elsewhere", code("sm/cmd/bench", "github.com/spf13/cobra/doc"), "sm/cmd/bench imports github.com/spf13/cobra/doc: only for sm/cmd/sm"},
		{"a name that only begins alike", code("sm/cmd/bench", "github.com/nxadm/tailor", "smile"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(layoutCheck(layoutTable(), c.graph), "\n"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

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

// layoutHidden tells a file that is run by name (go generate) and belongs to no package.
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
		{"command as package", map[string]string{"cmd/b/main.go": "// Package main\n// is\n// it.\npackage main"}, `the comment of sm/cmd/b does not start with "Command b"`},
		{"none", map[string]string{"a/a.go": "package a"}, "sm/a has 0 package comments, not 1"},
		{"detached", map[string]string{"a/a.go": strings.Replace(long, "\npackage", "\n\npackage", 1)}, "sm/a has 0 package comments, not 1"},
		{"two", map[string]string{"a/a.go": long, "a/b.go": long}, "sm/a has 2 package comments, not 1"},
		{"short", map[string]string{"a/a.go": "// Package a does\n// this.\npackage a"}, "the comment of sm/a is shorter than three lines"},
		{"another name", map[string]string{"a/a.go": strings.Replace(long, "Package a", "Package ab", 1)}, `the comment of sm/a does not start with "Package a"`},
		{"only tests", map[string]string{"a/a_test.go": "package a"}, ""},
		{"generator", map[string]string{"a/a.go": long, "a/gen.go": "//go:build ignore\n\n// Gen writes.\npackage main"}, ""},
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
		if !inMain && layoutUses(f.ast, f.local("log"), func(name string) bool { return strings.HasPrefix(name, "Fatal") }) {
			report("log.Fatal is os.Exit: return an error")
		}
	}
	slices.Sort(wrong)
	return wrong
}

// layoutUses says whether a name of the package that the file knows as pkg is used within n.
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
		{"global metric", "a/a.go", "package a\nimport \"" + prom + "\"\nvar c = prometheus.NewCounter(prometheus.CounterOpts{})", "a metric in a package-level var"},
		{"renamed and nested", "a/a.go", "package a\nimport p \"" + prom + "\"\nvar (\n\ta int\n\tc = []any{p.NewGauge(p.GaugeOpts{})}\n)", "a metric in a package-level var"},
		{"metric in a function", "a/a.go", "package a\nimport \"" + prom + "\"\nfunc f() { var c = prometheus.NewRegistry(); _ = c }", ""},
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

// layoutTracked lists what the repository holds: what git knows, else (a tarball, no git, nothing added
// yet) what is there and not ignored.
func layoutTracked(t *testing.T, root string) []string {
	t.Helper()
	if out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output(); err == nil && len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	ignore, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == ".git" || layoutIgnored(string(ignore), name):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir():
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// layoutIgnored knows as much of the format as our .gitignore uses: /name from the root, name anywhere, *.
func layoutIgnored(ignore, name string) bool {
	for pattern := range strings.Lines(ignore) {
		pattern = strings.TrimSuffix(strings.TrimSpace(pattern), "/")
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		subject := path.Base(name)
		if anchored, ok := strings.CutPrefix(pattern, "/"); ok {
			pattern, subject = anchored, name
		}
		if ok, _ := path.Match(pattern, subject); ok {
			return true
		}
	}
	return false
}

// layoutTop returns what stands at the top level and should not.
func layoutTop(files []string) []string {
	allowed := strings.Fields("cmd observer transcript alerts handoff dashboards deploy " +
		"go.mod go.sum Makefile README.md LICENSE CHANGELOG.md")
	var wrong []string
	for _, f := range files {
		first, _, _ := strings.Cut(f, "/")
		if !strings.HasPrefix(first, ".") && !slices.Contains(allowed, first) && !slices.Contains(wrong, first) {
			wrong = append(wrong, first)
		}
	}
	return wrong
}

func TestLayoutTopLevel(t *testing.T) {
	for _, name := range layoutTop(layoutTracked(t, layoutRoot(t))) {
		t.Errorf("%s does not belong at the top level", name)
	}
}

func TestLayoutTopLevelBites(t *testing.T) {
	got := layoutTop([]string{".ci/run", "cmd/sm/main.go", "go.mod", "docs/a.md", "docs/b.md", "main.go"})
	if want := []string{"docs", "main.go"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	const ignore = "# bin\n/bin/\n*.test\n\n/bench-*\n"
	for name, want := range map[string]bool{
		"bin": true, "deploy/plugin/bin": false, "a/sm.test": true, "bench-1.json": true, "cmd/bench-1": false, "# bin": false,
	} {
		if got := layoutIgnored(ignore, name); got != want {
			t.Errorf("ignored %q: got %v, want %v", name, got, want)
		}
	}
}

// layoutMentions looks for root as a whole path: the /src/sm of a checkout is neither in /src/smtp nor
// in example.org/src/sm.
func layoutMentions(text []byte, root string) bool {
	inName := func(b byte) bool {
		return b == '_' || b == '-' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
	}
	for rest := text; ; {
		i := bytes.Index(rest, []byte(root))
		if i < 0 {
			return false
		}
		end := i + len(root)
		if (i == 0 || !inName(rest[i-1])) && (end == len(rest) || !inName(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

func TestLayoutNoCheckoutPath(t *testing.T) {
	root := layoutRoot(t)
	if strings.Count(filepath.ToSlash(root), "/") < 2 || strings.HasPrefix(root, os.TempDir()) {
		t.Skipf("%s is nobody's home: it may stand in an example", root)
	}
	roots := []string{root}
	if real, err := filepath.EvalSymlinks(root); err == nil && real != root {
		roots = append(roots, real)
	}
	for _, name := range layoutTracked(t, root) {
		full := filepath.Join(root, filepath.FromSlash(name))
		if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() {
			continue // deleted and not committed yet, or a link
		}
		text, err := os.ReadFile(full)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range roots {
			if layoutMentions(text, r) {
				t.Errorf("%s names %s, which exists on this machine alone", name, r)
			}
		}
	}
}

func TestLayoutNoCheckoutPathBites(t *testing.T) {
	const root = "/home/dev/sm"
	for text, want := range map[string]bool{
		root:                                    true,
		`"cwd":"` + root + `"`:                  true,
		"cd " + root + "/cmd/sm":                true,
		"see " + root + ".":                     true,
		root + "tp " + root + "/x":              true,
		root + "tp":                             false,
		"https://example.org" + root + "-tools": false,
		"mnt" + root + "/x":                     false,
		"":                                      false,
	} {
		if got := layoutMentions([]byte(text), root); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
