package main_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLayoutReadmes: the first page is short, and each folder at the top level has a page.
func TestLayoutReadmes(t *testing.T) {
	t.Parallel()
	root := layoutRoot(t)
	first := layoutRead(t, filepath.Join(root, "README.md"))
	if n := strings.Count(first, "\n"); n > 200 {
		t.Errorf("README.md has %d lines; at most 200, the rest belongs into the folder that it speaks of", n)
	}
	if picture := strings.Index(first, "!["); picture < 0 || strings.Count(first[:picture], "\n") > 24 {
		t.Error("README.md has no picture on its first screen")
	}
	for _, folder := range strings.Fields("alerts cmd dashboards deploy handoff observer transcript") {
		if _, err := os.Stat(filepath.Join(root, folder, "README.md")); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// TestLayoutLinks: what a page of ours leads to is there, headings too.
func TestLayoutLinks(t *testing.T) {
	t.Parallel()
	root := layoutRoot(t)
	pages := 0
	for _, name := range layoutTracked(t, root) {
		if path.Ext(name) != ".md" || strings.Contains(name, "testdata/") {
			continue
		}
		pages++
		for _, wrong := range layoutDeadLinks(t, root, name) {
			t.Error(wrong)
		}
	}
	if pages < 8 {
		t.Errorf("only %d pages were looked at", pages)
	}
}

func TestLayoutLinksBite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"a.md": "# One\n[b](b.md#two) [gone](c.md) [no heading](b.md#three) [here](#one) [web](https://example.org/x)\n",
		"b.md": "## Two\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if wrong := layoutDeadLinks(t, root, "a.md"); len(wrong) != 2 {
		t.Errorf("want c.md and b.md#three, got %q", wrong)
	}
}

// layoutDeadLinks gives a line for each link of a page that leads nowhere.
func layoutDeadLinks(t *testing.T, root, name string) []string {
	t.Helper()
	var wrong []string
	text := layoutRead(t, filepath.Join(root, name))
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if strings.Contains(m[1], "://") {
			continue
		}
		file, anchor, _ := strings.Cut(m[1], "#")
		target := filepath.Join(root, path.Dir(name), file)
		if file == "" {
			target = filepath.Join(root, name)
		}
		if _, err := os.Stat(target); err != nil {
			wrong = append(wrong, name+" leads to "+m[1]+", which is not there")
		} else if anchor != "" && !layoutAnchors(layoutRead(t, target))[anchor] {
			wrong = append(wrong, name+" leads to "+m[1]+", and there is no such heading")
		}
	}
	return wrong
}

// layoutAnchors are the names under which hosts of repositories make the headings of a page reachable.
func layoutAnchors(text string) map[string]bool {
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	anchors := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		anchors[strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return anchors
}

func layoutRead(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
