package install

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"path/filepath"
)

// skillText is the skill /session.
//
//go:embed skill/SKILL.md
var skillText []byte

// skillMark begins the last line of an installed skill. That line has the hash
// of the text before it: only an unchanged file is replaced or removed.
const skillMark = "<!-- written by sm install; sha256 "

// signedSkill returns the content of the file for a skill.
func signedSkill(text []byte) []byte {
	return fmt.Appendf(bytes.Clone(text), "%s%x -->\n", skillMark, sha256.Sum256(text))
}

// ownSkill reports whether a version of sm has written a file, unchanged since.
func ownSkill(file []byte) bool {
	i := bytes.LastIndex(file, []byte(skillMark))
	return i >= 0 && bytes.Equal(file, signedSkill(file[:i]))
}

// skillPath returns the path of the skill for a settings file.
func skillPath(settings string) string {
	return filepath.Join(filepath.Dir(settings), "skills", "session", "SKILL.md")
}

// skillChange returns the file of the skill and its new text, nil to remove it.
// file is nil if nothing changes. The skill is installed and removed with the
// guard, and an installed one is updated.
func (in *installation) skillChange() (file *File, text []byte, err error) {
	if !in.client.more {
		return nil, nil, nil
	}
	file, err = ReadFile(skillPath(in.Settings))
	own := err == nil && file.Exists() && ownSkill(file.text)
	switch {
	case !in.Guard && !own:
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	case !in.Guard && in.NoGuard:
		return file, nil, nil
	}

	text = signedSkill(skillText)
	switch {
	case !file.changes(text):
		return nil, nil, nil
	case file.Exists() && !own:
		return nil, nil, fmt.Errorf("%s is not sm's, or has been changed; move it away, or install without --guard",
			file.Path)
	}
	return file, text, file.Writable()
}
