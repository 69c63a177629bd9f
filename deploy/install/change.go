package install

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"sm/deploy/jsonedit"
)

// A settingsChange is what an installation or its undoing does: steps that concern the plugin, and an edit of the
// settings, which the client writes too in those steps. The edit comes before them with editFirst, else after them.
type settingsChange struct {
	editFirst bool
	uninstall bool   // instead of an edit: take out what is ours
	done      string // to say
	steps     func(*plugin, *jsonedit.Text) ([]pluginStep, error)
	edit      func(*Editor) error
}

// changeSettings carries a change out. What would be refused in the end is refused before the first step.
func (in *installation) changeSettings(c *settingsChange) error {
	record := in.record()
	file, err := ReadFile(in.Settings)
	if err != nil {
		return err
	}
	var list []pluginStep
	var odd error
	if _, err = file.Edited(func(d *jsonedit.Text) error {
		list, odd = c.steps(in.plugin(), d)
		return odd
	}); err == nil {
		_, _, err = in.outcomeOf(c, record, file)
	}
	switch {
	case odd != nil:
		return odd
	case err != nil:
		return err
	}
	if err := in.prepareChange(c, record, file, len(list) > 0); err != nil {
		return err
	}
	both := []func() error{
		func() error { return in.take(list) },
		func() error { return in.editSettings(c, record) },
	}
	if c.editFirst {
		slices.Reverse(both)
	}
	for _, part := range both {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// prepareChange removes what an interrupted change has left, and writes down what was there before a change of the plugin.
// A dry run does neither.
func (in *installation) prepareChange(c *settingsChange, record *record, file *File, plugin bool) error {
	if in.DryRun {
		return nil
	}
	for _, dir := range []string{filepath.Dir(file.target), filepath.Dir(record.path), filepath.Dir(skillPath(in.Settings))} {
		sweep(dir, tempFile)
	}
	plugins := filepath.Dir(in.plugin().dir)
	sweep(plugins, tempFolder)
	if !plugin {
		return nil
	}
	if err := file.Writable(); err != nil {
		return err
	}
	return in.remember(c, record, file, missingFolders(plugins))
}

// outcomeOf is what a change makes of the settings file; there is false for no file.
func (in *installation) outcomeOf(c *settingsChange, record *record, file *File) (text []byte, there bool, err error) {
	if !c.uninstall {
		text, err = file.Edited(func(d *jsonedit.Text) error { return c.edit(in.editor(d, record.before())) })
		return text, true, err
	}
	left, err := in.withoutOurs(record, file)
	if err != nil {
		return nil, false, err
	}
	text, there = record.giveBack(file, left)
	return text, there, nil
}

// withoutOurs is a settings file without what is ours.
func (in *installation) withoutOurs(record *record, file *File) ([]byte, error) {
	return file.Edited(func(d *jsonedit.Text) error {
		e := in.editor(d, record.before())
		if err := e.uninstall(); err != nil {
			return err
		}
		return in.plugin().removeEntries(d, e.before)
	})
}

// remember notes what the settings are before an installation changes them, and the folders that it makes.
func (in *installation) remember(c *settingsChange, record *record, file *File, makes []string) error {
	if c.uninstall {
		return nil
	}
	text, _, err := in.outcomeOf(c, record, file)
	if err != nil {
		return err
	}
	left, err := in.withoutOurs(record, file)
	if err != nil {
		return err
	}
	return record.remember(file, left, text, append(missingFolders(filepath.Dir(file.target)), makes...))
}

// editSettings changes the settings file, or shows how it would.
func (in *installation) editSettings(c *settingsChange, record *record) error {
	path := record.Settings
	var err error
	for range 3 { // the client may write at the same moment
		var file *File
		if file, err = ReadFile(path); err != nil {
			return err
		}
		text, there, err2 := in.outcomeOf(c, record, file)
		if err2 != nil {
			return err2
		}
		if bytes.Equal(text, file.text) && there == (file.info != nil) || !there && file.info == nil {
			_, err = fmt.Fprintf(in.Stdout, "%s: nothing to change\n", path)
			return err
		}
		if in.DryRun {
			_, err = fmt.Fprint(in.Stdout, unifiedDiff(path, string(file.text), string(text)))
			return err
		}
		if err := file.Writable(); err != nil {
			return err
		}
		if err := in.remember(c, record, file, nil); err != nil {
			return err
		}
		if there {
			err = file.write(text)
		} else {
			err = file.remove()
		}
		if err == nil {
			_, err = fmt.Fprintf(in.Stdout, "%s: %s\n", path, c.done)
			return err
		}
		if !errors.Is(err, errChanged) {
			return err
		}
	}
	return fmt.Errorf("%s: %w; close the sessions that write to it and try again", path, err)
}
