package install

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(in.Settings)))
	r := &record{path: filepath.Join(in.State, "sm", "install", name[:16]+".json")}
	text, err := readHead(r.path, 2*maxSettings)
	if err != nil || json.Unmarshal(text, r) != nil || r.Settings != in.Settings {
		*r = record{path: r.path}
	}
	r.Settings = in.Settings
	return r
}

// giveBack returns the text that an uninstallation leaves in a file, nil for no file.
// left is the text without our entries. If it has the meaning of the text before the
// installation, the bytes of that text come back.
func (r *record) giveBack(file *File, left []byte) []byte {
	if file.text != nil && r.Known && sameMeaning(left, r.Before) {
		return r.Before
	}
	return left
}

// settingsBody returns the JSON of a settings file: without the mark that some editors
// put before it, and an empty object for nothing.
func settingsBody(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}\n")
	}
	return text
}

func sameMeaning(a, b []byte) bool { return reflect.DeepEqual(meaning(a), meaning(b)) }

// meaning returns the settings without the empty lists and objects that an installation
// fills, and an uninstallation removes.
func meaning(text []byte) (all map[string]any) {
	_ = json.Unmarshal(settingsBody(text), &all) // it was parsed before
	for _, name := range []string{"hooks", "enabledPlugins", "extraKnownMarketplaces"} {
		inside, ok := all[name].(map[string]any)
		maps.DeleteFunc(inside, func(_ string, v any) bool {
			list, ok := v.([]any)
			return ok && len(list) == 0
		})
		if ok && len(inside) == 0 {
			delete(all, name)
		}
	}
	return all
}

// note stores the record, with those of the folders that do not exist, and are about to
// be made.
func (r *record) note(folders ...string) error {
	for _, folder := range append(folders, filepath.Dir(r.path)) {
		for _, dir := range missingFolders(folder) {
			if !slices.Contains(r.Made, dir) {
				r.Made = append(r.Made, dir)
			}
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
	folders := filepath.Dir(r.path)
	sm := filepath.Dir(folders)
	state := filepath.Dir(sm)
	made := []string{sm, folders}
	if home, found := strings.CutSuffix(state, "/.local/state"); found {
		made = append([]string{filepath.Join(home, ".local"), state}, made...)
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

// missingFolders returns the folders on the way to dir, and dir, that do not exist,
// outer ones first.
func missingFolders(dir string) (missing []string) {
	for {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			slices.Reverse(missing)
			return missing
		}
		missing = append(missing, dir)
		dir = filepath.Dir(dir)
	}
}
