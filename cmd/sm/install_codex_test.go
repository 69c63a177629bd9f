package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

const (
	codexInstalledLine = "~/.codex/hooks.json: installed, but Codex runs no hook that its user has not trusted: start codex and choose " +
		"\"Trust all and continue\", or type /hooks and t; codex exec does not ask\n"
	codexUninstalledLine = "~/.codex/hooks.json: uninstalled\n"
	codexUnchangedLine   = "~/.codex/hooks.json: nothing to change\n"
)

// newCodexRig is a home with a folder of Codex, and the path of its hooks.
func newCodexRig(t *testing.T) (r *installRig, hooks string) {
	t.Helper()
	r = newInstallRig(t)
	r.write(r.home+"/.codex/config.toml", "model = \"gpt-6-sol\"\n", 0o600)
	return r, r.home + "/.codex/hooks.json"
}

// TestInstallCodex: where Codex is, its hooks come with the others, and go with them; --codex is for it alone.
func TestInstallCodex(t *testing.T) {
	t.Parallel()
	r, hooks := newCodexRig(t)
	before := r.tree()
	if got := r.run("install", "--dry-run"); got.Code != 0 || !strings.Contains(got.Out, "+++ ~/.codex/hooks.json") {
		t.Errorf("dry run: %+v", got)
	}
	r.checkTree("after the dry run", before)
	r.want(outcome{Out: installedLine + codexInstalledLine}, "install")
	r.want(outcome{Out: unchangedLine + codexUnchangedLine}, "install")
	text := r.read(hooks)
	if n := strings.Count(text, r.program+" hook --client codex"); n != 12 || strings.Contains(text, `"http"`) || strings.Contains(text, "statusLine") {
		t.Errorf("%d hooks: %s", n, text)
	}
	r.want(outcome{Out: codexUninstalledLine + uninstalledLine}, "uninstall")
	r.checkTree("after uninstall", before)

	r.want(outcome{Out: codexInstalledLine}, "install", "--codex")
	r.want(outcome{Out: codexUninstalledLine}, "uninstall", "--codex")
	r.checkTree("after Codex alone", before)
	for _, other := range []string{"--guard", "--plugin"} {
		if got := r.run("install", "--codex", other); got.Code == 0 || got.Out != "" {
			t.Errorf("%s: %+v", other, got)
		}
	}
	r.checkTree("after what contradicts itself", before)
}

// TestInstallCodexElsewhere: CODEX_HOME decides; the state's folder that was made goes again, in whatever order the clients'
// hooks come and go.
func TestInstallCodexElsewhere(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	if err := os.Mkdir(r.home+"/c x", 0o700); err != nil {
		t.Fatal(err)
	}
	before := r.tree()
	r.vars["CODEX_HOME"] = r.home + "/c x"
	r.done("install", "--codex", "--socket", "/s o")
	if text := r.read(r.home + "/c x/hooks.json"); strings.Count(text, r.program+" hook --client codex --socket '/s o'") != 12 {
		t.Errorf("hooks: %s", text)
	}
	r.done("install")
	r.done("uninstall")
	r.checkTree("both gone", before)
	r.done("install", "--codex")
	r.done("install")
	r.done("uninstall", "--codex")
	r.done("uninstall")
	r.checkTree("one after the other", before)
}

// TestInstallCodexNowhere: a CODEX_HOME that is no folder, where Codex itself refuses to start, is not made; the default one is,
// and goes again.
func TestInstallCodexNowhere(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	r.write(r.home+"/file", "", 0o600)
	before := r.tree()
	for _, name := range []string{"nowhere", "file", "file/below"} {
		r.vars["CODEX_HOME"] = r.home + "/" + name
		says := outcome{1, "", "sm: CODEX_HOME is ~/" + name + ", which is no folder; make it, or unset CODEX_HOME for ~/.codex\n"}
		r.want(says, "install", "--codex", "--dry-run")
		r.want(says, "install", "--codex")
		r.checkTree(name, before)
		if _, err := os.Lstat(r.home + "/nowhere"); err == nil {
			t.Error("it is made")
		}
	}
	delete(r.vars, "CODEX_HOME")
	r.want(outcome{Out: codexInstalledLine}, "install", "--codex")
	r.want(outcome{Out: codexUninstalledLine}, "uninstall", "--codex")
	r.checkTree("the default one", before)
}

// TestInstallCodexGivesBackEveryByte: whatever shape hooks.json has.
func TestInstallCodexGivesBackEveryByte(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("hundreds of processes, one at a time: the race detector finds nothing in them that it does not find in a few")
	}
	for name, shape := range settingsShapes() {
		r, hooks := newCodexRig(t)
		r.write(hooks, shape, 0o640)
		before := r.tree()
		r.done("install", "--codex")
		text := r.read(hooks)
		if strings.Count(text, "hook --client codex") != 12 || !json.Valid(bytes.TrimPrefix([]byte(text), []byte(byteOrderMark))) {
			t.Errorf("%s: installed: %s", name, text)
		}
		for _, mine := range []string{`"command":"mine"`, `"http"`} {
			if strings.Count(text, mine) != strings.Count(shape, mine) {
				t.Errorf("%s: others' hooks: %s", name, text)
			}
		}
		r.done("uninstall", "--codex")
		r.checkTree(name, before)
	}
}

// TestInstallCodexBringsUpToDate: hooks of ours in whatever form are there once, as they should be.
func TestInstallCodexBringsUpToDate(t *testing.T) {
	t.Parallel()
	r, hooks := newCodexRig(t)
	r.write(hooks, `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sm hook","timeout":5},{"type":"command","command":"/old/sm hook --client codex"}]}],"Gone":[{"hooks":[{"type":"command","command":"sm hook"}]}]}}`, 0o600)
	r.done("install", "--codex")
	var got struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Command string
				Timeout int
			}
		}
	}
	if err := json.Unmarshal([]byte(r.read(hooks)), &got); err != nil {
		t.Fatal(err)
	}
	stop := got.Hooks["Stop"]
	if len(got.Hooks) != 12 || len(stop) != 1 || len(stop[0].Hooks) != 1 || stop[0].Hooks[0].Command != r.program+" hook --client codex" || stop[0].Hooks[0].Timeout != 5 {
		t.Errorf("%s", r.read(hooks))
	}
}

// TestInstallCodexRefuses: a file that cannot be edited without doubt stays as it is, and keeps nothing from the other client.
func TestInstallCodexRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, want string
		mode             os.FileMode
	}{
		{"broken", "{\"hooks\": {},}", "line 1: invalid character '}' looking for beginning of object key string; correct the file, it is untouched", 0o600},
		{"comments", "{\n  // mine\n}\n", "line 2: a comment, which JSON does not have; correct the file, it is untouched", 0o600},
		{"a list", "[]", "the settings are not a JSON object; correct the file, it is untouched", 0o600},
		{"hooks that are none", `{"hooks":[]}`, "line 1: hooks is not an object; correct the file, it is untouched", 0o600},
		{"an event that is no list", `{"hooks":{"PostModelRequest":{}}}`, "line 1: hooks.PostModelRequest is not a list; correct the file, it is untouched", 0o600},
		{"read-only", "{}", "", 0o400},
	} {
		says := "~/.codex/hooks.json: " + tt.want + "\n"
		if tt.want == "" {
			says = "~/.codex/hooks.json is read-only; run chmod u+w ~/.codex/hooks.json\n"
		}
		r, hooks := newCodexRig(t)
		r.write(hooks, tt.text, tt.mode)
		before := r.tree()
		r.want(outcome{1, "", "sm: " + says}, "install", "--codex")
		installs := func(want string, args ...string) {
			t.Helper()
			env := r.environ()
			code, noted := env.execute(t.Context(), args), "sm: note: no hooks for Codex: "+says
			if out := r.clean(env.Stdout); code != 0 || !strings.Contains(out, want) || !strings.Contains(r.clean(env.Stderr), noted) {
				t.Errorf("%s: %q: %d %s%s, want the note %s", tt.name, args, code, out, r.clean(env.Stderr), noted)
			}
		}
		if tt.want != "" { // a dry run does not need to write
			installs("+++ ~/.claude/settings.json", "install", "--dry-run")
			r.checkTree(tt.name, before)
		}
		installs(installedLine, "install")
		if got := r.read(hooks); got != tt.text {
			t.Errorf("%s: the file is %q", tt.name, got)
		}
	}
}

// TestUninstallCodexRefuses: a file of Codex that cannot be edited keeps nothing from the other client, and is told of.
func TestUninstallCodexRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string // "" for what an installation has made of it
		mode os.FileMode
		want string
	}{
		{"{,}", 0o600, "sm: ~/.codex/hooks.json: line 1: invalid character ',' looking for beginning of object key string; correct the file, it is untouched\n"},
		{"", 0o400, "sm: ~/.codex/hooks.json is read-only; run chmod u+w ~/.codex/hooks.json\n"},
	} {
		r, hooks := newCodexRig(t)
		r.done("install")
		text := tt.text
		if text == "" {
			text = r.read(hooks)
		}
		r.write(hooks, text, tt.mode)
		r.want(outcome{1, "", tt.want}, "uninstall", "--codex")
		r.want(outcome{1, uninstalledLine, tt.want}, "uninstall")
		r.want(outcome{1, unchangedLine, tt.want}, "uninstall")
		if got := r.read(hooks); got != text {
			t.Errorf("the file is %q", got)
		}
	}
}
