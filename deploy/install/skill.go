package install

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// skillText is the skill /session.
//
//go:embed skill/SKILL.md
var skillText []byte

// skillMark begins the last line of an installed skill. The sum in it is that of the
// text before the line: only an unchanged file is replaced or removed.
const skillMark = "<!-- written by sm install; sha256 "

// signedSkill returns the file with a skill.
func signedSkill(text []byte) []byte {
	return fmt.Appendf(bytes.Clone(text), "%s%x -->\n", skillMark, sha256.Sum256(text))
}

// ownSkill reports whether a file is a skill that some version of sm has written.
func ownSkill(file []byte) bool {
	i := bytes.LastIndex(file, []byte(skillMark))
	return i >= 0 && bytes.Equal(file, signedSkill(file[:i]))
}

// skillPath returns the file of the skill for a settings file.
func skillPath(settings string) string {
	return filepath.Join(filepath.Dir(settings), "skills", "session", "SKILL.md")
}

// A skillChange writes the skill, or removes it if text is nil.
type skillChange struct {
	file *File
	text []byte
}

// skillChange returns what to do with the skill, nil for nothing: it comes and goes
// with the guard, and one that is there is brought up to date.
func (in *installation) skillChange() (*skillChange, error) {
	file, err := ReadFile(skillPath(in.Settings))
	own := err == nil && file.Exists() && ownSkill(file.text)
	switch {
	case !in.Guard && !own:
		return nil, nil
	case err != nil:
		return nil, err
	case !in.Guard && in.NoGuard:
		return &skillChange{file: file}, nil
	}

	text := signedSkill(skillText)
	switch {
	case bytes.Equal(file.text, text):
		return nil, nil
	case file.Exists() && !own:
		return nil, fmt.Errorf(
			"%s is not sm's, or has been changed; move it away, or install without --guard",
			file.path,
		)
	}
	return &skillChange{file, text}, file.Writable()
}

// changeSkill makes the change, nil for none.
func (in *installation) changeSkill(c *skillChange) error {
	switch {
	case c == nil:
		return nil
	case in.DryRun:
		return in.print("%s", unifiedDiff(c.file.path, c.file.text, c.text))
	case c.text == nil:
		return in.removeSkill(c.file.path)
	}
	if err := in.record().note(filepath.Dir(c.file.path)); err != nil {
		return err
	}
	if err := c.file.replace(c.text); err != nil {
		return err
	}
	return in.print("%s: the skill /session is installed\n", c.file.path)
}

// removeSkill removes the skill, and its folders if the installation has made them.
func (in *installation) removeSkill(path string) error {
	if err := os.Remove(path); err != nil {
		return fmt.Errorf(
			"remove %s: %w; check the owner and mode of its directory",
			path,
			PlainError(err),
		)
	}
	_ = os.Remove(filepath.Dir(path)) // unless it has other files
	in.record().removeMade()
	return in.print("%s: removed\n", path)
}
