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
	"slices"
	"strings"

	"sm/deploy/jsonedit"
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
	// Made are the folders that install has made, outer ones first.
	Made []string `json:"made"`
}

// record reads the record of the settings file. One that cannot be read is empty.
func (in *installation) record() *record {
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(in.path)))
	path := filepath.Join(in.State, "sm", "install", name[:16]+".json")
	r := readRecord(path)
	if r.Settings != in.path {
		return &record{path: path, Settings: in.path}
	}
	return r
}

func readRecord(path string) *record {
	r := &record{path: path}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, r) != nil {
		return &record{}
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

// note stores the record, with those of the folders that do not exist, and are about to
// be made. It takes over the folders of other records, since that of the records goes
// with the last of them.
func (r *record) note(folders ...string) error {
	var made []string
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(r.path), "*.json"))
	for _, path := range others {
		made = append(made, readRecord(path).Made...)
	}
	for _, dir := range append(folders, filepath.Dir(r.path)) {
		at := len(made)
		for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Lstat(dir); err == nil {
				break
			}
			made = slices.Insert(made, at, dir)
		}
	}
	for _, dir := range made {
		if !slices.Contains(r.Made, dir) {
			r.Made = append(r.Made, dir)
		}
	}

	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = writeWhole(r.path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("remember what %s was: %w", r.Settings, err)
	}
	return nil
}

// forget removes the record, and the folders that the installation made and that are
// empty.
func (r *record) forget() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget what %s was: %w; check the owner and mode of its directory",
			r.Settings, PlainError(err))
	}

	// A run that was killed may have made these and not noted them.
	folder := filepath.Dir(r.path)
	sm := filepath.Dir(folder)
	made := []string{sm, folder}
	if local, found := strings.CutSuffix(filepath.Dir(sm), "/.local/state"); found {
		made = append([]string{local + "/.local", local + "/.local/state"}, made...)
	}
	r.Made = append(made, r.Made...)
	r.removeMade()
	return nil
}

// removeMade removes those folders that the installation made and that are empty.
func (r *record) removeMade() {
	for _, dir := range slices.Backward(r.Made) {
		_ = os.Remove(dir) // one with files stays
	}
}
