package install

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sm/deploy"
	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

// An Editor adds sm's hooks and status line to the settings of a client and removes
// them. It changes nothing else there.
type Editor struct {
	Doc     *jsonedit.Text
	before  *jsonedit.Value // the settings before the first installation, nil if unknown
	client  Client
	self    string // the running sm, "" if unknown
	program string // what hooks and status line call
	socket  string // of the observer, "" for the default
	plugin  string // the folder of our marketplace
	home    string
}

// NewEditor returns an editor of the settings in d. self is the running sm, which
// helps to recognize own entries (see isOwnProgram); "" if unknown. home is the
// meaning of ~ in commands.
func NewEditor(d *jsonedit.Text, self, home string) *Editor {
	return &Editor{
		Doc:     d,
		client:  Claude(),
		self:    self,
		program: self,
		home:    home,
	}
}

type handler struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"` // in seconds
}

type handlerGroup struct {
	Hooks []handler `json:"hooks"`
}

func (e *Editor) commandLine(words ...string) string {
	words = append([]string{e.program}, words...)
	if e.socket != "" {
		words = append(words, "--socket", e.socket)
	}
	return shellLine(words)
}

// install adds the hooks and the status line, if the client has one.
func (e *Editor) install(guard bool) {
	e.setHooks(e.client.events(guard))
	if e.client.more {
		e.installStatusLine()
	}
}

// installBeside adds the status line and removes the hooks, which the plugin has.
func (e *Editor) installBeside() {
	e.setHooks(nil)
	e.installStatusLine()
}

// setHooks makes each of these events, and no other, have one hook of ours.
func (e *Editor) setHooks(wanted []hook.Event) {
	if hooks := e.Doc.At("hooks"); hooks.IsObject() {
		for _, c := range hooks.Children {
			if event := hook.Event(c.Key); !slices.Contains(wanted, event) {
				e.removeHooks(event, 0)
			}
		}
	}
	for _, event := range wanted {
		e.installHook(event)
	}
}

// guarded reports whether the hook of the guard is installed.
func (e *Editor) guarded() bool { return len(e.OwnHooks(hook.PreToolUse)) > 0 }

// Check returns why the settings cannot be edited. The client does not accept such
// settings either.
func (e *Editor) Check() error {
	if !e.Doc.Root.IsObject() {
		return errors.New("the settings are not a JSON object; correct the file, it is untouched")
	}
	if hooks := e.Doc.At("hooks"); hooks != nil {
		if !hooks.IsObject() {
			return fmt.Errorf("line %d: hooks is not an object; correct the file, it is untouched",
				e.Doc.Line(hooks.From))
		}
		for _, c := range hooks.Children {
			if !c.IsArray() {
				return fmt.Errorf("line %d: hooks.%s is not a list; correct the file, it is untouched",
					e.Doc.Line(c.From), c.Key)
			}
		}
	}
	if v := e.Doc.At("statusLine"); v != nil {
		kind, _ := v.At("type").Text()
		if _, ok := v.At("command").Text(); !ok || kind != "command" {
			return fmt.Errorf("line %d: statusLine has no command; correct or remove it",
				e.Doc.Line(v.From))
		}
	}
	return nil
}

// OwnHooks returns the paths of our hooks for an event, in whatever spelling:
// hooks, event, group, hooks, number.
func (e *Editor) OwnHooks(event hook.Event) (paths [][]string) {
	groups := e.Doc.At("hooks", string(event))
	if !groups.IsArray() {
		return nil
	}
	for _, group := range groups.Children {
		handlers := group.At("hooks")
		if !handlers.IsArray() {
			continue
		}
		for _, h := range handlers.Children {
			if _, own := ownCommand(e.hookWords(h), "hook", e.self); own {
				paths = append(
					paths,
					[]string{"hooks", string(event), group.Key, "hooks", h.Key},
				)
			}
		}
	}
	return paths
}

// hookWords returns program and arguments of a hook, nil if it needs a shell.
func (e *Editor) hookWords(v *jsonedit.Value) []string {
	command, ok := v.At("command").Text()
	if !ok {
		return nil
	}
	if list, ok := v.At("args").Texts(); ok {
		return append([]string{command}, list...)
	}
	return shellWords(command, e.home)
}

// HookCommand returns the program and arguments of a hook of ours. program is "" for
// one that a shell finds in its PATH.
func (e *Editor) HookCommand(v *jsonedit.Value) (program string, args []string) {
	words := e.hookWords(v)
	if v.At("args") == nil && (words[1] != "hook" || !strings.Contains(words[0], "/")) {
		return "", nil
	}
	return words[0], words[1:]
}

// installHook makes an event have one hook of ours. The client runs it by a shell:
// clients that can do without one are as fast, and older ones cannot.
func (e *Editor) installHook(event hook.Event) {
	e.removeHooks(event, 1)
	h := handler{
		Type:    "command",
		Command: e.commandLine(append([]string{"hook"}, e.client.args...)...),
		Timeout: e.client.timeout(event),
	}
	if own := e.OwnHooks(event); len(own) > 0 {
		// The user may have added a timeout or a matcher: only the command is ours.
		e.Doc.Put(h.Command, append(own[0], "command")...)
		e.Doc.Remove(append(own[0], "args")...) // of an sm that called hooks without a shell
		return
	}
	if e.Doc.At("hooks") == nil {
		e.Doc.Put(struct{}{}, "hooks")
	}
	if e.Doc.At("hooks", string(event)) == nil {
		e.Doc.Put([]handlerGroup{}, "hooks", string(event))
	}
	number := strconv.Itoa(len(e.Doc.At("hooks", string(event)).Children))
	e.Doc.Put(handlerGroup{[]handler{h}}, "hooks", string(event), number)
}

// removeHooks removes our hooks for an event, except the first keep, and what is
// empty then.
func (e *Editor) removeHooks(event hook.Event, keep int) {
	own := e.OwnHooks(event)
	for _, path := range slices.Backward(own[min(keep, len(own)):]) { // indexes before stay valid
		e.Doc.Remove(path...)
		if len(e.Doc.At(path[:4]...).Children) == 0 {
			e.Doc.Remove(path[:3]...)
		}
		e.prune("hooks", string(event))
		e.prune("hooks")
	}
}

// prune removes what is empty, unless it was there before the first installation.
func (e *Editor) prune(path ...string) {
	if v := e.Doc.At(path...); v != nil && len(v.Children) == 0 &&
		e.before.At(path...) == nil {
		e.Doc.Remove(path...)
	}
}

// uninstall removes the hooks and what the client has written for the plugin, and
// restores the status line that ours runs.
func (e *Editor) uninstall() {
	e.setHooks(nil)
	command, _ := e.Doc.At("statusLine", "command").Text()
	if original, wraps, own := e.Unwrap(command); wraps {
		e.Doc.Put(original, "statusLine", "command")
	} else if own {
		e.Doc.Remove("statusLine")
	}
	e.Doc.Remove("enabledPlugins", deploy.PluginID)
	if place, known := marketplaceKnown(e.Doc); known && place == e.plugin {
		e.Doc.Remove("extraKnownMarketplaces", deploy.Marketplace)
	}
	if e.before != nil { // the client leaves empty objects when a plugin goes
		e.prune("enabledPlugins")
		e.prune("extraKnownMarketplaces")
	}
}

func (e *Editor) installStatusLine() {
	command, exists := e.Doc.At("statusLine", "command").Text()
	original, wraps, own := e.Unwrap(command)
	if !own {
		original = command
		wraps = exists
	}
	want := e.commandLine("statusline")
	if wraps {
		want += " -- " + ShellQuote(original)
	}
	if exists {
		e.Doc.Put(want, "statusLine", "command")
	} else {
		e.Doc.Put(handler{Type: "command", Command: want}, "statusLine")
	}
}

// Unwrap reports whether a status line is ours, and which command it runs. Of ours
// in ours it returns the innermost.
func (e *Editor) Unwrap(command string) (original string, wraps, own bool) {
	for {
		args, isOwn := ownCommand(shellWords(command, e.home), "statusline", e.self)
		if !isOwn {
			return original, wraps, own
		}
		own = true
		if original, wraps = hook.WrappedCommand(args); !wraps {
			return "", false, true
		}
		command = original
	}
}

// StatusProgram returns the program of a status line of ours, "" for one that a
// shell finds in its PATH.
func (e *Editor) StatusProgram(command string) string {
	words := shellWords(command, e.home)
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return ""
	}
	return words[0]
}
