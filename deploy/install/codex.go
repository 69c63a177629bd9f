package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

const codexFile = "hooks.json"

// codexTimeout is how long Codex is to wait for a hook of ours, in seconds.
const codexTimeout = 5

// CodexMost is how long client 0.169.0 waits for a hook of an event where that does not say how long, in seconds. At the end
// of a session and after an interruption it waits no longer, whatever the hook says, and warns about one that says more.
func CodexMost(event hook.Event) int {
	if event == hook.SessionEnd || event == hook.Interrupt {
		return 1
	}
	return 600
}

// CodexHooks is the file of Codex's hooks in its folder.
func CodexHooks(home string) string { return filepath.Join(home, codexFile) }

// CodexEvents are the events of Codex that the observer learns from. One for each request and one before each tool call
// would tell nothing more.
func CodexEvents() []hook.Event {
	return []hook.Event{
		hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse, hook.PostModelRequest, hook.PermissionRequest, hook.Stop,
		hook.Interrupt, hook.SubagentStart, hook.SubagentStop, hook.PreCompact, hook.PostCompact,
	}
}

// NewCodexEditor is [NewEditor] for the file of Codex's hooks.
func NewCodexEditor(d *jsonedit.Text, program, home string) *Editor {
	e := NewEditor(d, program, home)
	e.codex = true
	return e
}

const codexText = "installed, but Codex runs no hook that its user has not trusted: start codex and choose \"Trust all and continue\", or type " +
	"/hooks and t; codex exec does not ask"

// codex is the change that puts our hooks into Codex's file, or takes them out.
func (o Options) codex(uninstall bool) (*installation, *settingsChange) {
	o.Settings, o.Guard, o.NoGuard = CodexHooks(o.Codex), false, false
	in := &installation{Options: o, codex: true}
	c := &settingsChange{uninstall: uninstall, done: codexText, steps: func(*plugin, *jsonedit.Text) ([]pluginStep, error) { return nil, nil }}
	if uninstall {
		c.done = "uninstalled"
	}
	c.edit = func(e *Editor) error {
		if err := e.Check(); err != nil {
			return err
		}
		return e.installHooks(false, false)
	}
	return in, c
}

// CheckCodex returns why InstallCodex would be refused, and changes nothing. A Codex in the PATH that runs no hooks is a
// reason.
func (o Options) CheckCodex(ctx context.Context) error {
	client, ok, err := CodexInPath(ctx, o.Path, o.Environ)
	if err != nil {
		return err
	}
	if ok && Older(client.Version, OldestCodex) {
		return fmt.Errorf("codex is %s, and runs no hooks before %s; update it, then run sm install --codex", client, OldestCodex)
	}

	in, c := o.codex(false)
	file, err := ReadFile(in.Settings)
	if err == nil {
		_, _, err = in.outcomeOf(c, in.record(), file)
	}
	if err != nil || o.DryRun {
		return err
	}
	return file.Writable()
}

// InstallCodex puts the hooks into Codex's hooks.json. Other hooks there keep every byte. Codex runs new hooks only when
// its user has said so, which nobody can do for him.
func (o Options) InstallCodex() error {
	in, c := o.codex(false)
	return in.changeSettings(c)
}

// UninstallCodex takes out what InstallCodex put in.
func (o Options) UninstallCodex() error {
	in, c := o.codex(true)
	if err := in.changeSettings(c); err != nil || o.DryRun {
		return err
	}
	return in.record().forget()
}

// CodexThere says whether there is anything of Codex: its folder, or something that InstallCodex has left.
func (o Options) CodexThere() bool {
	in, _ := o.codex(false)
	for _, path := range []string{o.Codex, in.record().path} {
		if _, err := os.Stat(path); o.Codex != "" && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
