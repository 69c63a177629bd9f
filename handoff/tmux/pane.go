package tmux

import (
	"fmt"
	"path/filepath"
	"strings"

	"sm/transcript/claude/hook"
)

// Pane is a pane of a tmux server.
type Pane struct {
	Socket string // absolute path of the server's socket
	Server int    // pid of the server, 0 when unknown; distinguishes a reused id
	ID     string // tmux's id: a percent sign and one to nine digits
}

// check ensures that only a path and a number are passed to tmux.
func (p Pane) check() error {
	if !filepath.IsAbs(p.Socket) || strings.ContainsRune(p.Socket, 0) {
		return fmt.Errorf("%q is not a tmux socket: give an absolute path", p.Socket)
	}
	if !hook.IsPane(p.ID) {
		return fmt.Errorf("%q is not the id of a pane: give one such as %%12", p.ID)
	}
	return nil
}

// Client is a process of Claude Code or Codex CLI.
type Client struct {
	PID   int
	Start string // field 22 of /proc/<pid>/stat: clock ticks since boot
}

// Cursor is a position on a screen, in cells from 0, 0 at the top left.
type Cursor struct{ X, Y int }

// guardFormat has the values that must not change between a look and an act,
// including the times of the last keys of terminals. They consist of digits,
// percent signs and points; flags can be empty in older versions of tmux.
// stateFormat has no free text either, such as names of commands and titles, so
// that blanks separate its fields reliably.
const (
	guardFormat = "#{pid} #{pane_id} #{pane_pid} " +
		"0#{pane_dead} 0#{pane_in_mode} 0#{pane_input_off} 0#{pane_synchronized} " +
		"#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} 0#{S:#{session_activity}.}"
	stateFormat = guardFormat + " =#{bracket_paste_flag} #{pane_tty}"
)

// parse parses a line of stateFormat that should describe p. For a pane that
// does not exist tmux succeeds and leaves the fields empty.
func (p Pane) parse(line string) (v view, err error) {
	v.Pane.Socket = p.Socket
	var dead, mode, off, synchronized, height int // a pane can be in several modes
	var keys, bracketed string
	at := &v.screen.Cursor
	_, err = fmt.Sscan(line, &v.Pane.Server, &v.Pane.ID, &v.PID, &dead, &mode, &off, &synchronized,
		&v.Width, &height, &at.X, &at.Y, &keys, &bracketed, &v.TTY)
	v.fixed, _, _ = strings.Cut(line, " =")
	switch {
	case dead > 0:
		v.unfit = ReasonDead
	case mode > 0:
		v.unfit = ReasonMode
	case off > 0:
		v.unfit = ReasonInputOff
	case synchronized > 0:
		v.unfit = ReasonSynchronized
	case bracketed == "=0": // every version of the clients asks for it; known from tmux 3.6 on
		v.unfit = ReasonUnclear
	}

	reason := ReasonNone
	switch {
	case err != nil || v.Pane.ID != p.ID || strings.Trim(v.fixed, "0123456789%. ") != "":
		reason = ReasonGone
	case p.Server != 0 && v.Pane.Server != p.Server:
		reason = ReasonServerChanged
		err = fmt.Errorf("its pid is %d, not %d", v.Pane.Server, p.Server)
	}
	return v, refusal(p, reason, err)
}
