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
	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

// codexHooks calls the finding.
const codexHooks = "codex hooks"

// codex examines the hooks of Codex, where its folder is: whether they are there, and whether its user has trusted them.
func (d *doctor) codex(ctx context.Context) {
	if info, err := os.Stat(d.Codex); d.Codex == "" || err != nil || !info.IsDir() {
		return
	}
	switch c, ok, err := install.CodexInPath(ctx, d.Path, d.Environ); {
	case err != nil:
		d.found(codexHooks, Noted, "run codex --version", "%v", err)
	case ok && install.Older(c.Version, install.OldestCodex):
		d.found(codexHooks, Noted, "update codex", "codex is %s, and runs no hooks before %s; its agents are not warned", c, install.OldestCodex)
		return
	}

	path := install.CodexHooks(d.Codex)
	e, _, err := d.edited(path, install.NewCodexEditor)
	if err != nil {
		d.found(codexHooks, Broken, "correct the file; Codex reads none of it", "%v (%s)", err, path)
		return
	}
	if event, ok := httpHook(e); ok {
		d.found(codexHooks, Broken, "remove that hook", "Codex reads nothing of %s for the sake of one of type http, for %s", path, event)
	}
	var missing []hook.Event
	var own []codexHook
	commands := map[string][]string{}
	for _, event := range install.CodexEvents() {
		found := ownHooks(e, event)
		if own = append(own, found...); len(found) == 0 {
			missing = append(missing, event)
		}
		for _, h := range found {
			if program, args := e.HookCommand(h.v); program != "" {
				commands[program] = args
			}
		}
	}
	switch {
	case len(own) == 0:
		d.found(codexHooks, Noted, "run sm install --codex", "not installed in %s; Codex's agents hear nothing", path)
		return
	case len(missing) > 0:
		d.found(codexHooks, Broken, "run sm install --codex", "%s has none for %s", path, eventNames(missing))
	default:
		d.trust(path, own)
	}
	d.programs(ctx, codexHooks, commands)
}

// httpHook finds a hook that the client does not know, and that keeps it from reading any.
func httpHook(e *install.Editor) (event string, ok bool) {
	hooks := e.Doc.At("hooks")
	if hooks == nil {
		return "", false
	}
	for _, c := range hooks.Children {
		var groups []struct {
			Hooks []struct{ Type string }
		}
		if json.Unmarshal(c.Value.Raw, &groups) != nil {
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

// codexHook is a hook of ours, where it stands, and the matcher of its group, nil for none.
type codexHook struct {
	event   hook.Event
	path    []string
	v       *jsonedit.Value
	matcher *jsonedit.Value
}

// ownHooks are our hooks for an event.
func ownHooks(e *install.Editor, event hook.Event) (own []codexHook) {
	for _, path := range e.OwnHooks(event) {
		own = append(own, codexHook{event, path, e.Doc.At(path...), e.Doc.At(append(path[:3:3], "matcher")...)})
	}
	return own
}

// codexConfig is what of config.toml decides whether hooks run.
type codexConfig struct {
	Features map[string]any
	Hooks    struct {
		State map[string]struct {
			Hash    string `toml:"trusted_hash"`
			Enabled *bool
		}
	}
}

// trust examines whether Codex runs hooks of ours: each one only while it is as its user trusted it.
func (d *doctor) trust(path string, own []codexHook) {
	var c codexConfig
	config := filepath.Join(d.Codex, "config.toml")
	text, err := os.ReadFile(config)
	if err == nil {
		err = toml.Unmarshal(text, &c)
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position() // the text names types of Go where Codex wants another kind of value
		err = fmt.Errorf("line %d is not as Codex has it", line)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.found(codexHooks, Noted, "see that it is right", "installed; whether they are trusted cannot be read from %s: %v", config, install.PlainError(err))
		return
	}
	if on, ok := c.Features["hooks"].(bool); ok && !on {
		d.found(codexHooks, Broken, "remove hooks = false there", "%s turns all hooks off", config)
		return
	}
	var strange, off []hook.Event
	for _, h := range own {
		state, known := c.Hooks.State[h.key(path)]
		if real, err := filepath.EvalSymlinks(path); err == nil && !known {
			state = c.Hooks.State[h.key(real)]
		}
		switch {
		case state.Enabled != nil && !*state.Enabled:
			off = append(off, h.event)
		case !h.trusted(state.Hash):
			strange = append(strange, h.event)
		}
	}
	switch {
	case len(off) > 0:
		d.found(codexHooks, Broken, "switch them on in codex, with /hooks", "%s has switched off those for %s", config, eventNames(off))
	case len(strange) > 0:
		d.found(codexHooks, Broken, "start codex and choose \"Trust all and continue\", or type /hooks and t",
			"Codex does not run %d of %d, which its user has not trusted as they are: %s", len(strange), len(own), eventNames(strange))
	default:
		d.found(codexHooks, Healthy, "", "installed for %d events, and trusted", len(install.CodexEvents()))
	}
}

// key is how config.toml calls a hook: by its file, event, group and number.
func (h *codexHook) key(path string) string {
	return fmt.Sprintf("%s:%s:%v:%v", path, snake(h.event), h.path[2], h.path[4])
}

// trusted says whether the hook is as it was when its user trusted it, and the client kept this hash of it. Of some events
// the client takes no notice of the matcher.
func (h *codexHook) trusted(hash string) bool {
	matcher, _ := h.matcher.Text()
	return hash != "" && (hash == h.hash(matcher) || hash == h.hash(""))
}

// hash is what the client keeps of a hook that was trusted: the sum of its sorted members with their defaults, as of client
// 0.169.0.
func (h *codexHook) hash(matcher string) string {
	var handler struct {
		Type          string  `json:"type"`
		Command       string  `json:"command"`
		Timeout       *int    `json:"timeout"`
		Async         bool    `json:"async"`
		StatusMessage *string `json:"statusMessage"`
	}
	if json.Unmarshal(h.v.Raw, &handler) != nil {
		return ""
	}
	timeout := install.CodexMost(h.event)
	if t := handler.Timeout; t != nil && (*t < timeout || timeout > 1) {
		timeout = max(1, *t)
	}
	members := map[string]any{"type": handler.Type, "command": handler.Command, "timeout": timeout, "async": handler.Async}
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
	if e.Encode(all) != nil { // texts and numbers
		return ""
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n"))))
}

// snake is an event's name as config.toml writes it: pre_compact.
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
