package install

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

// An Editor puts our hooks and status line into the client's settings and takes them out. It touches nothing else there.
type Editor struct {
	Doc *jsonedit.Text
	// program and socket are what the client is to call; the socket is empty where the default does.
	program, socket string
	client          string // the version that is to read the settings, "" for a current one
	codex           bool   // they are Codex's hooks
	home            string
	before          *jsonedit.Text // the settings before the installation, nil where nobody knows
	isOwn           func(program string) bool
	err             error // why the first change failed; none follows it
}

// handler is a hook as the client wants it: without a shell, or by a shell where there are no arguments.
type handler struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	Timeout int      `json:"timeout,omitempty"` // in seconds
}

type handlerGroup struct {
	Hooks []handler `json:"hooks"`
}

type statusCommand struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

func (e *Editor) hookArgs() []string {
	args := []string{"hook"}
	if e.codex {
		args = append(args, "--client", "codex")
	}
	if e.socket != "" {
		args = append(args, "--socket", e.socket)
	}
	return args
}

// handler is our hook in a form that the client knows.
func (e *Editor) handler(event hook.Event) handler {
	if !e.codex && TakesArgs(e.client) {
		return handler{Type: "command", Command: e.program, Args: e.hookArgs()}
	}
	words := []string{ShellQuote(e.program)}
	for _, arg := range e.hookArgs() {
		words = append(words, ShellQuote(arg))
	}
	h := handler{Type: "command", Command: strings.Join(words, " ")}
	if e.codex {
		h.Timeout = min(codexTimeout, CodexMost(event))
	}
	return h
}

// install sees to it that each event has our hook once, and that the status line is ours.
func (e *Editor) install(guard, noGuard bool) error {
	if err := e.Check(); err != nil {
		return err
	}
	_ = e.installHooks(guard, noGuard) // its error is the editor's
	e.installStatusLine()
	return e.err
}

func (e *Editor) put(value any, path ...any) {
	if e.err == nil {
		e.err = e.Doc.Put(value, path...)
	}
}

func (e *Editor) remove(path ...any) {
	if e.err == nil {
		e.err = e.Doc.Remove(path...)
	}
}

// installHooks takes care of the guard's hook where it is asked for or there already, unless it is told to take it out.
func (e *Editor) installHooks(guard, noGuard bool) error {
	wanted := e.Events(e.client, guard || !noGuard && e.guarded())
	for _, event := range e.events() {
		if !slices.Contains(wanted, event) {
			e.removeHooks(event, 0)
		}
	}
	for _, event := range wanted {
		e.installHook(event)
	}
	return e.err
}

// Events are the events that this file is to have hooks for: those of [CodexEvents], or of [HookEvents].
func (e *Editor) Events(version string, guard bool) []hook.Event {
	if e.codex {
		return CodexEvents()
	}
	return HookEvents(version, guard)
}

func (e *Editor) guarded() bool { return len(e.OwnHooks(hook.PreToolUse)) > 0 }

// installBeside is install where the hooks are the plugin's: there are none of ours here.
func (e *Editor) installBeside() error {
	if err := e.Check(); err != nil {
		return err
	}
	e.removeAllHooks()
	e.installStatusLine()
	return e.err
}

// Check refuses settings that the client does not understand either: the user who wrote them should know.
func (e *Editor) Check() error {
	if !e.Doc.Root.IsObject() {
		return fmt.Errorf("the settings are not a JSON object; correct the file, it is untouched")
	}
	hooks := e.Doc.At("hooks")
	if hooks != nil && !hooks.IsObject() {
		return fmt.Errorf("line %d: hooks is not an object; correct the file, it is untouched", e.Doc.Line(hooks.From))
	}
	for _, event := range e.Events("", true) {
		if v := e.Doc.At("hooks", string(event)); v != nil && !v.IsArray() {
			return fmt.Errorf("line %d: hooks.%s is not a list; correct the file, it is untouched", e.Doc.Line(v.From), event)
		}
	}
	if v := e.Doc.At("statusLine"); v != nil {
		kind, _ := e.Doc.At("statusLine", "type").Text()
		if _, ok := e.Doc.At("statusLine", "command").Text(); !ok || kind != "command" {
			return fmt.Errorf("line %d: statusLine has no command; correct or remove it", e.Doc.Line(v.From))
		}
	}
	return nil
}

// events are the events that have hooks.
func (e *Editor) events() (all []hook.Event) {
	if hooks := e.Doc.At("hooks"); hooks.IsObject() {
		for _, c := range hooks.Children {
			all = append(all, hook.Event(c.Key))
		}
	}
	return all
}

// A HookPlace is a handler: its group among the event's, and its number in there.
type HookPlace struct{ group, number int }

func (p HookPlace) Path(event hook.Event, more ...any) []any {
	return append([]any{"hooks", string(event), p.group, "hooks", p.number}, more...)
}

// ownHooks finds our handlers of an event, however they are spelled.
func (e *Editor) OwnHooks(event hook.Event) (places []HookPlace) {
	groups := e.Doc.At("hooks", string(event))
	if !groups.IsArray() {
		return nil
	}
	for g := range groups.Children {
		handlers := e.Doc.At("hooks", string(event), g, "hooks")
		if !handlers.IsArray() {
			continue
		}
		for n := range handlers.Children {
			if e.isOwnHook(handlers.Children[n].Value) {
				places = append(places, HookPlace{g, n})
			}
		}
	}
	return places
}

func (e *Editor) isOwnHook(v *jsonedit.Value) bool {
	command, ok := v.Member("command").Text()
	if !ok {
		return false
	}
	words, simple := []string{command}, true
	if args := v.Member("args"); args.IsArray() {
		list, _ := args.Texts()
		words = append(words, list...)
	} else {
		words, simple = shellWords(command, e.home)
	}
	if !simple {
		return false
	}
	_, own := ownCommand(words, "hook", e.isOwn)
	return own
}

func (e *Editor) installHook(event hook.Event) {
	places := e.OwnHooks(event)
	if len(places) == 0 {
		e.addHook(event)
		return
	}
	e.removeHooks(event, 1)
	// The user may have given ours a timeout or a matcher: only what we own is brought up to date.
	want := e.handler(event)
	v := e.Doc.At(places[0].Path(event)...)
	command, _ := v.Member("command").Text()
	args, known := v.Member("args").Texts()
	if command != want.Command {
		e.put(want.Command, places[0].Path(event, "command")...)
	}
	switch {
	case want.Args == nil:
		e.remove(places[0].Path(event, "args")...)
	case !known || !slices.Equal(args, want.Args):
		e.put(want.Args, places[0].Path(event, "args")...)
	}
}

func (e *Editor) addHook(event hook.Event) {
	if e.Doc.At("hooks") == nil {
		e.put(struct{}{}, "hooks")
	}
	group := handlerGroup{[]handler{e.handler(event)}}
	if groups := e.Doc.At("hooks", string(event)); groups != nil {
		e.put(group, "hooks", string(event), len(groups.Children))
	} else {
		e.put([]handlerGroup{group}, "hooks", string(event))
	}
}

// removeHooks takes our handlers of an event out, but for the first ones, and what is empty then.
func (e *Editor) removeHooks(event hook.Event, but int) {
	places := e.OwnHooks(event)
	for _, p := range slices.Backward(places[min(but, len(places)):]) { // from the end: the numbers before stay good
		paths := [][]any{p.Path(event), p.Path(event)[:3], {"hooks", string(event)}, {"hooks"}}
		for i, path := range paths {
			e.remove(path...)
			// Of a group the list of handlers counts; of the others what they are themselves.
			inside := path[:len(path)-1]
			if e.err != nil || i+1 == len(paths) || len(e.Doc.At(inside...).Children) > 0 || e.wasEmpty(inside) {
				break
			}
		}
	}
}

// wasEmpty says that what is empty again at a path was so before the installation.
func (e *Editor) wasEmpty(path []any) bool {
	if e.before == nil || len(path) > 2 { // groups have no names
		return false
	}
	v := e.before.At(path...)
	return v != nil && len(v.Children) == 0
}

func (e *Editor) removeAllHooks() {
	for _, event := range e.events() {
		e.removeHooks(event, 0)
	}
}

// uninstall takes out what install put in, and puts a wrapped status line back.
func (e *Editor) uninstall() error {
	if !e.Doc.Root.IsObject() {
		return nil
	}
	e.removeAllHooks()
	command, _ := e.Doc.At("statusLine", "command").Text()
	original, wraps, own := e.Unwrap(command)
	switch {
	case !own:
	case !wraps:
		e.remove("statusLine")
	default:
		var value any = original
		if e.before != nil {
			v := e.before.At("statusLine", "command")
			if text, ok := v.Text(); ok && text == original {
				value = json.RawMessage(v.Raw) // as it was spelled
			}
		}
		e.put(value, "statusLine", "command")
	}
	return e.err
}

func (e *Editor) installStatusLine() {
	command, there := e.Doc.At("statusLine", "command").Text()
	original, wraps, own := e.Unwrap(command)
	if !own {
		original, wraps = command, there
	}
	want := ShellQuote(e.program) + " statusline"
	if e.socket != "" {
		want += " --socket " + ShellQuote(e.socket)
	}
	if wraps {
		want += " -- " + ShellQuote(original)
	}
	switch {
	case command == want:
	case there:
		e.put(want, "statusLine", "command")
	default:
		e.put(statusCommand{"command", want}, "statusLine")
	}
}

// unwrap says whether a status line is ours and what it wraps. Where ours wraps ours, by whatever name, the innermost
// counts: an sm in an sm would be one too many.
func (e *Editor) Unwrap(command string) (original string, wraps, own bool) {
	for {
		words, _ := shellWords(command, e.home)
		args, isOwn := ownCommand(words, "statusline", e.isOwn)
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

// StatusProgram gives the program of a status line of ours, "" for what a shell finds in its own PATH.
func (e *Editor) StatusProgram(command string) string {
	words, _ := shellWords(command, e.home)
	if len(words) == 0 || !strings.Contains(words[0], "/") {
		return ""
	}
	return words[0]
}

// HookCommand gives the program and arguments of a hook. What a shell finds in its own PATH is not known here: then the
// program is "".
func (e *Editor) HookCommand(v *jsonedit.Value) (program string, args []string) {
	program, _ = v.Member("command").Text()
	if v.Member("args") == nil {
		words, simple := shellWords(program, e.home)
		if !simple || len(words) < 2 || words[1] != "hook" || !strings.Contains(words[0], "/") {
			return "", nil
		}
		return words[0], words[1:]
	}
	args, _ = v.Member("args").Texts()
	return program, args
}
