package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"sm/transcript/claude/hook"
)

const codexFile = "hooks.json"

// codexTimeout is how long Codex waits for a hook of ours, in seconds.
const codexTimeout = 5

// CodexMost returns how long client 0.169.0 waits for a hook without a timeout, in
// seconds. At the end of a session and after an interruption it never waits longer,
// and warns about a hook with a longer timeout.
func CodexMost(event hook.Event) int {
	if event == hook.SessionEnd || event == hook.Interrupt {
		return 1
	}
	return 600
}

// CodexHooks returns the file with Codex's hooks in its folder.
func CodexHooks(home string) string { return filepath.Join(home, codexFile) }

// CodexEvents returns the events of Codex that the observer uses. Those for each
// request and before each tool call would add nothing.
func CodexEvents() []hook.Event {
	return []hook.Event{
		hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse,
		hook.PostModelRequest, hook.PermissionRequest, hook.Stop, hook.Interrupt,
		hook.SubagentStart, hook.SubagentStop, hook.PreCompact, hook.PostCompact,
	}
}

// codex returns the installation for Codex, which has neither guard nor plugin.
func (o Options) codex() *installation {
	o.Settings = CodexHooks(o.Codex)
	return &installation{Options: o, codex: true}
}

// codexInstall is the change that adds our hooks to Codex's file.
func codexInstall() *settingsChange {
	return &settingsChange{
		edit: func(e *Editor) error {
			if err := e.Check(); err != nil {
				return err
			}
			return e.installHooks(false)
		},
		done: "installed, but Codex runs no hook that its user has not trusted: start codex and " +
			"choose \"Trust all and continue\", or type /hooks and t; codex exec does not ask",
	}
}

// CheckCodex returns why InstallCodex would be refused, and changes nothing. A Codex
// in the PATH that runs no hooks is a reason.
func (o Options) CheckCodex(ctx context.Context) error {
	client, ok, err := CodexInPath(ctx, o.Path, o.Environ)
	if err != nil {
		return err
	}
	if ok && Older(client.Version, OldestCodex) {
		return fmt.Errorf("codex is %s, and runs no hooks before %s; update it, then run sm install --codex",
			client, OldestCodex)
	}

	in := o.codex()
	file, err := ReadFile(in.Settings)
	if err == nil {
		_, _, err = in.result(codexInstall(), in.record(), file)
	}
	if err != nil || o.DryRun {
		return err
	}
	return file.Writable()
}

// InstallCodex adds the hooks to Codex's hooks.json. Codex runs new hooks only after
// its user has trusted them.
func (o Options) InstallCodex() error { return o.codex().change(codexInstall()) }

// UninstallCodex removes what InstallCodex has added.
func (o Options) UninstallCodex() error {
	in := o.codex()
	if err := in.change(&settingsChange{done: "uninstalled"}); err != nil || o.DryRun {
		return err
	}
	return in.record().forget()
}

// CodexThere reports whether Codex's folder exists, or a record of InstallCodex.
func (o Options) CodexThere() bool {
	for _, path := range []string{o.Codex, o.codex().record().path} {
		if _, err := os.Stat(path); o.Codex != "" && !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}
