package install

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"sm/deploy/jsonedit"
)

// A settingsChange is an edit of the settings, and what the client does with the
// plugin before it. The client writes the settings as well.
type settingsChange struct {
	edit      func(*Editor) error // nil to uninstall
	steps     []pluginStep
	editFirst bool   // the steps come after the edit
	done      string // to print
}

// change makes a change. What would be refused in the end is refused before the first step.
func (in *installation) change(c *settingsChange) error {
	if err := in.prepare(c); err != nil {
		return err
	}
	if !c.editFirst {
		if err := in.take(c.steps); err != nil {
			return err
		}
	}
	if err := in.editSettings(c); err != nil || !c.editFirst {
		return err
	}
	return in.take(c.steps)
}

// prepare checks a change, removes the temporary files of runs that were killed, and
// records the settings before a change of the plugin.
func (in *installation) prepare(c *settingsChange) error {
	record := in.record()
	file, err := ReadFile(in.Settings)
	if err != nil {
		return err
	}
	text, _, err := in.result(c, record, file)
	if err != nil || in.DryRun {
		return err
	}

	for _, path := range []string{file.target, record.path, skillPath(in.Settings)} {
		sweep(filepath.Dir(path), tempFile)
	}
	plugins := filepath.Dir(in.plugin().dir)
	sweep(plugins, tempFolder)

	if len(c.steps) == 0 {
		return nil
	}
	if err := file.Writable(); err != nil {
		return err
	}
	return in.remember(c, record, file, text, missingFolders(plugins))
}

// result returns what a change makes of the settings; exists is false for no file.
func (in *installation) result(c *settingsChange, record *record, file *File) (text []byte, exists bool, err error) {
	if c.edit != nil {
		text, err = file.edited(func(d *jsonedit.Text) error { return c.edit(in.editor(d, record.before())) })
		return text, true, err
	}
	left, err := in.withoutOurs(record, file)
	if err != nil {
		return nil, false, err
	}
	text, exists = record.giveBack(file, left)
	return text, exists, nil
}

// withoutOurs returns the settings without our entries.
func (in *installation) withoutOurs(record *record, file *File) ([]byte, error) {
	return file.edited(func(d *jsonedit.Text) error {
		e := in.editor(d, record.before())
		if err := e.uninstall(); err != nil {
			return err
		}
		return in.plugin().removeEntries(d, e.before)
	})
}

// remember records the settings, and the folders that are made, before an
// installation writes text.
func (in *installation) remember(c *settingsChange, record *record, file *File, text []byte, makes []string) error {
	if c.edit == nil {
		return nil
	}
	left, err := in.withoutOurs(record, file)
	if err != nil {
		return err
	}
	return record.remember(file, left, text, append(missingFolders(filepath.Dir(file.target)), makes...))
}

// editSettings changes the settings, or prints how it would.
func (in *installation) editSettings(c *settingsChange) error {
	record := in.record()
	path := in.Settings
	var err error
	for range 3 { // the client may write at the same moment
		err = in.tryEdit(c, record)
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w; close the sessions that write to it and try again", path, err)
}

func (in *installation) tryEdit(c *settingsChange, record *record) error {
	file, err := ReadFile(in.Settings)
	if err != nil {
		return err
	}
	text, exists, err := in.result(c, record, file)
	switch {
	case err != nil:
		return err
	case exists == file.Exists() && bytes.Equal(text, file.text):
		return in.print("%s: nothing to change\n", file.path)
	case in.DryRun:
		return in.print("%s", unifiedDiff(file.path, file.text, text))
	}

	if err := file.Writable(); err != nil {
		return err
	}
	if err := in.remember(c, record, file, text, nil); err != nil {
		return err
	}
	if exists {
		err = file.write(text)
	} else {
		err = file.remove()
	}
	if err != nil {
		return err
	}
	return in.print("%s: %s\n", file.path, c.done)
}

func (in *installation) print(format string, args ...any) error {
	_, err := fmt.Fprintf(in.Stdout, format, args...)
	return err
}
