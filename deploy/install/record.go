package install

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"sm/deploy/jsonedit"
	"sm/handoff/files"
)

// A record is what sm install remembers of a settings file, so that sm uninstall can
// restore every byte. It is a file in the state directory of this user.
type record struct {
	path string
	// Settings is the file that the record is about.
	Settings string `json:"settings"`
	// Known reports whether Before is known, which is nil if there was no file.
	Known  bool   `json:"known"`
	Before []byte `json:"before"`
}

// record reads the record of the settings file. One that cannot be read is empty.
func (in *installation) record() *record {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte(in.path)))
	path := filepath.Join(in.State, "sm", "install", name[:16]+".json")
	r := &record{path: path}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, r) != nil || r.Settings != in.path {
		return &record{path: path, Settings: in.path}
	}
	return r
}

// value returns the settings before the installation, nil if they are unknown.
func (r *record) value() *jsonedit.Value {
	doc, err := jsonedit.Parse(settingsBody(r.Before))
	if err != nil || !r.Known {
		return nil
	}
	return doc.Root
}

// sameJSON reports whether two settings files mean the same.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(settingsBody(a), &x) == nil &&
		json.Unmarshal(settingsBody(b), &y) == nil && reflect.DeepEqual(x, y)
}

// store writes the record.
func (r *record) store() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = writeWhole(r.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember what %s was: %w", r.Settings, err)
	}
	return nil
}

// forget removes the record, and the folders of an installation that are empty then.
func (in *installation) forget() error {
	path := in.record().path
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what %s was: %w; check the owner and mode of its directory",
			in.path, PlainError(err))
	}
	for _, file := range []string{path, in.path, in.plugin().dir, skillPath(in.Settings)} {
		files.RemoveEmpty(filepath.Dir(file), in.Home)
	}
	return nil
}
