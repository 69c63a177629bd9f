package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const skillInstalledLine = "~/.claude/skills/session/SKILL.md: the skill /session is installed\n"

// shippedSkill is the skill as it is in the repository.
func shippedSkill(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "install", "skill", "SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// signedSkill is a skill as sm install writes it.
func signedSkill(text string) string {
	return fmt.Sprintf("%s<!-- written by sm install; sha256 %x -->\n", text, sha256.Sum256([]byte(text)))
}

func (r *installRig) skill() string { return r.dir + "/skills/session/SKILL.md" }

func (r *installRig) noSkill() {
	r.t.Helper()
	if _, err := os.Lstat(r.dir + "/skills/session"); !errors.Is(err, fs.ErrNotExist) {
		r.t.Errorf("the skill is there: %v", err)
	}
}

func TestInstallSkill(t *testing.T) {
	t.Parallel()
	r := newInstallRig(t)
	if got := r.run(
		"install",
		"--guard",
		"--dry-run",
	); got.Code != 0 ||
		!strings.Contains(got.Out, "+++ ~/.claude/skills/session/SKILL.md\n@@ -0,0 +1,") {
		t.Errorf("dry run: %+v", got)
	}
	r.noSkill()
	r.want(outcome{Out: installedLine}, "install")
	r.noSkill()
	r.want(outcome{Out: installedLine + skillInstalledLine}, "install", "--guard")
	if text := r.read(r.skill()); text != signedSkill(shippedSkill(t)) {
		t.Errorf("installed: %s", text)
	}
	if strings.Count(r.read(r.path), `"PreToolUse"`) != 1 {
		t.Errorf("settings: %s", r.read(r.path))
	}
	r.want(outcome{Out: unchangedLine}, "install", "--guard")
	r.want(outcome{Out: unchangedLine}, "install")

	// An older version, unchanged, is brought up to date; also without being asked.
	for _, args := range [][]string{{"install", "--guard"}, {"install"}} {
		r.write(r.skill(), signedSkill("---\nname: session\n---\nof old\n"), 0o644)
		r.want(outcome{Out: unchangedLine + skillInstalledLine}, args...)
	}
	r.want(outcome{Out: installedLine + "~/.claude/skills/session/SKILL.md: removed\n"}, "install", "--guard=false")
	r.noSkill()

	r.want(outcome{Out: installedLine + skillInstalledLine}, "install", "--guard")
	if got := r.run(
		"uninstall",
		"--dry-run",
	); got.Code != 0 || !strings.Contains(got.Out, "--- ~/.claude/skills/session/SKILL.md\n") ||
		r.read(r.skill()) != signedSkill(shippedSkill(t)) {
		t.Errorf("dry run: %+v", got)
	}
	r.want(outcome{Out: uninstalledLine + "~/.claude/skills/session/SKILL.md: removed\n"}, "uninstall")
	r.noSkill()
}

// What somebody else has written, or changed, is never overwritten or removed.
func TestInstallSkillOfOthers(t *testing.T) {
	t.Parallel()
	ours := signedSkill(shippedSkill(t))
	for name, text := range map[string]string{
		"foreign": "---\nname: session\n---\nMine.\n", "empty": "", "changed": strings.Replace(
			ours,
			"# Session",
			"# My session",
			1,
		),
		"added to": ours + "More.\n", "cut": ours[:len(ours)-10],
	} {
		t.Run(name, func(t *testing.T) {
			r := newInstallRig(t)
			r.write(r.skill(), text, 0o644)
			r.want(
				outcome{
					1,
					"",
					"sm: ~/.claude/skills/session/SKILL.md is not sm's, or has been changed; move it away, or install without --guard\n",
				},
				"install",
				"--guard",
			)
			if _, err := os.Stat(r.path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the settings are changed all the same: %v", err)
			}
			r.want(outcome{Out: installedLine}, "install")
			r.want(outcome{Out: uninstalledLine}, "uninstall")
			if got := r.read(r.skill()); got != text {
				t.Errorf("it became %q", got)
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		r := newInstallRig(t)
		r.write(r.skill()+"/x", "", 0o644)
		r.want(
			outcome{1, "", "sm: ~/.claude/skills/session/SKILL.md is not a file; move it away\n"},
			"install",
			"--guard",
		)
		r.want(outcome{Out: installedLine}, "install")
		r.want(outcome{Out: uninstalledLine}, "uninstall")
	})
}
