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

// Open returns an editor of a settings file. Its errors do not have the path.
// Of the options it uses Program, to recognize sm's entries (see isOwnProgram),
// and Home, for ~ in commands.
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

// edit returns an editor of a file. Its errors do not have the path.
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
	case bytes.Equal(e.Doc.Bytes, settingsBody(e.File.text)): // an empty file stays empty
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

// install makes each of these events have one hook of sm, and adds the status
// line if the client has one.
func (e *Editor) install(hooks []hook.Event) {
	e.setHooks(hooks)
	if e.in.client.more {
		e.installStatusLine()
	}
}

// setHooks makes each of these events have one hook of sm, and all other events
// none.
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

// check returns an error if the settings cannot be edited. The client does not
// accept such settings either.
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

// A Hook is a hook of sm in the settings.
type Hook struct {
	Event hook.Event
	Path  []string // hooks, event, group, hooks, number
	Group *jsonedit.Value
	Value *jsonedit.Value
	words []string // program and arguments
}

// OwnHooks returns sm's hooks for an event, however their commands are written.
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

// hookWords returns the program and arguments of a hook, nil if it needs a
// shell.
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

// Command returns the program and arguments of the hook. program is "" if a
// shell looks it up in its PATH.
func (h Hook) Command() (program string, args []string) {
	if h.Value.At("args") == nil && (h.words[1] != "hook" || !strings.Contains(h.words[0], "/")) {
		return "", nil
	}
	return h.words[0], h.words[1:]
}

// installHook makes an event have one hook of sm. The client runs it with a
// shell: newer clients can run it without one, which is not faster, and older
// ones cannot.
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
		// Only the command changes: the user may have added a timeout or a matcher.
		e.Doc.Put(h.Command, append(own[0].Path, "command")...)
		e.Doc.Remove(append(own[0].Path, "args")...) // from a version of sm whose hooks needed no shell
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

// removeHooks removes sm's hooks for an event, except for the first keep, and
// the lists and objects that become empty.
func (e *Editor) removeHooks(event hook.Event, keep int) {
	own := e.OwnHooks(event)
	for _, h := range slices.Backward(own[min(keep, len(own)):]) { // earlier indexes stay valid
		e.Doc.Remove(h.Path...)
		if len(e.Doc.At(h.Path[:4]...).Items()) == 0 {
			e.Doc.Remove(h.Path[:3]...)
		}
		e.prune("hooks", string(event))
		e.prune("hooks")
	}
}

// prune removes an empty value, unless it existed before the first
// installation.
func (e *Editor) prune(path ...string) {
	if v := e.Doc.At(path...); v != nil && len(v.Children) == 0 &&
		e.before.At(path...) == nil {
		e.Doc.Remove(path...)
	}
}

// uninstall removes the hooks and the client's entries for the plugin, and
// restores the status line that sm's runs.
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
	if e.before != nil { // the client leaves empty objects when it removes a plugin
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

// Unwrap reports whether a status line is sm's, and which command it runs. If
// sm's status line runs another one of sm, it returns the innermost command.
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

// StatusProgram returns the program of a status line of sm, "" if a shell looks
// it up in its PATH.
func (e *Editor) StatusProgram(command string) string {
	words := shellWords(command, e.in.Home)
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return ""
	}
	return words[0]
}
