package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sm/deploy/jsonedit"
	"sm/handoff/files"
)

// A record is a file in the user's state directory with the text of a settings
// file from before the installation, so that sm uninstall can restore every byte.
type record struct {
	// Settings is the path of the settings file.
	Settings string `json:"settings"`
	// Known is always true: older versions of sm ignore records without it.
	Known bool `json:"known"`
	// Before is the text before the installation, nil if there was no file.
	Before []byte `json:"before"`
}

// recordPath returns the path of the record of the settings.
func (in *installation) recordPath() string {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(in.path)))
	return filepath.Join(in.State, "sm", "install", name[:16]+".json")
}

// record returns the settings from before the installation. known is false if
// there is no readable record.
func (in *installation) record() (before []byte, known bool) {
	var r record
	text, err := os.ReadFile(in.recordPath())
	if err != nil || json.Unmarshal(text, &r) != nil || r.Settings != in.path {
		return nil, false
	}
	return r.Before, true
}

// remember writes the record.
func (in *installation) remember(before []byte) error {
	text, err := json.MarshalIndent(record{in.path, true, before}, "", "  ")
	if err == nil {
		err = writeWhole(in.recordPath(), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember what %s was: %w", in.path, err)
	}
	return nil
}

// byteOrderMark is written by some editors at the beginning of a file. It is
// not JSON.
const byteOrderMark = "\uFEFF"

// settingsBody returns the JSON of a settings file, an empty object if there is
// none.
func settingsBody(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}\n")
	}
	return text
}

// parsed returns the JSON of a settings file, nil if it is invalid.
func parsed(text []byte) *jsonedit.Value {
	doc, err := jsonedit.Parse(settingsBody(text))
	if err != nil {
		return nil
	}
	return doc.Root
}

// forget removes the record, and the folders of an installation that are then
// empty.
func (in *installation) forget() error {
	path := in.recordPath()
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what %s was: %w; check the owner and mode of its directory",
			in.path, files.Plain(err))
	}
	for _, file := range []string{path, in.path, in.plugin, skillPath(in.Settings)} {
		files.RemoveEmpty(filepath.Dir(file), in.Home)
	}
	return nil
}
