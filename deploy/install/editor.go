package install

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sm/dashboards/screen/plain"
	"sm/deploy"
	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

// An Editor adds sm's hooks and status line to the settings of a client and removes
// them. It changes nothing else there.
type Editor struct {
	*File
	Doc    *jsonedit.Text
	in     *installation
	before *jsonedit.Value // the settings before the first installation, nil if unknown
}

// Open returns an editor of the settings file at a path, with errors that leave out the
// path. Options have the running sm, which helps to recognize own entries (see
// isOwnProgram), and the meaning of ~ in commands.
func (o Options) Open(path string) (*Editor, error) {
	file, err := ReadFile(path)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), path+": "))
	}
	e, err := o.of(Claude()).edit(file)
	if err != nil {
		return nil, err
	}
	return e, e.check()
}

// edit returns an editor of a file. Errors leave out its path.
func (in *installation) edit(file *File) (*Editor, error) {
	doc, err := jsonedit.Parse(settingsBody(file.text))
	return &Editor{
		File: file,
		Doc:  doc,
		in:   in,
	}, err
}

// text returns the file's text after the edits.
func (e *Editor) text() []byte {
	switch {
	case bytes.Equal(e.Doc.Bytes, settingsBody(e.File.text)): // an empty file stays one
		return e.File.text
	case bytes.HasPrefix(e.File.text, []byte(byteOrderMark)):
		return append([]byte(byteOrderMark), e.Doc.Bytes...)
	}
	return e.Doc.Bytes
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
	words = append([]string{cmp.Or(e.in.Small, e.in.Program)}, words...)
	if e.in.Socket != "" {
		words = append(words, "--socket", e.in.Socket)
	}
	return shellLine(words)
}

// install makes these events have hooks of ours, and adds the status line if the client
// has one.
func (e *Editor) install(hooks []hook.Event) {
	e.setHooks(hooks)
	if e.in.client.more {
		e.installStatusLine()
	}
}

// setHooks makes each of these events, and no other, have one hook of ours.
func (e *Editor) setHooks(wanted []hook.Event) {
	for _, c := range e.Doc.At("hooks").Items() {
		if event := hook.Event(c.Key); !slices.Contains(wanted, event) {
			e.removeHooks(event, 0)
		}
	}
	for _, event := range wanted {
		e.installHook(event)
	}
}

// guarded reports whether the hook of the guard is installed.
func (e *Editor) guarded() bool { return len(e.OwnHooks(hook.PreToolUse)) > 0 }

// check returns why the settings cannot be edited. The client does not accept such
// settings either.
func (e *Editor) check() error {
	wrong := func(v *jsonedit.Value, what string) error {
		return fmt.Errorf("line %d: %s", e.Doc.Line(v.From), what)
	}
	hooks := e.Doc.At("hooks")
	switch {
	case !e.Doc.Root.IsObject():
		return errors.New("the settings are not a JSON object")
	case hooks != nil && !hooks.IsObject():
		return wrong(hooks, "hooks is not an object")
	}
	for _, c := range hooks.Items() {
		if !c.IsArray() {
			return wrong(c, "hooks."+c.Key+" is not a list")
		}
	}
	if v := e.Doc.At("statusLine"); v != nil {
		kind, _ := v.At("type").Text()
		if _, ok := v.At("command").Text(); !ok || kind != "command" {
			return wrong(v, "statusLine has no command")
		}
	}
	return nil
}

// A Hook is a hook of ours in the settings.
type Hook struct {
	Event hook.Event
	Path  []string // hooks, event, group, hooks, number
	Group *jsonedit.Value
	Value *jsonedit.Value
	words []string // program and arguments
}

// OwnHooks returns our hooks for an event, in any spelling.
func (e *Editor) OwnHooks(event hook.Event) (own []Hook) {
	groups := e.Doc.At("hooks", string(event))
	for _, group := range groups.Items() {
		handlers := group.At("hooks")
		if !groups.IsArray() || !handlers.IsArray() { // the client does not run these
			continue
		}
		for _, v := range handlers.Children {
			h := Hook{
				Event: event,
				Path:  []string{"hooks", string(event), group.Key, "hooks", v.Key},
				Group: group,
				Value: v,
				words: e.hookWords(v),
			}
			if _, ok := ownCommand(h.words, "hook", e.in.Program); ok {
				own = append(own, h)
			}
		}
	}
	return own
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
	return shellWords(command, e.in.Home)
}

// Command returns the program and arguments of the hook. program is "" for one that a shell
// finds in its PATH.
func (h Hook) Command() (program string, args []string) {
	if h.Value.At("args") == nil && (h.words[1] != "hook" || !strings.Contains(h.words[0], "/")) {
		return "", nil
	}
	return h.words[0], h.words[1:]
}

// installHook makes an event have one hook of ours. The client runs it by a shell:
// clients that can do without one are as fast, and older ones cannot.
func (e *Editor) installHook(event hook.Event) {
	e.removeHooks(event, 1)
	words := []string{"hook"}
	h := handler{Type: "command"}
	if !e.in.client.more {
		words = append(words, "--client", e.in.client.Name)
		h.Timeout = min(5, CodexMost(event))
	}
	h.Command = e.commandLine(words...)
	if own := e.OwnHooks(event); len(own) > 0 {
		// The user may have added a timeout or a matcher: only the command is ours.
		e.Doc.Put(h.Command, append(own[0].Path, "command")...)
		e.Doc.Remove(append(own[0].Path, "args")...) // of an sm that called hooks without a shell
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
	for _, h := range slices.Backward(own[min(keep, len(own)):]) { // indexes before stay valid
		e.Doc.Remove(h.Path...)
		if len(e.Doc.At(h.Path[:4]...).Items()) == 0 {
			e.Doc.Remove(h.Path[:3]...)
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
	if place, _ := e.marketplace(); place == e.in.plugin {
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
		want += " -- " + plain.ShellQuote(original)
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
		args, isOwn := ownCommand(shellWords(command, e.in.Home), "statusline", e.in.Program)
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
	words := shellWords(command, e.in.Home)
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return ""
	}
	return words[0]
}
