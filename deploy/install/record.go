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
	"reflect"
	"slices"
	"strings"

	"sm/deploy/jsonedit"
)

// A record is what sm install remembers of the settings, so that sm uninstall can give every byte back. It is a
// file of its own, in the state directory of this user.
type record struct {
	path string
	// Settings is the file that the record is about.
	Settings string `json:"settings"`
	// Known says that Before is known, Existed that there was a file.
	Known   bool   `json:"known"`
	Existed bool   `json:"existed"`
	Before  []byte `json:"before"`
	// After are the SHA-256 sums of the texts that install has written. There are two until an upgrade is known to be
	// complete.
	After []string `json:"after"`
	// Made are the folders that install has made, outer ones first.
	Made []string `json:"made"`
}

// recordsName is the folder of the records in the state directory.
const recordsName = "install"

// record reads what is remembered of the settings file; what cannot be read is as if it were not there.
func (in *installation) record() *record {
	name := fmt.Sprintf("%x.json", sha256.Sum256([]byte(in.Settings)))
	r := &record{path: filepath.Join(in.State, "sm", recordsName, name[:16]+".json")}
	text, err := readHead(r.path, 2*maxSettings)
	if err != nil || json.Unmarshal(text, r) != nil || r.Settings != in.Settings {
		*r = record{path: r.path}
	}
	r.Settings = in.Settings
	return r
}

// before is the text before the installation, parsed; nil if it is unknown or was not JSON.
func (r *record) before() *jsonedit.Text {
	if !r.Known {
		return nil
	}
	doc, err := jsonedit.Parse(settingsBody(r.Before))
	if err != nil {
		return nil
	}
	return doc
}

// giveBack returns the text that an uninstallation leaves in a file; there is false if it removes the file. left is the
// text without our entries. If left has the same meaning as the text before the installation, giveBack returns the
// bytes of that text. It does not if the user has changed the layout since; the client's own layout does not count, as
// the client writes the whole file whenever it changes a setting.
func (r *record) giveBack(file *File, left []byte) (text []byte, there bool) {
	switch {
	case file.info == nil:
		return nil, false
	case !r.Known || !sameMeaning(left, r.Before):
		return left, true
	case r.wrote(file.text) || !r.Existed || laidOutByClient(file.text):
		return r.Before, r.Existed
	}
	return left, true
}

// wrote says whether an installation left this text.
func (r *record) wrote(text []byte) bool { return slices.Contains(r.After, textSum(text)) }

func textSum(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// settingsBody is the JSON of a settings file: without the mark that some editors put before it, and an empty object
// where there is nothing.
func settingsBody(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}\n")
	}
	return text
}

func sameMeaning(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(settingsBody(a), &x) == nil && json.Unmarshal(settingsBody(b), &y) == nil &&
		reflect.DeepEqual(x, y)
}

// laidOutByClient says whether a text has the layout in which the client writes its settings.
func laidOutByClient(text []byte) bool {
	var compact, wide bytes.Buffer
	if json.Compact(&compact, text) != nil || json.Indent(&wide, compact.Bytes(), "", "  ") != nil {
		return false
	}
	return bytes.Equal(bytes.TrimSuffix(text, []byte("\n")), wide.Bytes())
}

// remember stores what an uninstallation is to give back, before an installation writes text over file. Folders that
// the installation is about to make are noted as its own. withoutOurs is what is in the file besides ours.
func (r *record) remember(file *File, withoutOurs, text []byte, makes []string) error {
	after := []string{textSum(text)}
	if r.wrote(file.text) {
		after = append(after, textSum(file.text))
	}
	r.Before, r.Existed = r.giveBack(file, withoutOurs)
	if !r.Existed {
		r.Before = nil
	}
	r.Known = true
	r.After = after
	r.note(makes)
	return r.store()
}

// note adds folders to those that the installation makes.
func (r *record) note(makes []string) {
	for _, dir := range slices.Concat(makes, missingFolders(filepath.Dir(r.path))) {
		if !slices.Contains(r.Made, dir) {
			r.Made = append(r.Made, dir)
		}
	}
}

func (r *record) store() error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = writeWhole(r.path, append(text, '\n'), 0o600, nil)
	}
	if err != nil {
		return fmt.Errorf("remember what %s was: %w", r.Settings, err)
	}
	return nil
}

// forget removes the record, and the folders that the installation made and that are empty now.
func (r *record) forget() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf(
			"forget what %s was: %w; check the owner and mode of its directory",
			r.Settings,
			PlainError(err),
		)
	}

	// A run that was killed may have made folders and not noted them.
	folders := filepath.Dir(r.path)
	state := filepath.Dir(filepath.Dir(folders))
	made := []string{folders, filepath.Dir(folders)}
	if home, found := strings.CutSuffix(state, "/.local/state"); found {
		// Programs make these where they are missing, so empty ones may go.
		made = append(made, state, filepath.Join(home, ".local"))
	}
	for _, dir := range made {
		_ = os.Remove(dir) // one that holds something stays
	}

	r.removeMade()
	return r.bequeath()
}

// bequeath hands the folders that the installation made and that are there still to the record of another one that stays:
// they are not empty for its sake.
func (r *record) bequeath() error {
	left := slices.DeleteFunc(r.Made, func(dir string) bool { _, err := os.Lstat(dir); return err != nil })
	others, _ := filepath.Glob(filepath.Join(globQuote(filepath.Dir(r.path)), "*.json")) // the pattern is right
	if len(left) == 0 || len(others) == 0 {
		return nil
	}
	other := &record{path: others[0]}
	text, err := readHead(other.path, 2*maxSettings)
	if err != nil || json.Unmarshal(text, other) != nil {
		return nil // as if it were not there
	}
	other.Made = append(left, other.Made...)
	return other.store()
}

// removeMade removes those folders that the installation made and that are empty.
func (r *record) removeMade() {
	for _, dir := range slices.Backward(r.Made) {
		_ = os.Remove(dir) // one that holds something stays
	}
}

// missingFolders are the folders on the way to dir, and dir, that do not exist, outer ones first.
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
