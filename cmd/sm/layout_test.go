package main_test

import (
	"bytes"
	"cmp"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const layoutRoot = "../.."

// layoutFiles lists the files of the repository by git, or those of its folder without git.
func layoutFiles(t *testing.T) []string {
	t.Helper()
	if out, err := exec.Command(
		"git",
		"-C",
		layoutRoot,
		"ls-files",
		"-z",
	).Output(); err == nil &&
		len(out) > 0 {
		return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	}
	var names []string
	err := filepath.WalkDir(layoutRoot, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, err = filepath.Rel(layoutRoot, name)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// layoutRead returns a file of the repository, nil for one that is deleted but not committed.
func layoutRead(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(layoutRoot, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return text
}

func below(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// TestLayoutImports tests that a package imports only its own layer and earlier ones, that
// some packages have few importers, where test means all tests, and that pure packages use no
// files, processes or network.
func TestLayoutImports(t *testing.T) {
	t.Parallel()
	layers := strings.Fields("transcript alerts handoff observer dashboards deploy cmd")
	level := func(p string) int {
		return slices.IndexFunc(
			layers,
			func(layer string) bool { return below(p, "sm/"+layer) },
		)
	}
	limited := map[string][]string{
		"sm/transcript/transcripttest":    {"sm/cmd/bench", "test"},
		"sm/observer/history/historytest": {"test"},
		"github.com/nxadm/tail":           {"sm/transcript/follow"},
		"github.com/spf13/viper":          {"sm/cmd/sm/internal/config"},
		"github.com/spf13/cobra":          {"sm/cmd/sm"},
	}
	pure := strings.Fields("sm/transcript sm/transcript/jsonwalk sm/transcript/claude sm/transcript/codex sm/alerts sm/alerts/outbox")
	impure := strings.Fields("os os/exec os/signal net syscall")
	for _, name := range layoutFiles(t) {
		if path.Ext(name) != ".go" || strings.Contains(name, "testdata/") {
			continue
		}
		f, err := parser.ParseFile(
			token.NewFileSet(),
			name,
			layoutRead(t, name),
			parser.ImportsOnly,
		)
		if err != nil {
			continue // deleted, or the compiler reports it
		}
		from := path.Join("sm", path.Dir(name))
		test := strings.HasSuffix(name, "_test.go")
		for _, spec := range f.Imports {
			to, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
			for limit, importers := range limited {
				allowed := below(from, limit) || test && slices.Contains(importers, "test")
				for _, importer := range importers {
					allowed = allowed || below(from, importer)
				}
				if below(to, limit) && !allowed {
					t.Errorf("%s imports %s, which only %v may import", name, to, importers)
				}
			}
			if !test && level(to) > level(from) {
				t.Errorf("%s imports %s, which is in a later layer", name, to)
			}
			if !test && slices.Contains(pure, from) &&
				(slices.Contains(impure, to) || below(to, "net")) {
				t.Errorf("%s is pure and imports %s", name, to)
			}
		}
	}
}

// TestLayoutReadmes tests that the first page is short and shows a picture, that each layer
// has a page, and that links between pages lead to existing files and headings.
func TestLayoutReadmes(t *testing.T) {
	t.Parallel()
	first := layoutRead(t, "README.md")
	picture := bytes.Index(first, []byte("!["))
	if bytes.Count(first, []byte("\n")) > 200 || picture < 0 ||
		bytes.Count(first[:picture], []byte("\n")) > 24 {
		t.Error("README.md has more than 200 lines, or no picture on its first screen")
	}
	for _, folder := range strings.Fields("alerts cmd dashboards deploy handoff observer transcript") {
		if layoutRead(t, folder+"/README.md") == nil {
			t.Errorf("%s has no README.md", folder)
		}
	}
	link := regexp.MustCompile(`\]\(([^)\s#]*)#?([^)\s]*)\)`)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, name := range layoutFiles(t) {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(string(layoutRead(t, name)), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := cmp.Or(m[1], path.Base(name))
			target = path.Join(path.Dir(name), target)
			if _, err := os.Stat(filepath.Join(layoutRoot, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
			if m[2] == "" {
				continue
			}
			var anchors []string
			for _, h := range heading.FindAllStringSubmatch(
				string(layoutRead(t, target)),
				-1,
			) {
				anchor := dropped.ReplaceAllString(strings.ToLower(h[1]), "")
				anchors = append(anchors, strings.ReplaceAll(anchor, " ", "-"))
			}
			if !slices.Contains(anchors, m[2]) {
				t.Errorf("%s links to %s#%s, which has no such heading", name, m[1], m[2])
			}
		}
	}
}

// TestLayoutNoCheckoutPath tests that no file contains the path of this checkout.
func TestLayoutNoCheckoutPath(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(layoutRoot)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(filepath.ToSlash(root), "/") < 2 ||
		strings.HasPrefix(root, os.TempDir()) {
		t.Skipf("%s may be part of an example", root)
	}
	whole := regexp.MustCompile(`(^|[^\w-])` + regexp.QuoteMeta(root) + `($|[^\w-])`)
	for _, name := range layoutFiles(t) {
		info, err := os.Lstat(filepath.Join(layoutRoot, name))
		if err == nil && info.Mode().IsRegular() && whole.Match(layoutRead(t, name)) {
			t.Errorf("%s contains %s, a path of this machine", name, root)
		}
	}
}
