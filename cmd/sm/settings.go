package main

import (
	"fmt"
	"slices"

	"sm/transcript/hook"
)

// settingsEditor puts our hooks and status line into the client's settings and takes them out. It touches nothing
// else there.
type settingsEditor struct {
	doc *jsonText
	// program and socket are what the client is to call; the socket is empty where the default does.
	program, socket string
	home            string
	isOwn           func(program string) bool
}

// handler is a hook as the client wants it, without a shell.
type handler struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

type handlerGroup struct {
	Hooks []handler `json:"hooks"`
}

type statusCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

// hookEvents are those that the observer learns from.
func hookEvents(guard bool) []hook.Event {
	events := []hook.Event{hook.SessionStart, hook.SessionEnd, hook.UserPromptSubmit, hook.PostToolUse, hook.Stop,
		hook.PreCompact, hook.PostCompact, hook.Notification}
	if guard {
		events = append(events, hook.PreToolUse)
	}
	return events
}

func (e *settingsEditor) hookArgs() []string {
	if e.socket != "" {
		return []string{"hook", "--socket", e.socket}
	}
	return []string{"hook"}
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
	wanted := hookEvents(guard || !noGuard && e.guarded())
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
	if !e.doc.root.isObject() {
		return fmt.Errorf("the settings are not a JSON object; correct them")
	}
	hooks := e.doc.at("hooks")
	if hooks != nil && !hooks.isObject() {
		return fmt.Errorf("line %d: hooks is not an object; correct it", e.doc.line(hooks.from))
	}
	for _, event := range hookEvents(true) {
		if v := e.doc.at("hooks", string(event)); v != nil && !v.isArray() {
			return fmt.Errorf("line %d: hooks.%s is not a list; correct it", e.doc.line(v.from), event)
		}
	}
	if v := e.doc.at("statusLine"); v != nil {
		kind, _ := e.doc.at("statusLine", "type").text()
		if _, ok := e.doc.at("statusLine", "command").text(); !ok || kind != "command" {
			return fmt.Errorf("line %d: statusLine has no command; correct or remove it", e.doc.line(v.from))
		}
	}
	return nil
}

// events are the events that have hooks.
func (e *settingsEditor) events() (all []hook.Event) {
	if hooks := e.doc.at("hooks"); hooks.isObject() {
		for _, c := range hooks.children {
			all = append(all, hook.Event(c.key))
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
	groups := e.doc.at("hooks", string(event))
	if !groups.isArray() {
		return nil
	}
	for g := range groups.children {
		handlers := e.doc.at("hooks", string(event), g, "hooks")
		if !handlers.isArray() {
			continue
		}
		for n := range handlers.children {
			if e.isOwnHook(handlers.children[n].value) {
				places = append(places, hookPlace{g, n})
			}
		}
	}
	return places
}

func (e *settingsEditor) isOwnHook(v *jsonValue) bool {
	command, ok := v.member("command").text()
	if !ok {
		return false
	}
	words, simple := []string{command}, true
	if args := v.member("args"); args.isArray() {
		for _, c := range args.children {
			arg, _ := c.value.text()
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
	want := handler{"command", e.program, e.hookArgs()}
	v := e.doc.at(places[0].path(event)...)
	command, _ := v.member("command").text()
	args := v.member("args")
	if command != want.Command {
		if err := e.doc.put(want.Command, places[0].path(event, "command")...); err != nil {
			return err
		}
	}
	if !args.isTexts(want.Args) {
		return e.doc.put(want.Args, places[0].path(event, "args")...)
	}
	return nil
}

func (e *settingsEditor) addHook(event hook.Event) error {
	if e.doc.at("hooks") == nil {
		if err := e.doc.put(struct{}{}, "hooks"); err != nil {
			return err
		}
	}
	group := handlerGroup{[]handler{{"command", e.program, e.hookArgs()}}}
	groups := e.doc.at("hooks", string(event))
	if groups == nil {
		return e.doc.put([]handlerGroup{group}, "hooks", string(event))
	}
	return e.doc.put(group, "hooks", string(event), len(groups.children))
}

// removeHooks takes our handlers of an event out, but for the first ones, and what is empty then.
func (e *settingsEditor) removeHooks(event hook.Event, but int) error {
	places := e.ownHooks(event)
	for _, p := range slices.Backward(places[min(but, len(places)):]) { // from the end: the numbers before stay good
		paths := [][]any{p.path(event), p.path(event)[:3], {"hooks", string(event)}, {"hooks"}}
		for i, path := range paths {
			if err := e.doc.remove(path...); err != nil {
				return err
			}
			// Of a group the list of handlers counts; of the others what they are themselves.
			inside := path[:len(path)-1]
			if i+1 == len(paths) || len(e.doc.at(inside...).children) > 0 {
				break
			}
		}
	}
	return nil
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
	if !e.doc.root.isObject() {
		return nil
	}
	if err := e.removeAllHooks(); err != nil {
		return err
	}
	command, _ := e.doc.at("statusLine", "command").text()
	original, wraps, own := e.unwrap(command)
	switch {
	case !own:
		return nil
	case wraps:
		return e.doc.put(original, "statusLine", "command")
	}
	return e.doc.remove("statusLine")
}

func (e *settingsEditor) installStatusLine() error {
	command, there := e.doc.at("statusLine", "command").text()
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
		return e.doc.put(want, "statusLine", "command")
	}
	return e.doc.put(statusCommand{"command", want}, "statusLine")
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
