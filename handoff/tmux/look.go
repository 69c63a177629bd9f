package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// view is a pane at one moment: its state, its screen, and when somebody last used it
// from an attached terminal, zero if nobody is there.
type view struct {
	State
	screen Screen
	used   time.Time
	// keys are the seconds in which keys last came from the terminals of each session, as
	// tmux prints them.
	keys string
}

// guard is a condition for tmux itself: that everything that a decision was based on
// still holds when the command runs, and no terminal has sent a key since, even if the
// client has not drawn it yet. It is made of numbers, and of nothing else.
func (v view) guard() string {
	return fmt.Sprintf("#{==:#{pid} #{pane_id} #{pane_pid} #{pane_dead} #{pane_in_mode} #{pane_input_off} "+
		"#{pane_synchronized} #{pane_width} #{pane_height} #{cursor_x} #{cursor_y} "+keysFormat+",%d %s %d 0 0 0 0 %d %d %d %d %s}",
		v.Pane.Server, v.Pane.ID, v.PID, v.Width, v.Height, v.Cursor.X, v.Cursor.Y, v.keys)
}

// refuse is about the humans: one at the keyboard, and what they left on the screen.
func (s *Server) refuse(v view, r Reason) error {
	// Not in the future: the clock has been set back since.
	if since := s.now().Sub(v.used); r == ReasonNone && since >= 0 && since < s.quiet {
		r = ReasonTyping
	}
	if r == ReasonNone {
		return nil
	}
	return &Error{Op: "type", Pane: v.Pane, Reason: r}
}

// The lines before the screen, by their first word. The screen comes last, since it can
// hold anything.
const (
	keysWord   = "keys "
	clientWord = "client "
	screenWord = "screen"

	keysFormat = "#{S:#{session_activity}.}"
)

// look asks all at once, so that it is all true at the same time.
func (s *Server) look(ctx context.Context, op string, p Pane) (view, error) {
	if err := p.check(); err != nil {
		return view{}, &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	}
	out, err := s.run(ctx, p.Socket,
		"display-message", "-p", "-t", p.ID, stateFormat,
		";", "display-message", "-p", keysWord+keysFormat,
		";", "list-clients", "-F", clientWord+"#{pane_id} #{client_readonly} #{client_activity}",
		";", "display-message", "-p", screenWord,
		";", "capture-pane", "-p", "-e", "-t", p.ID)
	if err != nil {
		return view{}, failed(op, p, err)
	}
	line, rest, _ := strings.Cut(out, "\n")
	state, err := p.parse(op, line)
	if err != nil {
		return view{}, err
	}
	v := view{State: state}
	for line != screenWord && rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		v.heed(line)
	}
	v.screen = ParseScreen(rest, state.Cursor)
	return v, nil
}

// heed takes in a line about the terminals.
func (v *view) heed(line string) {
	if keys, ok := strings.CutPrefix(line, keysWord); ok && strings.Trim(keys, "0123456789.") == "" {
		v.keys = keys
	}
	f := strings.Fields(line)
	if len(f) != 4 || f[0]+" " != clientWord || f[1] != v.Pane.ID || f[2] != "0" {
		return
	}
	if n, err := strconv.ParseInt(f[3], 10, 64); err == nil && time.Unix(n, 0).After(v.used) {
		v.used = time.Unix(n, 0)
	}
}
