package install

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// skillText is the skill /session, as agents read it.
//
//go:embed skill/SKILL.md
var skillText []byte

// skillMark begins the last line of an installed skill. The sum after it is that of all that stands before the line:
// while it fits nobody has changed the file, so that it may be replaced and removed.
const skillMark = "<!-- written by sm install; sha256 "

// signedSkill is the file as it is installed.
func signedSkill(text []byte) []byte {
	return fmt.Appendf(bytes.Clone(text), "%s%x -->\n", skillMark, sha256.Sum256(text))
}

// ownSkill says whether some version of sm has written a skill, and nobody has changed it since.
func ownSkill(file []byte) bool {
	i := bytes.LastIndex(file, []byte(skillMark))
	return i >= 0 && bytes.Equal(file, signedSkill(file[:i]))
}

// skillPath is the file of the skill beside a settings file.
func skillPath(settings string) string {
	return filepath.Join(filepath.Dir(settings), "skills", "session", "SKILL.md")
}

// A skillChange is what an installation or its undoing does to the skill.
type skillChange struct {
	file *File
	text []byte // to be written; nil to remove the file
}

// installSkill finds what there is to write, nil for nothing. A skill that is not ours stays, and is an error.
func installSkill(path string) (*skillChange, error) {
	file, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	text := signedSkill(skillText)
	switch {
	case bytes.Equal(file.text, text):
		return nil, nil
	case file.info != nil && !ownSkill(file.text):
		return nil, fmt.Errorf("%s is not sm's, or has been changed; move it away, or install without --guard", path)
	}
	return &skillChange{file, text}, file.Writable()
}

// uninstallSkill finds what there is to remove, nil for nothing: what is not ours stays, whatever it is.
func uninstallSkill(path string) *skillChange {
	file, err := ReadFile(path)
	if err != nil || file.info == nil || !ownSkill(file.text) {
		return nil
	}
	return &skillChange{file: file}
}

// do changes the file, or shows how it would.
func (c *skillChange) do(in *installation) (err error) {
	path := c.file.path
	switch {
	case in.DryRun:
		_, err = fmt.Fprint(in.Stdout, unifiedDiff(path, string(c.file.text), string(c.text)))
		return err
	case c.text != nil:
		err = c.file.write(c.text)
	default:
		if err = os.Remove(path); err != nil {
			err = fmt.Errorf("remove %s: %w; check the owner and mode of its directory", path, PlainError(err))
		}
		_ = os.Remove(filepath.Dir(path)) // unless the user keeps more there
	}
	if err != nil {
		return err
	}
	done := "the skill /session is installed"
	if c.text == nil {
		done = "removed"
	}
	_, err = fmt.Fprintf(in.Stdout, "%s: %s\n", path, done)
	return err
}
