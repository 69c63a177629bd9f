package doctor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sm/deploy/install"
	"sm/transcript/claude/hook"
)

// codexHooks is the name of the check.
const codexHooks = "codex hooks"

// codex checks the hooks of Codex, if it has a folder: that they are installed, and
// that its user has trusted them.
func (d *doctor) codex(ctx context.Context) {
	if info, err := os.Stat(d.Codex); d.Codex == "" || err != nil || !info.IsDir() {
		return
	}
	switch c, ok, err := install.Codex().InPath(ctx, d.Path, d.Environ); {
	case err != nil:
		d.note(codexHooks, "run codex --version", "%v", err)
	case ok && install.Codex().TooOld(c.Version):
		d.note(codexHooks, "update codex", "codex is %s, and runs no hooks before %s; its agents are not warned",
			c, install.Codex().Oldest)
		return
	}

	path := install.CodexHooks(d.Codex)
	e, _, err := d.editor(path)
	if err != nil {
		d.broken(codexHooks, "correct the file; Codex ignores all of it", "%v (%s)", err, path)
		return
	}
	if event, ok := httpHook(e); ok {
		d.broken(
			codexHooks,
			"remove that hook",
			"Codex ignores all of %s because of a hook of type http for %s",
			path,
			event,
		)
	}
	own, missing, _ := allHooks([]settingsLayer{{editor: e}}, install.Codex().Events)
	switch {
	case len(own) == 0:
		d.note(
			codexHooks,
			"run sm install --codex",
			"not installed in %s; Codex's agents are not warned",
			path,
		)
		return
	case len(missing) > 0:
		d.broken(
			codexHooks,
			"run sm install --codex",
			"%s has no hook for %s",
			path,
			eventNames(missing),
		)
	default:
		d.trust(path, own)
	}
	d.programs(ctx, codexHooks, own)
}

// httpHook returns the event of a hook of type http: with one the client
// ignores the whole file.
func httpHook(e *install.Editor) (event string, ok bool) {
	hooks := e.Doc.At("hooks")
	if hooks == nil {
		return "", false
	}
	for _, c := range hooks.Children {
		var groups []struct {
			Hooks []struct{ Type string }
		}
		if json.Unmarshal(c.Raw, &groups) != nil {
			continue
		}
		for _, g := range groups {
			for _, h := range g.Hooks {
				if h.Type == "http" {
					return c.Key, true
				}
			}
		}
	}
	return "", false
}

// codexConfig is the part of config.toml that decides whether hooks run.
type codexConfig struct {
	Features map[string]any
	Hooks    struct {
		State map[string]struct {
			Hash    string `toml:"trusted_hash"`
			Enabled *bool
		}
	}
}

// trust checks that Codex runs our hooks: each one only as its user has trusted it.
func (d *doctor) trust(path string, own []ownHook) {
	var c codexConfig
	config := filepath.Join(d.Codex, "config.toml")
	text, err := os.ReadFile(config)
	if err == nil {
		err = toml.Unmarshal(text, &c)
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position() // its text has types of Go
		err = fmt.Errorf("line %d is not as Codex has it", line)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.note(codexHooks, "correct that file", "installed; whether they are trusted cannot be read from %s: %v",
			config, install.PlainError(err))
		return
	}
	if on, ok := c.Features["hooks"].(bool); ok && !on {
		d.broken(codexHooks, "remove hooks = false there", "%s turns all hooks off", config)
		return
	}

	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	var untrusted, off []hook.Event
	for _, h := range own {
		state, ok := c.Hooks.State[h.codexKey(path)]
		if !ok {
			state = c.Hooks.State[h.codexKey(real)]
		}
		switch {
		case state.Enabled != nil && !*state.Enabled:
			off = append(off, h.event)
		case !h.trusted(state.Hash):
			untrusted = append(untrusted, h.event)
		}
	}
	switch {
	case len(off) > 0:
		d.broken(
			codexHooks,
			"switch them on in codex, with /hooks",
			"%s has switched off those for %s",
			config,
			eventNames(off),
		)
	case len(untrusted) > 0:
		d.broken(codexHooks, "start codex and choose \"Trust all and continue\", or type /hooks and t",
			"Codex does not run %d of %d, which its user has not trusted as they are: %s",
			len(untrusted), len(own), eventNames(untrusted))
	default:
		d.ok(codexHooks, "installed for %d events, and trusted", len(install.Codex().Events))
	}
}

// codexKey returns the name of a hook in config.toml: file, event, group and number.
func (h ownHook) codexKey(path string) string {
	return fmt.Sprintf("%s:%s:%s:%s", path, snake(h.event), h.path[2], h.path[4])
}

// trusted reports whether the user has trusted the hook as it is: the client keeps a
// hash then. For some events that ignores the matcher.
func (h ownHook) trusted(hash string) bool {
	matcher, _ := h.editor.Doc.At("hooks", h.path[1], h.path[2], "matcher").Text()
	return hash != "" && (hash == h.hash(matcher) || hash == h.hash(""))
}

// hash returns the hash of client 0.169.0: the sum of the sorted members with their
// defaults.
func (h ownHook) hash(matcher string) string {
	var handler struct {
		Type          string  `json:"type"`
		Command       string  `json:"command"`
		Timeout       *int    `json:"timeout"`
		Async         bool    `json:"async"`
		StatusMessage *string `json:"statusMessage"`
	}
	if json.Unmarshal(h.value().Raw, &handler) != nil {
		return ""
	}
	timeout := install.CodexMost(h.event)
	if t := handler.Timeout; t != nil && (*t < timeout || timeout > 1) {
		timeout = max(1, *t)
	}
	members := map[string]any{
		"type":    handler.Type,
		"command": handler.Command,
		"timeout": timeout,
		"async":   handler.Async,
	}
	if handler.StatusMessage != nil {
		members["statusMessage"] = *handler.StatusMessage
	}
	all := map[string]any{"event_name": snake(h.event), "hooks": []any{members}}
	if matcher != "" {
		all["matcher"] = matcher
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(all) // strings and numbers
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// snake returns an event's name as config.toml has it, such as pre_compact.
func snake(event hook.Event) string {
	var b strings.Builder
	for i, r := range string(event) {
		if i > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}
