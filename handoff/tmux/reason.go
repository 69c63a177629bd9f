package tmux

import "errors"

// Reason is why a pane was not typed into.
type Reason int

// The reasons, in the order in which they are looked for.
const (
	// ReasonNone is no reason to refuse.
	ReasonNone Reason = iota
	// ReasonUnknown is what could not be found out.
	ReasonUnknown
	// ReasonGone is a server, pane or client that is no more.
	ReasonGone
	// ReasonServerChanged is a socket with another server behind it.
	ReasonServerChanged
	// ReasonDead is a pane that stays open though its process has ended.
	ReasonDead
	// ReasonMode is a pane in copy mode, a chooser or the like.
	ReasonMode
	// ReasonInputOff is a pane that takes no keys.
	ReasonInputOff
	// ReasonSynchronized is a pane that shares its keys with others.
	ReasonSynchronized
	// ReasonReused is a pane, or a pid, that belongs to another process now.
	ReasonReused
	// ReasonStopped is a client that was suspended.
	ReasonStopped
	// ReasonForeground is a client that is not in front on the pane's terminal.
	ReasonForeground
	// ReasonEnding is a client that is about to end, or has given the terminal back to
	// line mode: what is typed now is the shell's behind it.
	ReasonEnding
	// ReasonTyping is a human who used the pane within the last Options.Quiet.
	ReasonTyping
	// ReasonDialog is a question with choices, such as for a permission.
	ReasonDialog
	// ReasonMenu is a list or view that takes keys, such as /model, rewind or agents.
	ReasonMenu
	// ReasonVim is vim's NORMAL or VISUAL mode, where the screen tells.
	ReasonVim
	// ReasonShellMode is an input box that would run a shell command.
	ReasonShellMode
	// ReasonDraft is text of a human in the input box.
	ReasonDraft
	// ReasonShell is a shell's prompt.
	ReasonShell
	// ReasonNoBox is a screen without the client's input box.
	ReasonNoBox
	// ReasonUnclear is an input box that cannot be told to be empty.
	ReasonUnclear
	// ReasonMerged is an input box with other text than was pasted. It is left so.
	ReasonMerged
	// ReasonUnseen is a paste that the client did not show in time.
	ReasonUnseen
	// ReasonBusy is a client of Codex that shows that it works.
	ReasonBusy
	reasons // their number
)

// reasonTexts are the word for labels, what is the matter, and what to do.
var reasonTexts = [reasons]struct{ name, matter, remedy string }{
	ReasonNone:          {"none", "nothing is the matter", "try again"},
	ReasonUnknown:       {"unknown", "the pane could not be checked", "see that tmux answers and /proc is readable, then try again"},
	ReasonGone:          {"gone", "the server, pane or client is no more", "find the pane anew"},
	ReasonServerChanged: {"server_changed", "another tmux server has the socket now", "find the pane anew"},
	ReasonDead:          {"dead", "the pane's process has ended", "find the pane anew"},
	ReasonMode:          {"mode", "the pane is in copy mode or the like", "try again once it has ended"},
	ReasonInputOff:      {"input_off", "the pane takes no input", "try again after select-pane -e"},
	ReasonSynchronized:  {"synchronized", "the pane shares its keys with others", "try again once synchronize-panes is off"},
	ReasonReused:        {"reused", "the pane or pid belongs to another process", "find the pane anew"},
	ReasonStopped:       {"stopped", "the client is suspended", "try again once it runs"},
	ReasonForeground:    {"foreground", "the client is not in front", "try again once it is"},
	ReasonEnding:        {"ending", "the client is ending, or reads no keys", "try again if it goes on"},
	ReasonTyping:        {"typing", "somebody is using the pane", "try again in a few seconds"},
	ReasonDialog:        {"dialog", "a dialog is open", "try again once it is answered"},
	ReasonMenu:          {"menu", "a list or view is open", "try again once it is closed"},
	ReasonVim:           {"vim", "vim's keys are on", "try again in INSERT mode"},
	ReasonShellMode:     {"shell_mode", "the input box runs shell commands", "try again once it does not"},
	ReasonDraft:         {"draft", "a draft is in the input box", "try again once it is sent or removed"},
	ReasonShell:         {"shell", "a shell is in front", "try again once the client is"},
	ReasonNoBox:         {"no_box", "there is no input box", "try again once there is"},
	ReasonUnclear:       {"unclear", "the input box is not clearly empty", "try again"},
	ReasonMerged:        {"merged", "somebody else's text is in the input box too", "send or remove it by hand"},
	ReasonUnseen:        {"unseen", "the client did not show what was pasted", "look at the pane before trying again"},
	ReasonBusy:          {"busy", "the client shows that it works", "try again at the end of the turn"},
}

func (r Reason) valid() Reason {
	if r < 0 || r >= reasons {
		return ReasonUnknown
	}
	return r
}

// String is a single word that is fit for a label.
func (r Reason) String() string { return reasonTexts[r.valid()].name }

// Final says that the pane will not be that client's again: it has to be found anew.
func (r Reason) Final() bool {
	return r == ReasonGone || r == ReasonServerChanged || r == ReasonDead || r == ReasonReused
}

// away says that keys do not go to the client now.
func (r Reason) away() bool {
	return r == ReasonStopped || r == ReasonForeground || r == ReasonEnding
}

// Error is why something was not done with a pane.
type Error struct {
	Op     string // what was attempted, such as "type"
	Pane   Pane
	Reason Reason
	// Pasted says that the text may stand in the input box, without Enter.
	Pasted bool
	// Erased says that the text was pasted, and that nothing of it is left.
	Erased bool
	Err    error // what lies behind it, if anything
}

func (e *Error) Error() string {
	text, line := reasonTexts[e.Reason.valid()], e.Op
	if e.Pane.ID != "" {
		line += " in pane " + e.Pane.ID
	}
	line += ": " + text.matter
	if e.Erased {
		line += ", and the text was taken back"
	}
	if e.Err != nil {
		line += ": " + e.Err.Error()
	}
	return line + ": " + text.remedy
}

func (e *Error) Unwrap() error { return e.Err }

// Word is the reason in one word, as [Reason.String].
func (e *Error) Word() string { return e.Reason.String() }

// ReasonOf finds the reason in an error: none for nil, unknown when it has none.
func ReasonOf(err error) Reason {
	if err == nil {
		return ReasonNone
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ReasonUnknown
}

// ErasedIn says whether err is of a text that was taken back, see [Error].
func ErasedIn(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Erased
}

// PastedIn says whether err leaves a text in the input box, see [Error].
func PastedIn(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Pasted
}
