package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// newCodexRig returns a home with a folder of Codex, and the path of its hooks.
func newCodexRig(t *testing.T) (r *installRig, hooks string) {
	t.Helper()
	r = newInstallRig(t)
	r.write(r.home+"/.codex/config.toml", "model = \"gpt-6-sol\"\n", 0o600)
	return r, r.home + "/.codex/hooks.json"
}

// TestInstallCodexGivesBackEveryByte tests that hooks.json of any shape is restored.
func TestInstallCodexGivesBackEveryByte(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs hundreds of processes, one at a time; a few are enough for the race detector")
	}
	for name, shape := range settingsShapes() {
		r, hooks := newCodexRig(t)
		r.write(hooks, shape, 0o640)
		before := r.tree()
		r.done("install", "--codex")
		text := r.read(hooks)
		if strings.Count(text, "hook --client codex") != 12 ||
			!json.Valid(bytes.TrimPrefix([]byte(text), []byte(byteOrderMark))) {
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
