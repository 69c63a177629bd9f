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

const (
	layoutModule  = "sm"
	layoutSupport = "sm/transcript/transcripttest"
	layoutHistory = "sm/observer/history/historytest"
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
	tests   []string // ours too, for its tests
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
		"sm/transcript", "sm/transcript/bills", "sm/transcript/claude", "sm/transcript/claude/hook", "sm/transcript/clients", "sm/transcript/codex", "sm/transcript/codex/files", "sm/transcript/codex/hook", "sm/transcript/follow", "sm/transcript/wording", "sm/alerts", "sm/alerts/outbox",
		"sm/handoff", "sm/handoff/files", "sm/handoff/guard", "sm/handoff/proc", "sm/handoff/queue", "sm/handoff/rotation", "sm/handoff/tmux", "sm/handoff/supervise", "sm/observer", "sm/observer/fleet",
		"sm/observer/metrics", "sm/observer/state", "sm/observer/api", "sm/observer/socket", "sm/observer/access", "sm/observer/curve", "sm/observer/pages", "sm/observer/wire", "sm/observer/catchup", "sm/observer/projects", "sm/observer/levels", "sm/observer/overflow", "sm/observer/documents", "sm/observer/persist", "sm/observer/respond", "sm/observer/rereads", "sm/observer/notify", "sm/dashboards", "sm/dashboards/page", "sm/dashboards/screen", "sm/dashboards/screen/plain", "sm/dashboards/top", "sm/deploy", "sm/deploy/jsonedit", "sm/deploy/install", "sm/deploy/doctor", "sm/deploy/service",
		"sm/dashboards/central", "sm/observer/alertmanager", "sm/observer/httpclient",
	}
	past := []string{"sm/observer/history", "sm/observer/history/report", "sm/observer/history/tune", "sm/observer/history/replay", "sm/observer/demo"} // for commands, never for the observer
	commands := []string{"sm/cmd/sm", "sm/cmd/bench"}
	return layoutRules{
		rows: map[string]layoutRow{
			"sm/transcript":                {stdOnly: true},
			"sm/transcript/jsonwalk":       {ours: []string{"sm/transcript"}, stdOnly: true},
			"sm/transcript/bills":          {ours: []string{"sm/transcript/wording", "sm/transcript"}, stdOnly: true},
			"sm/transcript/claude":         {ours: []string{"sm/transcript/bills", "sm/transcript/jsonwalk", "sm/transcript/wording", "sm/transcript"}, stdOnly: true},
			"sm/transcript/codex/files":    {stdOnly: true},
			"sm/transcript/codex":          {ours: []string{"sm/transcript/codex/files", "sm/transcript/bills", "sm/transcript/jsonwalk", "sm/transcript/wording", "sm/transcript"}},
			"sm/transcript/clients":        {ours: []string{"sm/transcript", "sm/transcript/claude", "sm/transcript/codex", "sm/transcript/codex/files"}, stdOnly: true},
			layoutSupport:                  {stdOnly: true},
			"sm/transcript/claude/hook":    {ours: []string{"sm/transcript/wording"}},
			"sm/transcript/codex/hook":     {ours: []string{"sm/transcript/claude/hook", "sm/transcript/codex/files"}, stdOnly: true},
			"sm/transcript/wording":        {stdOnly: true},
			"sm/transcript/follow":         {ours: []string{"sm/transcript"}, tests: []string{"sm/transcript/claude", "sm/transcript/codex", "sm/handoff/proc"}},
			"sm/alerts":                    {ours: []string{"sm/transcript/wording", "sm/transcript"}, tests: []string{"sm/transcript/claude"}},
			"sm/alerts/outbox":             {ours: []string{"sm/transcript/wording", "sm/alerts"}},
			"sm/handoff":                   {ours: []string{"sm/transcript/wording", "sm/alerts", "sm/transcript", "sm/transcript/claude/hook", "sm/handoff/files"}},
			"sm/handoff/rotation":          {ours: []string{"sm/transcript/wording", "sm/alerts"}},
			"sm/handoff/files":             {},
			"sm/handoff/guard":             {ours: []string{"sm/transcript/claude/hook", "sm/handoff/files"}},
			"sm/handoff/tmux":              {ours: []string{"sm/transcript/wording", "sm/handoff/proc"}},
			"sm/handoff/proc":              {stdOnly: true},
			"sm/handoff/queue":             {ours: []string{"sm/handoff/proc"}, stdOnly: true},
			"sm/handoff/supervise":         {ours: []string{"sm/handoff/proc"}},
			"sm/observer/tally":            {ours: []string{"sm/transcript", "sm/transcript/clients"}, stdOnly: true},
			"sm/observer/fleet/threads":    {ours: []string{"sm/transcript"}, stdOnly: true},
			"sm/observer/fleet/backlog":    {ours: []string{"sm/transcript"}, stdOnly: true},
			"sm/observer/fleet/crosscheck": {ours: []string{"sm/transcript"}, stdOnly: true},
			"sm/observer/fleet":            {ours: []string{"sm/observer/fleet/threads", "sm/observer/fleet/backlog", "sm/observer/fleet/crosscheck", "sm/observer/tally", "sm/transcript", "sm/transcript/bills", "sm/transcript/claude", "sm/transcript/clients", "sm/transcript/codex", "sm/transcript/claude/hook", "sm/alerts"}},
			"sm/observer/state":            {ours: []string{"sm/observer/tally", "sm/transcript", "sm/transcript/claude/hook", "sm/alerts", "sm/alerts/outbox", "sm/handoff", "sm/observer/fleet"}},
			"sm/observer/metrics":          {ours: []string{"sm/observer/tally", "sm/transcript", "sm/transcript/claude/hook", "sm/transcript/follow", "sm/alerts", "sm/alerts/outbox", "sm/handoff/rotation", "sm/observer/fleet"}, tests: []string{"sm/observer/fleet/crosscheck"}},
			"sm/observer/api":              {ours: []string{"sm/observer/socket"}},
			"sm/observer/socket":           {},
			"sm/observer/access":           {ours: []string{"sm/observer/socket"}, tests: []string{"sm/observer/api"}},
			"sm/observer/catchup":          {ours: []string{"sm/transcript"}, stdOnly: true},
			"sm/observer/levels":           {ours: []string{"sm/alerts"}},
			"sm/observer/documents":        {ours: []string{"sm/handoff", "sm/handoff/rotation"}, stdOnly: true},
			"sm/observer/overflow":         {ours: []string{"sm/alerts", "sm/handoff/guard", "sm/handoff/rotation", "sm/observer/api", "sm/transcript/claude/hook", "sm/transcript/wording"}, stdOnly: true},
			"sm/observer/persist":          {ours: []string{"sm/alerts", "sm/alerts/outbox", "sm/handoff/rotation", "sm/observer/fleet", "sm/observer/state", "sm/transcript/claude/hook"}, stdOnly: true},
			"sm/observer/respond":          {ours: []string{"sm/alerts", "sm/alerts/outbox", "sm/handoff", "sm/handoff/rotation", "sm/observer/access", "sm/observer/fleet", "sm/observer/pages"}, stdOnly: true},
			"sm/observer/rereads":          {ours: []string{"sm/observer/fleet", "sm/transcript"}, stdOnly: true},
			"sm/observer/notify":           {stdOnly: true},
			"sm/observer/projects":         {ours: []string{"sm/transcript", "sm/transcript/follow"}, stdOnly: true, tests: []string{"sm/transcript/clients"}},
			"sm/observer/wire":             {ours: []string{"sm/observer/tally", "sm/transcript", "sm/transcript/wording", "sm/alerts", "sm/alerts/outbox", "sm/handoff/rotation", "sm/observer/api", "sm/observer/fleet"}, stdOnly: true},
			"sm/observer/curve":            {ours: []string{"sm/transcript", "sm/transcript/clients", "sm/alerts", "sm/dashboards/page"}},
			"sm/observer/pages":            {ours: []string{"sm/alerts", "sm/alerts/outbox", "sm/dashboards/central", "sm/dashboards/page", "sm/observer/api", "sm/observer/curve", "sm/observer/fleet", "sm/transcript/claude"}},
			"sm/observer/history":          {ours: []string{"sm/transcript/bills", "sm/transcript/wording", "sm/transcript", "sm/transcript/claude", "sm/transcript/clients", "sm/transcript/follow", "sm/alerts", "sm/observer/fleet"}, tests: []string{"sm/observer/tally"}},
			"sm/observer/history/report":   {ours: []string{"sm/transcript", "sm/alerts", "sm/observer/fleet", "sm/observer/api", "sm/observer/history"}, tests: []string{layoutHistory}},
			layoutHistory:                  {ours: []string{"sm/observer/history"}},
			"sm/observer/history/tune":     {ours: []string{"sm/transcript", "sm/alerts", "sm/observer/api", "sm/observer/history", "sm/observer/history/report"}, tests: []string{layoutHistory}},
			"sm/observer":                  {ours: layoutWithout(libraries, "sm/observer", "sm/handoff/proc", "sm/handoff/queue", "sm/handoff/tmux", "sm/handoff/supervise", "sm/deploy/install", "sm/deploy/doctor", "sm/deploy/service")},
			"sm/observer/history/replay":   {ours: []string{"sm/transcript", "sm/alerts", "sm/observer/fleet"}, tests: []string{"sm/observer/history", "sm/transcript/claude"}},
			"sm/observer/demo":             {ours: []string{"sm/transcript/claude/hook"}, tests: []string{"sm/transcript", "sm/observer/fleet", "sm/observer/history"}},
			"sm/dashboards":                {},
			"sm/dashboards/page":           {ours: []string{"sm/dashboards/urgency"}, stdOnly: true},
			"sm/deploy":                    {},
			"sm/dashboards/screen":         {ours: []string{"sm/dashboards/screen/plain"}},
			"sm/dashboards/screen/plain":   {stdOnly: true},
			"sm/dashboards/urgency":        {stdOnly: true},
			"sm/dashboards/central":        {ours: []string{"sm/alerts", "sm/observer/api", "sm/observer/httpclient"}},
			"sm/observer/httpclient":       {},
			"sm/observer/alertmanager":     {ours: []string{"sm/alerts", "sm/observer/httpclient"}},
			"sm/cmd/sm":                    {ours: slices.Concat(libraries, past, []string{"sm/cmd/internal/caller", "sm/cmd/internal/hooks", "sm/cmd/internal/version", "sm/cmd/sm/internal/config", "sm/cmd/sm/internal/prompt", "sm/cmd/sm/internal/usage", "sm/cmd/sm/internal/term", "sm/cmd/sm/internal/view"}), tests: []string{layoutHistory}},
			"sm/cmd/internal/caller":       {ours: []string{"sm/cmd/internal/places", "sm/handoff/guard", "sm/handoff/proc", "sm/transcript", "sm/transcript/claude/hook"}},
			"sm/cmd/internal/hooks":        {ours: []string{"sm/cmd/internal/caller", "sm/cmd/internal/places", "sm/cmd/internal/version", "sm/dashboards/screen/plain", "sm/handoff/guard", "sm/handoff/proc", "sm/observer/socket", "sm/transcript/claude/hook", "sm/transcript/codex/files", "sm/transcript/codex/hook"}},
			"sm/cmd/internal/places":       {ours: []string{"sm/dashboards/screen/plain", "sm/observer/socket"}, stdOnly: true},
			"sm/cmd/internal/version":      {stdOnly: true},
			"sm/cmd/sm-hook":               {ours: []string{"sm/cmd/internal/hooks"}, stdOnly: true},
			"sm/cmd/sm/internal/config":    {ours: []string{"sm/cmd/internal/places", "sm/dashboards/screen", "sm/dashboards/screen/plain", "sm/observer/socket"}},
			"sm/cmd/sm/internal/prompt":    {ours: []string{"sm/handoff/queue", "sm/handoff/tmux", "sm/observer/fleet", "sm/transcript/claude/hook", "sm/transcript/codex"}},
			"sm/cmd/sm/internal/usage":     {ours: []string{"sm/cmd/sm/internal/config", "sm/dashboards/screen/plain"}},
			"sm/dashboards/top":            {ours: []string{"sm/dashboards/page", "sm/dashboards/screen", "sm/dashboards/urgency", "sm/observer/api"}},
			"sm/cmd/sm/internal/term":      {ours: []string{"sm/dashboards/screen"}},
			"sm/cmd/sm/internal/view":      {ours: []string{"sm/alerts", "sm/cmd/sm/internal/term", "sm/dashboards/page", "sm/dashboards/screen", "sm/dashboards/screen/plain", "sm/dashboards/top", "sm/deploy/doctor", "sm/observer/api", "sm/observer/history/replay", "sm/observer/history/report", "sm/observer/history/tune"}},
			"sm/cmd/bench":                 {ours: append(slices.Clone(libraries), layoutSupport)},
			"sm/cmd/release":               {ours: []string{"sm/deploy"}},
			"sm/deploy/install":            {ours: []string{"sm/deploy", "sm/deploy/jsonedit", "sm/handoff/proc", "sm/transcript", "sm/transcript/claude", "sm/transcript/claude/hook"}},
			"sm/deploy/doctor":             {ours: []string{"sm/deploy", "sm/deploy/jsonedit", "sm/deploy/install", "sm/dashboards/screen", "sm/dashboards/screen/plain", "sm/handoff/proc", "sm/observer/api", "sm/transcript", "sm/transcript/claude", "sm/transcript/claude/hook"}},
			"sm/deploy/service":            {ours: []string{"sm/deploy"}},
			"sm/deploy/jsonedit":           {ours: []string{"sm/dashboards/screen/plain"}, stdOnly: true},
		},
		only: []layoutOnly{
			{path: "sm/cmd/sm"},
			{path: "sm/cmd/internal", below: true, importers: []string{"sm/cmd/sm", "sm/cmd/sm/internal/config", "sm/cmd/sm-hook"}},
			{path: "sm/cmd/sm/internal", below: true, importers: []string{"sm/cmd/sm"}},
			{path: "sm/cmd/bench", below: true},
			{path: "sm/cmd/release", below: true},
			{path: "sm/observer", importers: commands},
			{path: layoutSupport, importers: []string{"sm/cmd/bench"}, tests: true},
			{path: layoutHistory, tests: true},
			{path: "github.com/nxadm/tail", below: true, importers: []string{"sm/transcript/follow"}},
			{path: "github.com/spf13/viper", below: true, importers: []string{"sm/cmd/sm/internal/config"}},
			{path: "github.com/spf13/cobra", below: true, importers: []string{"sm/cmd/sm", "sm/cmd/sm/internal/usage"}},
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
		if o.covers(to) && !o.covers(from) && !slices.Contains(o.importers, from) && !(o.tests && test) {
			return []string{edge + ": only for " + cmp.Or(strings.Join(o.importers, " and "), "nobody")}
		}
	}
	row := r.rows[from]
	switch {
	case to == layoutModule || strings.HasPrefix(to, layoutModule+"/"):
		if !slices.Contains(row.ours, to) && !(test && (to == layoutSupport || slices.Contains(row.tests, to))) {
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
		for _, to := range slices.Concat(row.ours, row.tests) {
			if _, known := rules.rows[to]; !known {
				t.Errorf("the row of %s names %s, which has none", pkg, to)
			}
			if wrong := rules.judge(pkg, to, !slices.Contains(row.ours, to)); wrong != nil {
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
		{"of a command", code("sm/observer", "sm/cmd/sm/internal"), "sm/observer imports sm/cmd/sm/internal: only for sm/cmd/sm"},
		{"of a command by a test", tests("sm/cmd/bench", "sm/cmd/sm"), "a test of sm/cmd/bench imports sm/cmd/sm: only for nobody"},
		{"of observer by a command", code("sm/cmd/bench", "sm/observer"), ""},
		{"of observer by a test", tests("sm/dashboards", "sm/observer"), "a test of sm/dashboards imports sm/observer: only for sm/cmd/sm and sm/cmd/bench"},
		{"below observer", code("sm/observer/state", "sm/observer/fleet", "go.etcd.io/bbolt"), ""},
		{"pure", code("sm/transcript", "golang.org/x/sys/unix"), "sm/transcript imports golang.org/x/sys/unix: standard library only"},
		{"up the flow by a test", tests("sm/alerts", "sm/transcript/claude"), ""},
		{"up the flow though a test may", code("sm/alerts", "sm/transcript/claude"), "sm/alerts imports sm/transcript/claude: not in its row"},
		{"pure without cgo", code("sm/transcript", "C"), "sm/transcript imports C: standard library only"},
		{"pure, tested with more", tests("sm/transcript", "sm/transcript", layoutSupport, "github.com/google/go-cmp/cmp"), ""},
		{"support by code", code("sm/transcript/follow", layoutSupport), "sm/transcript/follow imports " + layoutSupport + ": only for sm/cmd/bench"},
		{"support by the benchmark", code("sm/cmd/bench", layoutSupport), ""},
		{"support by the command", code("sm/cmd/sm", layoutSupport), "sm/cmd/sm imports " + layoutSupport + ": only for sm/cmd/bench"},
		{"support imports ours", code(layoutSupport, "sm/transcript"), layoutSupport + " imports sm/transcript: not in its row"},
		{"tail at home", code("sm/transcript/follow", "github.com/nxadm/tail"), ""},
		{"tail elsewhere", code("sm/observer", "github.com/nxadm/tail/watch"), "sm/observer imports github.com/nxadm/tail/watch: only for sm/transcript/follow"},
		{"tail in a test", tests("sm/observer", "github.com/nxadm/tail"), "a test of sm/observer imports github.com/nxadm/tail: only for sm/transcript/follow"},
		{"flags at home", code("sm/cmd/sm", "github.com/spf13/cobra"), ""},
		{"viper at home", code("sm/cmd/sm/internal/config", "github.com/spf13/viper"), ""},
		{"viper elsewhere", code("sm/observer", "github.com/spf13/viper"), "sm/observer imports github.com/spf13/viper: only for sm/cmd/sm/internal/config"},
		{"cobra elsewhere", code("sm/cmd/bench", "github.com/spf13/cobra/doc"), "sm/cmd/bench imports github.com/spf13/cobra/doc: only for sm/cmd/sm and sm/cmd/sm/internal/usage"},
		{"a name that only begins alike", code("sm/cmd/bench", "github.com/nxadm/tailor", "smile"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(layoutCheck(layoutTable(), c.graph), "\n"); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
