package doctor

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"sm/deploy/install"
	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// codexHooks is the name of the check of Codex's hooks.
const codexHooks = "codex hooks"

// codex checks the hooks of Codex, if its folder exists: that they are
// installed and that the user has trusted them.
func (d *doctor) codex(ctx context.Context) {
	if !files.IsDir(d.Codex) {
		return
	}
	codex := install.Codex()
	switch c, err := codex.InPath(ctx, d.Path, d.Environ); {
	case err != nil:
		d.note(codexHooks, "run codex --version", "%v", err)
	case c.Version != "" && codex.TooOld(c.Version):
		d.note(codexHooks, "update codex", "codex is %s, and runs no hooks before %s; its agents are not warned",
			c, codex.Oldest)
		return
	case c.Version != "":
		d.ok("codex", "%s", c)
	}

	path := install.CodexHooks(d.Codex)
	e, err := d.Open(path)
	if err != nil {
		d.broken(codexHooks, "correct the file; Codex ignores all of it", "%v (%s)", err, path)
		return
	}
	if event := httpHook(e); event != "" {
		d.broken(codexHooks, "remove that hook",
			"Codex ignores all of %s because of a hook of type http for %s", path, event)
	}
	const remedy = "run sm install --codex"
	own, missing, _ := ownHooks([]*install.Editor{e}, codex.Events...)
	d.hooked = d.hooked || len(own) > 0
	switch {
	case len(own) == 0:
		d.note(codexHooks, remedy, "watching only: not installed in %s, so Codex's agents get no notices", path)
		return
	case len(missing) > 0:
		d.broken(codexHooks, remedy, "%s has no hook for %s", path, eventNames(missing))
	default:
		d.trust(path, own)
	}
	d.programs(ctx, codexHooks, own)
}

// httpHook returns the event of a hook of type http, "" if there is none. The
// client ignores a file with such a hook.
func httpHook(e *install.Editor) string {
	for _, event := range e.Doc.At("hooks").Items() {
		for _, group := range event.Items() {
			for _, h := range group.At("hooks").Items() {
				if kind, _ := h.At("type").Text(); kind == "http" {
					return event.Key
				}
			}
		}
	}
	return ""
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

// trust checks that Codex runs sm's hooks: it runs a hook only in the form that
// the user has trusted.
func (d *doctor) trust(path string, own []install.Hook) {
	var c codexConfig
	config := filepath.Join(d.Codex, "config.toml")
	text, err := os.ReadFile(config)
	if err == nil {
		err = toml.Unmarshal(text, &c)
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position() // its text contains Go types
		err = fmt.Errorf("line %d is not as Codex has it", line)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.note(codexHooks, "correct that file", "installed; whether they are trusted cannot be read from %s: %v",
			config, files.Plain(err))
		return
	}
	if on, ok := c.Features["hooks"].(bool); ok && !on {
		d.broken(codexHooks, "remove hooks = false there", "%s turns all hooks off", config)
		return
	}

	real, _ := filepath.EvalSymlinks(path)
	var untrusted, off []hook.Event
	for _, h := range own {
		state, ok := c.Hooks.State[codexKey(h, path)]
		if !ok {
			state = c.Hooks.State[codexKey(h, real)]
		}
		switch {
		case state.Enabled != nil && !*state.Enabled:
			off = append(off, h.Event)
		case !trusted(h, state.Hash):
			untrusted = append(untrusted, h.Event)
		}
	}
	switch {
	case len(off) > 0:
		d.broken(codexHooks, "switch them on in codex, with /hooks",
			"%s has switched off those for %s", config, eventNames(off))
	case len(untrusted) > 0:
		d.broken(codexHooks, "start codex and choose \"Trust all and continue\", or type /hooks and t",
			"Codex does not run %d of %d, which its user has not trusted as they are: %s",
			len(untrusted), len(own), eventNames(untrusted))
	default:
		d.ok(codexHooks, "installed for %d events, and trusted", len(install.Codex().Events))
	}
}

// codexKey returns the key of a hook in config.toml: file, event, group and
// number.
func codexKey(h install.Hook, path string) string {
	return fmt.Sprintf("%s:%s:%s:%s", path, snake(h.Event), h.Path[2], h.Path[4])
}

// trusted reports whether the user has trusted the hook in its present form:
// the client then stores its hash. For some events the hash ignores the
// matcher.
func trusted(h install.Hook, hash string) bool {
	matcher, _ := h.Group.At("matcher").Text()
	return hash != "" && (hash == hashOf(h, matcher) || hash == hashOf(h, ""))
}

// hashOf returns the hash that client 0.169.0 stores: that of the members with
// their defaults, ordered by name.
func hashOf(h install.Hook, matcher string) string {
	type handler struct {
		Async         bool    `json:"async"`
		Command       string  `json:"command"`
		StatusMessage *string `json:"statusMessage,omitempty"`
		Timeout       *int    `json:"timeout"`
		Type          string  `json:"type"`
	}
	all := struct {
		Event   string     `json:"event_name"`
		Hooks   [1]handler `json:"hooks"`
		Matcher string     `json:"matcher,omitempty"`
	}{Event: snake(h.Event), Matcher: matcher}
	if json.Unmarshal(h.Value.Raw, &all.Hooks[0]) != nil {
		return ""
	}
	timeout := install.CodexMost(h.Event)
	if t := all.Hooks[0].Timeout; t != nil && (*t < timeout || timeout > 1) {
		timeout = max(1, *t)
	}
	all.Hooks[0].Timeout = &timeout
	text, _ := files.Encode(all, nil) // strings and numbers have no error
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text))
}

// snake returns the name of an event in config.toml, such as pre_compact.
func snake(event hook.Event) string {
	inside := regexp.MustCompile(`\B[A-Z]`)
	return strings.ToLower(inside.ReplaceAllString(string(event), "_$0"))
}
