package install

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

// An Editor adds sm's hooks and status line to the settings of a client and removes
// them. It changes nothing else there.
type Editor struct {
	Doc     *jsonedit.Text
	self    string // the running sm, "" if unknown
	program string // what hooks and status line call
	socket  string // of the observer, "" for the default
	codex   bool   // the file has Codex's hooks
	home    string
}

// NewEditor returns an editor of the settings in d. self is the running sm, which
// helps to recognize own entries (see isOwnProgram); "" if unknown. home is the
// meaning of ~ in commands.
func NewEditor(d *jsonedit.Text, self, home string) *Editor {
	return &Editor{
		Doc:     d,
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

type statusCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

// handler returns the hook for an event. The client runs it by a shell: those that can
// do without one are as fast, and older ones cannot.
func (e *Editor) handler(event hook.Event) handler {
	words := []string{e.program, "hook"}
	if e.codex {
		words = append(words, "--client", "codex")
	}
	h := handler{Type: "command", Command: e.commandLine(words...)}
	if e.codex {
		h.Timeout = min(codexTimeout, CodexMost(event))
	}
	return h
}

func (e *Editor) commandLine(words ...string) string {
	if e.socket != "" {
		words = append(words, "--socket", e.socket)
	}
	return shellLine(words)
}

// install adds the hooks and the status line.
func (e *Editor) install(guard bool) {
	e.installHooks(guard)
	e.installStatusLine()
}

// installBeside adds the status line and removes the hooks, which the plugin has.
func (e *Editor) installBeside() {
	e.removeAllHooks()
	e.installStatusLine()
}

// installHooks makes each event of the client have one hook of ours.
func (e *Editor) installHooks(guard bool) {
	wanted := HookEvents(guard)
	if e.codex {
		wanted = CodexEvents()
	}
	for _, event := range e.events() {
		if !slices.Contains(wanted, event) {
			e.removeHooks(event, 0)
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
	hooks := e.Doc.At("hooks")
	if hooks != nil && !hooks.IsObject() {
		return fmt.Errorf(
			"line %d: hooks is not an object; correct the file, it is untouched",
			e.Doc.Line(hooks.From),
		)
	}
	for _, event := range slices.Concat(HookEvents(true), CodexEvents()) {
		if v := hooks.At(string(event)); v != nil && !v.IsArray() {
			return fmt.Errorf("line %d: hooks.%s is not a list; correct the file, it is untouched",
				e.Doc.Line(v.From), event)
		}
	}
	if v := e.Doc.At("statusLine"); v != nil {
		kind, _ := v.At("type").Text()
		if _, ok := v.At("command").Text(); !ok || kind != "command" {
			return fmt.Errorf(
				"line %d: statusLine has no command; correct or remove it",
				e.Doc.Line(v.From),
			)
		}
	}
	return nil
}

// events returns the events that have hooks.
func (e *Editor) events() (all []hook.Event) {
	if hooks := e.Doc.At("hooks"); hooks.IsObject() {
		for _, c := range hooks.Children {
			all = append(all, hook.Event(c.Key))
		}
	}
	return all
}

// OwnHooks returns the paths of our hooks for an event, in whatever spelling:
// hooks, event, group, hooks, number.
func (e *Editor) OwnHooks(event hook.Event) (paths [][]string) {
	groups := e.Doc.At("hooks", string(event))
	if !groups.IsArray() {
		return nil
	}
	for _, group := range groups.Children {
		handlers := group.Value.At("hooks")
		if !handlers.IsArray() {
			continue
		}
		for _, h := range handlers.Children {
			if _, own := ownCommand(e.hookWords(h.Value), "hook", e.self); own {
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
	if args := v.At("args"); args.IsArray() {
		list, _ := args.Texts()
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

func (e *Editor) installHook(event hook.Event) {
	e.removeHooks(event, 1)
	own := e.OwnHooks(event)
	if len(own) == 0 {
		e.addHook(event)
		return
	}
	// The user may have added a timeout or a matcher: only the command is ours.
	want := e.handler(event).Command
	if command, _ := e.Doc.At(own[0]...).At("command").Text(); command != want {
		e.Doc.Put(want, append(own[0], "command")...)
	}
	e.Doc.Remove(append(own[0], "args")...) // of an sm that called hooks without a shell
}

func (e *Editor) addHook(event hook.Event) {
	if e.Doc.At("hooks") == nil {
		e.Doc.Put(struct{}{}, "hooks")
	}
	group := handlerGroup{[]handler{e.handler(event)}}
	if groups := e.Doc.At("hooks", string(event)); groups != nil {
		e.Doc.Put(group, "hooks", string(event), fmt.Sprint(len(groups.Children)))
	} else {
		e.Doc.Put([]handlerGroup{group}, "hooks", string(event))
	}
}

// removeHooks removes our hooks for an event, except the first keep, and what is
// empty then.
func (e *Editor) removeHooks(event hook.Event, keep int) {
	own := e.OwnHooks(event)
	for _, path := range slices.Backward(own[min(
		keep,
		len(own),
	):]) { // the indexes before stay valid
		e.Doc.Remove(path...)
		for _, n := range []int{3, 2, 1} { // the group, the event, all hooks
			inside := path[:n]
			if n == 3 {
				inside = path[:4] // the handlers of the group
			}
			if len(e.Doc.At(inside...).Children) > 0 {
				break
			}
			e.Doc.Remove(path[:n]...)
		}
	}
}

func (e *Editor) removeAllHooks() {
	for _, event := range e.events() {
		e.removeHooks(event, 0)
	}
}

// uninstall removes the hooks, and restores the status line that ours runs.
func (e *Editor) uninstall() {
	e.removeAllHooks()
	command, _ := e.Doc.At("statusLine", "command").Text()
	original, wraps, own := e.Unwrap(command)
	switch {
	case !own:
	case !wraps:
		e.Doc.Remove("statusLine")
	default:
		e.Doc.Put(original, "statusLine", "command")
	}
}

func (e *Editor) installStatusLine() {
	command, exists := e.Doc.At("statusLine", "command").Text()
	original, wraps, own := e.Unwrap(command)
	if !own {
		original = command
		wraps = exists
	}
	want := e.commandLine(e.program, "statusline")
	if wraps {
		want += " -- " + ShellQuote(original)
	}
	switch {
	case command == want:
	case exists:
		e.Doc.Put(want, "statusLine", "command")
	default:
		e.Doc.Put(statusCommand{"command", want}, "statusLine")
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
