package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

// settingsEditor puts our hooks and status line into the client's settings and takes them out. It touches nothing
// else there.
type settingsEditor struct {
	doc *jsonedit.Text
	// program and socket are what the client is to call; the socket is empty where the default does.
	program, socket string
	client          string // the version that is to read the settings, "" for a current one
	home            string
	before          *jsonedit.Text // the settings before the installation, nil where nobody knows
	isOwn           func(program string) bool
}

// handler is a hook as the client wants it: without a shell, or by a shell where there are no arguments.
type handler struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

type handlerGroup struct {
	Hooks []handler `json:"hooks"`
}

type statusCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

func (e *settingsEditor) hookArgs() []string {
	if e.socket != "" {
		return []string{"hook", "--socket", e.socket}
	}
	return []string{"hook"}
}

// handler is our hook in a form that the client knows.
func (e *settingsEditor) handler() handler {
	if takesArgs(e.client) {
		return handler{"command", e.program, e.hookArgs()}
	}
	words := []string{shellQuote(e.program)}
	for _, arg := range e.hookArgs() {
		words = append(words, shellQuote(arg))
	}
	return handler{Type: "command", Command: strings.Join(words, " ")}
}

// install sees to it that each event has our hook once, and that the status line is ours.
func (e *settingsEditor) install(guard, noGuard bool) error {
	if err := e.check(); err != nil {
		return err
	}
	if err := e.installHooks(guard, noGuard); err != nil {
		return err
	}
	return e.installStatusLine()
}

// installHooks takes care of the guard's hook where it is asked for or there already, unless it is told to take it out.
func (e *settingsEditor) installHooks(guard, noGuard bool) error {
	wanted := hookEvents(e.client, guard || !noGuard && e.guarded())
	for _, event := range e.events() {
		if !slices.Contains(wanted, event) {
			if err := e.removeHooks(event, 0); err != nil {
				return err
			}
		}
	}
	for _, event := range wanted {
		if err := e.installHook(event); err != nil {
			return err
		}
	}
	return nil
}

func (e *settingsEditor) guarded() bool { return len(e.ownHooks(hook.PreToolUse)) > 0 }

// installBeside is install where the hooks are the plugin's: there are none of ours here.
func (e *settingsEditor) installBeside() error {
	if err := e.check(); err != nil {
		return err
	}
	if err := e.removeAllHooks(); err != nil {
		return err
	}
	return e.installStatusLine()
}

// check refuses what the client does not understand either: whoever wrote it should know.
func (e *settingsEditor) check() error {
	if !e.doc.Root.IsObject() {
		return fmt.Errorf("the settings are not a JSON object; correct them")
	}
	hooks := e.doc.At("hooks")
	if hooks != nil && !hooks.IsObject() {
		return fmt.Errorf("line %d: hooks is not an object; correct it", e.doc.Line(hooks.From))
	}
	for _, event := range hookEvents("", true) {
		if v := e.doc.At("hooks", string(event)); v != nil && !v.IsArray() {
			return fmt.Errorf("line %d: hooks.%s is not a list; correct it", e.doc.Line(v.From), event)
		}
	}
	if v := e.doc.At("statusLine"); v != nil {
		kind, _ := e.doc.At("statusLine", "type").Text()
		if _, ok := e.doc.At("statusLine", "command").Text(); !ok || kind != "command" {
			return fmt.Errorf("line %d: statusLine has no command; correct or remove it", e.doc.Line(v.From))
		}
	}
	return nil
}

// events are the events that have hooks.
func (e *settingsEditor) events() (all []hook.Event) {
	if hooks := e.doc.At("hooks"); hooks.IsObject() {
		for _, c := range hooks.Children {
			all = append(all, hook.Event(c.Key))
		}
	}
	return all
}

// A hookPlace is a handler: its group among the event's, and its number in there.
type hookPlace struct{ group, number int }

func (p hookPlace) path(event hook.Event, more ...any) []any {
	return append([]any{"hooks", string(event), p.group, "hooks", p.number}, more...)
}

// ownHooks finds our handlers of an event, however they are spelled.
func (e *settingsEditor) ownHooks(event hook.Event) (places []hookPlace) {
	groups := e.doc.At("hooks", string(event))
	if !groups.IsArray() {
		return nil
	}
	for g := range groups.Children {
		handlers := e.doc.At("hooks", string(event), g, "hooks")
		if !handlers.IsArray() {
			continue
		}
		for n := range handlers.Children {
			if e.isOwnHook(handlers.Children[n].Value) {
				places = append(places, hookPlace{g, n})
			}
		}
	}
	return places
}

func (e *settingsEditor) isOwnHook(v *jsonedit.Value) bool {
	command, ok := v.Member("command").Text()
	if !ok {
		return false
	}
	words, simple := []string{command}, true
	if args := v.Member("args"); args.IsArray() {
		for _, c := range args.Children {
			arg, _ := c.Value.Text()
			words = append(words, arg)
		}
	} else {
		words, simple = shellWords(command, e.home)
	}
	if !simple {
		return false
	}
	_, own := ownCommand(words, "hook", e.isOwn)
	return own
}

func (e *settingsEditor) installHook(event hook.Event) error {
	places := e.ownHooks(event)
	if len(places) == 0 {
		return e.addHook(event)
	}
	if err := e.removeHooks(event, 1); err != nil {
		return err
	}
	// The user may have given ours a timeout or a matcher: only what we own is brought up to date.
	want := e.handler()
	v := e.doc.At(places[0].path(event)...)
	command, _ := v.Member("command").Text()
	args := v.Member("args")
	if command != want.Command {
		if err := e.doc.Put(want.Command, places[0].path(event, "command")...); err != nil {
			return err
		}
	}
	switch {
	case want.Args == nil:
		return e.doc.Remove(places[0].path(event, "args")...)
	case !args.IsTexts(want.Args):
		return e.doc.Put(want.Args, places[0].path(event, "args")...)
	}
	return nil
}

func (e *settingsEditor) addHook(event hook.Event) error {
	if e.doc.At("hooks") == nil {
		if err := e.doc.Put(struct{}{}, "hooks"); err != nil {
			return err
		}
	}
	group := handlerGroup{[]handler{e.handler()}}
	groups := e.doc.At("hooks", string(event))
	if groups == nil {
		return e.doc.Put([]handlerGroup{group}, "hooks", string(event))
	}
	return e.doc.Put(group, "hooks", string(event), len(groups.Children))
}

// removeHooks takes our handlers of an event out, but for the first ones, and what is empty then.
func (e *settingsEditor) removeHooks(event hook.Event, but int) error {
	places := e.ownHooks(event)
	for _, p := range slices.Backward(places[min(but, len(places)):]) { // from the end: the numbers before stay good
		paths := [][]any{p.path(event), p.path(event)[:3], {"hooks", string(event)}, {"hooks"}}
		for i, path := range paths {
			if err := e.doc.Remove(path...); err != nil {
				return err
			}
			// Of a group the list of handlers counts; of the others what they are themselves.
			inside := path[:len(path)-1]
			if i+1 == len(paths) || len(e.doc.At(inside...).Children) > 0 || e.wasEmpty(inside) {
				break
			}
		}
	}
	return nil
}

// wasEmpty says that what is empty again at a path was so before the installation.
func (e *settingsEditor) wasEmpty(path []any) bool {
	if e.before == nil || len(path) > 2 { // groups have no names
		return false
	}
	v := e.before.At(path...)
	return v != nil && len(v.Children) == 0
}

func (e *settingsEditor) removeAllHooks() error {
	for _, event := range e.events() {
		if err := e.removeHooks(event, 0); err != nil {
			return err
		}
	}
	return nil
}

// uninstall takes out what install put in, and puts a wrapped status line back.
func (e *settingsEditor) uninstall() error {
	if !e.doc.Root.IsObject() {
		return nil
	}
	if err := e.removeAllHooks(); err != nil {
		return err
	}
	command, _ := e.doc.At("statusLine", "command").Text()
	original, wraps, own := e.unwrap(command)
	switch {
	case !own:
		return nil
	case wraps && e.before != nil:
		if v := e.before.At("statusLine", "command"); v != nil { // as it was spelled
			if text, _ := v.Text(); text == original {
				return e.doc.Put(json.RawMessage(v.Raw), "statusLine", "command")
			}
		}
		fallthrough
	case wraps:
		return e.doc.Put(original, "statusLine", "command")
	}
	return e.doc.Remove("statusLine")
}

func (e *settingsEditor) installStatusLine() error {
	command, there := e.doc.At("statusLine", "command").Text()
	original, wraps, own := e.unwrap(command)
	if !own {
		original, wraps = command, there
	}
	want := shellQuote(e.program) + " statusline"
	if e.socket != "" {
		want += " --socket " + shellQuote(e.socket)
	}
	if wraps {
		want += " -- " + shellQuote(original)
	}
	switch {
	case command == want:
		return nil
	case there:
		return e.doc.Put(want, "statusLine", "command")
	}
	return e.doc.Put(statusCommand{"command", want}, "statusLine")
}

// unwrap says whether a status line is ours and what it wraps. Where ours wraps ours, by whatever name, the innermost
// counts: an sm in an sm would be one too many.
func (e *settingsEditor) unwrap(command string) (original string, wraps, own bool) {
	for {
		words, _ := shellWords(command, e.home)
		args, isOwn := ownCommand(words, "statusline", e.isOwn)
		if !isOwn {
			return original, wraps, own
		}
		own = true
		if original, wraps = wrappedCommand(args); !wraps {
			return "", false, true
		}
		command = original
	}
}
