package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"
)

// tree returns all files in the home, by path; an empty folder has the text "(empty)".
func (r *installRig) tree() map[string]string {
	r.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(r.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.home, path)
		switch {
		case err != nil:
			return err
		case !entry.IsDir():
			all[name] = r.read(path)
		default:
			if inside, err := os.ReadDir(path); err != nil || len(inside) == 0 {
				all[name] = "(empty)"
			}
		}
		return nil
	})
	noErrors(r.t, err)
	return all
}

func (r *installRig) checkTree(when string, want map[string]string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.tree()); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// settingsShapes returns settings in the forms that people, editors and clients write.
func settingsShapes() map[string]string {
	const other = `{"type":"command","command":"mine"}`
	const tabs = "{\n\t\"a\": 1,\n\t\"hooks\": {\n\t\t\"Stop\": [\n\t\t]\n\t}\n}\n"
	const compact = `{"a":1,"b":[1,2],"c":{"d":null}}`
	const line = `{"statusLine":{"type":"command","command":"%s"}}`
	return map[string]string{
		"empty file":        "",
		"a mark and blanks": byteOrderMark + " \n",
		"empty with spaces": "{  }",
		"empty over lines":  "{\n}\n",
		"empty hooks":       "{\n  \"hooks\": {  \n  }\n}",
		"all events empty":  `{"hooks":{"Stop":[],"Setup":[],"PostCompact":[ ]},"a":1}`,
		"empty group":       `{"hooks":{"Stop":[{}]}}`,
		"empty handlers":    `{"hooks":{"Stop":[{"matcher":"","hooks":[]}]}}`,
		"other groups":      `{"hooks":{"Stop":[{"hooks":[` + other + `]},{"hooks":[` + other + `,` + other + `]}]}}`,
		"a hook by http":    `{"hooks":{"Stop":[{"hooks":[{"type":"http","url":"http://localhost/x"}]}]}}`,
		"a status line":     "{\n  \"statusLine\": {\"command\": \"mine\", \"type\": \"command\", \"padding\": 0}\n}\n",
		"letters as escapes": fmt.Sprintf(
			line,
			`\u006dine \u00e9 \ud83d\ude00 a \u0026\u0026 b`,
		),
		"escaped slashes":     fmt.Sprintf(line, `\/usr\/bin\/mine`),
		"quotes and lines":    fmt.Sprintf(line, `echo \"it's\"\nb\tc`),
		"an empty command":    fmt.Sprintf(line, ""),
		"as the client":       "{\n  \"a\": 1,\n  \"b\": [\n    1,\n    2\n  ],\n  \"c\": {}\n}",
		"tabs":                tabs,
		"tabs, Windows":       strings.ReplaceAll(tabs, "\n", "\r\n"),
		"compact":             compact,
		"compact, marked":     byteOrderMark + compact,
		"compact, two ends":   compact + "\n\n",
		"no indentation":      "{\n\"a\": 1,\n\"hooks\": {}\n}\n",
		"odd indentation":     "{\n   \"a\": {\n \"b\": 1},\n        \"c\": [\n1]\n  }\n",
		"commas first":        "{\n  \"a\": 1\n, \"b\": 2\n}\n",
		"blank lines":         "\n\n{ \n\n  \"a\" : 1 \n\n} \n\n\n",
		"numbers and escapes": `{"a":1.0,"b":1e3,"c":-0,"d":12345678901234567890,"\u0065":"\/\u2028","":{"é":"\ud800"}}`,
		"switches":            `{"disableAllHooks":false,"hooks":{},"statusLine":{"type":"command","command":"x"},"a":1}`,
		"plugins of others":   `{"enabledPlugins":{"x@y":true},"extraKnownMarketplaces":{}}`,
	}
}

// TestInstallGivesBackEveryByte tests for settings of any shape that dry runs show the
// changes, and that the home is restored byte for byte when the installation is removed.
func TestInstallGivesBackEveryByte(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many installations")
	}
	for name, shape := range settingsShapes() {
		r := newInstallRig(t)
		r.write(r.path, shape, 0o600)
		before := r.tree()
		r.doneAsShown("install")
		if text := r.read(r.path); !strings.Contains(text, "/bin/sm") ||
			!json.Valid(bytes.TrimPrefix([]byte(text), []byte(byteOrderMark))) {
			t.Errorf("%s: installed: %s", name, text)
		}
		r.want(outcome{Out: unchangedLine}, "install")
		r.doneAsShown("uninstall")
		r.checkTree(name, before)
	}
}

// TestPluginGivesBackEveryByte tests that settings of any shape are restored, also after
// switching between plugin and settings, although the client rewrites all settings when it
// installs and removes a plugin and leaves empty members.
func TestPluginGivesBackEveryByte(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many processes")
	}
	all := settingsShapes()
	for _, name := range []string{
		"no file", "empty with spaces", "all events empty", "tabs, Windows",
		"letters as escapes", "other groups", "odd indentation", "plugins of others",
	} {
		r := newPluginRig(t)
		if name != "no file" {
			r.write(r.path, all[name], 0o600)
		}
		before := r.tree()
		r.done("install")
		r.done("install", "--plugin", "--guard")
		r.done("uninstall")
		after := r.tree()
		for path := range after { // the client's own
			if path == ".claude/calls" || strings.HasPrefix(path, ".claude/plugins/") {
				delete(after, path)
			}
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s (-before +after):\n%s", name, diff)
		}
	}
}

// done runs a command that must succeed.
func (r *installRig) done(args ...string) {
	r.t.Helper()
	if got := r.run(args...); got.Code != 0 || got.ErrOut != "" {
		r.t.Fatalf("sm %q: %+v", args, got)
	}
}

// TestUninstallWhereNothingWas tests that files and folders that did not exist are removed,
// and that files that others have added there stay.
func TestUninstallWhereNothingWas(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	before := r.tree()
	r.done("install", "--guard")
	r.done("uninstall")
	r.checkTree("after uninstall", before)

	r.done("install", "--guard")
	r.write(r.path, strings.Replace(r.read(r.path), "{", `{"theme":"dark",`, 1), 0o600)
	r.write(r.dir+"/skills/mine/SKILL.md", "mine", 0o600)
	r.done("uninstall")
	if left := r.tree()[".claude/settings.json"]; !strings.Contains(left, `"theme"`) ||
		strings.Contains(left, "sm") {
		t.Errorf("left behind: %s", left)
	}
	if left := r.tree()[".claude/skills/mine/SKILL.md"]; left != "mine" {
		t.Errorf("skill: got %q", left)
	}
}

// TestUninstallAfterEdit tests that empty objects and lists of the user stay in a file that
// was edited since.
func TestUninstallAfterEdit(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{
		`{"hooks":{}}`,
		`{"hooks":{"Stop":[]}}`,
		`{"enabledPlugins":{}}`,
	} {
		for _, again := range []string{"install", "install --plugin"} {
			r := newPluginRig(t)
			r.write(r.path, shape, 0o600)
			r.done("install")
			r.write(
				r.path,
				strings.Replace(r.read(r.path), "{", `{"theme":"dark",`, 1),
				0o600,
			)
			r.done(strings.Fields(again)...)
			r.done("uninstall")
			var got, want any
			noErrors(t, json.Unmarshal([]byte(r.read(r.path)), &got))
			_ = json.Unmarshal([]byte(`{"theme":"dark",`+shape[1:]), &want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, then %s (-want +got):\n%s", shape, again, diff)
			}
		}
	}
}

// TestInstallWithoutARecord tests that an installation by an sm that stored no record is
// removed as far as possible.
func TestInstallWithoutARecord(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		"",
		"{",
		`{"settings":"/elsewhere","known":true,"before":"eA=="}`,
		`[]`,
	} {
		r := newInstallRig(t)
		r.write(r.path, "{\n  \"a\": 1\n}\n", 0o600)
		r.done("install")
		records, err := filepath.Glob(r.home + "/.local/state/sm/install/*.json")
		if err != nil || len(records) != 1 {
			t.Fatalf("got %q, %v", records, err)
		}
		if info, err := os.Stat(records[0]); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", info.Mode(), err)
		}
		r.write(records[0], damage, 0o600)
		r.done("install", "--guard")
		r.done("uninstall")
		if got := r.read(r.path); got != "{\n  \"a\": 1\n}\n" {
			t.Errorf("%q: left %q", damage, got)
		}
	}
}

// byteOrderMark begins files of some editors.
const byteOrderMark = "\uFEFF"

// doneAsShown runs a command and checks that it does what its dry run prints.
func (r *installRig) doneAsShown(command string) {
	r.t.Helper()
	before := r.read(r.path)
	dry := r.run(command, "--dry-run")
	if got := r.read(r.path); got != before {
		r.t.Fatalf("a dry run changed the file to %q", got)
	}
	r.done(command)
	_, want, _ := strings.Cut(
		string(diff.Diff(r.path, []byte(before), r.path, []byte(r.read(r.path)))),
		"\n",
	)
	if diff := cmp.Diff(strings.ReplaceAll(want, r.home, "~"), dry.Out); diff != "" {
		r.t.Errorf("%s (-done +shown):\n%s", command, diff)
	}
}
