package main_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

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
			pattern = anchored
			subject = name
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
