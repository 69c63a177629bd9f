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
	if n := strings.Count(text, r.program+" hook --client codex"); n != 11 || strings.Contains(text, `"http"`) || strings.Contains(text, "statusLine") {
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

// TestInstallCodexElsewhere: CODEX_HOME decides; a folder that was made goes again, and so does the state's, in whatever
// order the clients' hooks come and go.
func TestInstallCodexElsewhere(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	before := r.tree()
	r.vars["CODEX_HOME"] = r.home + "/c x"
	r.done("install", "--codex", "--socket", "/s o")
	if text := r.read(r.home + "/c x/hooks.json"); strings.Count(text, r.program+" hook --client codex --socket '/s o'") != 11 {
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

// TestInstallCodexGivesBackEveryByte: whatever shape hooks.json has.
func TestInstallCodexGivesBackEveryByte(t *testing.T) {
	t.Parallel()
	for name, shape := range settingsShapes() {
		r, hooks := newCodexRig(t)
		r.write(hooks, shape, 0o640)
		before := r.tree()
		r.done("install", "--codex")
		text := r.read(hooks)
		if strings.Count(text, "hook --client codex") != 11 || !json.Valid(bytes.TrimPrefix([]byte(text), []byte(byteOrderMark))) {
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
	if len(got.Hooks) != 11 || len(stop) != 1 || len(stop[0].Hooks) != 1 || stop[0].Hooks[0].Command != r.program+" hook --client codex" || stop[0].Hooks[0].Timeout != 5 {
		t.Errorf("%s", r.read(hooks))
	}
}

// TestInstallCodexRefuses: what cannot be edited without doubt is refused before anything is changed, also for the other
// client.
func TestInstallCodexRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text, want string
		mode             os.FileMode
	}{
		{"broken", "{\"hooks\": {},}", "line 1: invalid character '}' looking for beginning of object key string; correct the file, it is untouched", 0o600},
		{"comments", "{\n  // mine\n}\n", "line 2: a comment, which JSON does not have; correct the file, it is untouched", 0o600},
		{"a list", "[]", "the settings are not a JSON object; correct them", 0o600},
		{"hooks that are none", `{"hooks":[]}`, "line 1: hooks is not an object; correct it", 0o600},
		{"an event that is no list", `{"hooks":{"PostModelRequest":{}}}`, "line 1: hooks.PostModelRequest is not a list; correct it", 0o600},
	} {
		for _, args := range [][]string{{"install"}, {"install", "--codex"}, {"install", "--dry-run"}} {
			r, hooks := newCodexRig(t)
			r.write(hooks, tt.text, tt.mode)
			before := r.tree()
			r.want(outcome{1, "", "sm: ~/.codex/hooks.json: " + tt.want + "\n"}, args...)
			r.checkTree(tt.name, before)
		}
	}
	r, hooks := newCodexRig(t)
	r.write(hooks, "{}", 0o400)
	before := r.tree()
	r.want(outcome{1, "", "sm: ~/.codex/hooks.json is read-only; run chmod u+w ~/.codex/hooks.json\n"}, "install")
	r.checkTree("read-only", before)
}
