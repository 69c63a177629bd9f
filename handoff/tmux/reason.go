package tmux

import (
	"errors"
	"strings"
)

// Reason is the reason why nothing was typed into a pane: a single word, used
// as a label, a colon, and a sentence with the problem and its remedy.
type Reason string

// The reasons. ReasonNone means that there is none.
const (
	ReasonNone          Reason = ""
	ReasonUnknown       Reason = "unknown: the pane could not be checked; see that tmux answers and /proc is readable, then try again"
	ReasonGone          Reason = "gone: the server, pane or client no longer exists; find the pane anew"
	ReasonServerChanged Reason = "server_changed: another tmux server has the socket now; find the pane anew"
	ReasonDead          Reason = "dead: the pane's process has ended; find the pane anew"
	ReasonMode          Reason = "mode: the pane is in copy mode or the like; try again once it has ended"
	ReasonInputOff      Reason = "input_off: the pane takes no input; try again after select-pane -e"
	ReasonSynchronized  Reason = "synchronized: the pane shares its keys with others; try again once synchronize-panes is off"
	ReasonReused        Reason = "reused: the pane or pid belongs to another process; find the pane anew"
	ReasonStopped       Reason = "stopped: the client is suspended; try again once it runs"
	ReasonForeground    Reason = "foreground: the client is not in the foreground; try again once it is"
	ReasonEnding        Reason = "ending: the client is ending, or reads no keys; try again if it goes on"
	ReasonTyping        Reason = "typing: the pane is in use; try again in a few seconds"
	ReasonDialog        Reason = "dialog: a dialog is open; try again once it is answered"
	ReasonMenu          Reason = "menu: a list or view is open; try again once it is closed"
	ReasonVim           Reason = "vim: vim's keys are on; try again in INSERT mode"
	ReasonShellMode     Reason = "shell_mode: the input box runs shell commands; try again once it does not"
	ReasonDraft         Reason = "draft: a draft is in the input box; try again once it is sent or removed"
	ReasonShell         Reason = "shell: a shell is in the foreground; try again once the client is"
	ReasonNoBox         Reason = "no_box: there is no input box; try again once there is"
	ReasonUnclear       Reason = "unclear: the input box is not clearly empty; try again"
	ReasonMerged        Reason = "merged: another text is in the input box too; send or remove it by hand"
	ReasonUnseen        Reason = "unseen: the client did not show what was pasted; look at the pane before trying again"
	ReasonBusy          Reason = "busy: the client shows that it works; try again at the end of the turn"
)

// Final reports whether the pane will never belong to that client again.
func (r Reason) Final() bool {
	return r == ReasonGone || r == ReasonServerChanged || r == ReasonDead || r == ReasonReused
}

// away reports whether the client does not get keys at present.
func (r Reason) away() bool {
	return r == ReasonStopped || r == ReasonForeground || r == ReasonEnding
}

// Error is the failure of an action on a pane.
type Error struct {
	Pane   Pane
	Reason Reason
	Pasted bool  // the text may be in the input box, without Enter
	Erased bool  // the text was pasted and removed completely
	Err    error // the cause, if there is one
}

func (e *Error) Error() string {
	_, sentence, _ := strings.Cut(string(e.Reason), ": ")
	line := "type in pane " + e.Pane.ID + ": " + sentence
	if e.Erased {
		line += "; the text was taken back"
	}
	if e.Err != nil {
		line += ": " + e.Err.Error()
	}
	return line
}

func (e *Error) Unwrap() error { return e.Err }

// refusal returns an Error for a reason, nil for none.
func refusal(p Pane, reason Reason, err error) error {
	if reason == ReasonNone {
		return nil
	}
	return &Error{
		Pane:   p,
		Reason: reason,
		Err:    err,
	}
}

// Word returns the reason in one word.
func (e *Error) Word() string {
	word, _, _ := strings.Cut(string(e.Reason), ": ")
	return word
}

// ReasonOf returns the reason in an error, ReasonUnknown if it has none.
func ReasonOf(err error) Reason {
	if e := errorIn(err); err == nil || e.Reason != ReasonNone {
		return e.Reason
	}
	return ReasonUnknown
}

// PastedIn reports whether a failed attempt may have left its text in the input
// box, see [Error].
func PastedIn(err error) bool { return errorIn(err).Pasted }

func errorIn(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{}
}
