package projects

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// place makes a file, or a folder where the text is "".
func place(t *testing.T, path, text string) {
	t.Helper()
	if text == "" {
		noErrors(t, os.MkdirAll(path, 0o700))
		return
	}
	write(t, path)
	noErrors(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", filepath.Join(dir, "dev"))
	for name, text := range map[string]string{
		"dev/.git":                       "",
		"dev/notes/today":                "",
		"dev/shop/.git/worktrees/7":      "",
		"dev/shop/cmd/till":              "",
		"dev/shop/.claude/worktrees/7/x": "",
		"dev/shop/.claude/worktrees/7/.git": "gitdir: " + dir +
			"/dev/shop/.git/worktrees/7\n",
		"dev/shop/lib/parts/.git":       "gitdir: ../../.git/modules/parts\n",
		"wt/fix-login/.git":             "gitdir: ../../dev/shop/.git/worktrees/fix-login\n",
		"wt/2/.git":                     "gitdir: " + dir + "/srv/depot.git/worktrees/2\n",
		"tree/.bare/worktrees/main":     "",
		"tree/main/.git":                "gitdir: " + dir + "/tree/.bare/worktrees/main\n",
		"wt/odd/.git":                   "gitdir: /worktrees/\n",
		"wt/large/.git":                 strings.Repeat("gitdir: /a/.git/worktrees/", 999),
		"codex/worktrees/a1b2/api/.git": "gitdir: " + dir + "/dev/shop/.git/worktrees/api\n",
		"clones/web/1/.git":             "",
	} {
		place(t, filepath.Join(dir, name), text)
	}
	var names Names
	for cwd, want := range map[string]string{
		"dev":                            "dev",
		"dev/notes/today":                "today",
		"dev/shop":                       "shop",
		"dev/shop/cmd/till/":             "shop",
		"dev/shop/.claude/worktrees/7/x": "shop",
		"dev/shop/lib/parts":             "parts",
		"wt/fix-login":                   "shop",
		"wt/2":                           "depot",
		"tree/main":                      "tree",
		"wt/odd":                         "odd",
		"wt/large":                       "large",
		"codex/worktrees/a1b2/api":       "shop",
		"clones/web/1":                   "web",
		"gone/site/3":                    "site",
		strings.Repeat("x/", 3000) + "y": "y",
	} {
		if got := names.Of(dir + "/" + cwd); got != want {
			t.Errorf("%.40s: %q, want %q", cwd, got, want)
		}
	}
	if got := names.Of("shop/cmd"); got != "cmd" {
		t.Errorf("a relative path is %q", got)
	}
}

func TestNamesAreLookedUpElsewhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "shop")
	place(t, filepath.Join(dir, ".git"), "")
	place(t, filepath.Join(dir, "cmd"), "")
	synctest.Test(t, func(t *testing.T) {
		names := NewNames()
		if got := names.Of(dir + "/cmd"); got != "cmd" {
			t.Errorf("before Run: %q", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go names.Run(ctx)
		synctest.Wait()
		if got := names.Of(dir + "/cmd"); got != "shop" {
			t.Errorf("after Run: %q", got)
		}
	})
}
