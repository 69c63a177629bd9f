package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// view is a pane at one moment.
type view struct {
	State
	screen Screen
	used   time.Time // when an attached terminal last used the pane, zero for never
	keys   string    // the second of the last key of each session, as tmux prints them
}

// guard is a condition for tmux: what a decision was based on still holds, and no
// terminal has sent a key since, even one that the client has not drawn yet. It
// consists of numbers only.
func (v view) guard() string {
	return fmt.Sprintf("#{==:#{pid} #{pane_id} #{pane_pid} #{pane_dead} #{pane_in_mode} #{pane_input_off} "+
		"#{pane_synchronized} #{pane_width} #{pane_height} #{cursor_x} #{cursor_y} "+keysFormat+",%d %s %d 0 0 0 0 %d %d %d %d %s}",
		v.Pane.Server, v.Pane.ID, v.PID, v.Width, v.Height, v.Cursor.X, v.Cursor.Y, v.keys)
}

// refuse returns an Error for a reason, or for a person at the keyboard.
func (s *Server) refuse(v view, r Reason) error {
	// A time in the future means that the clock was set back.
	since := s.now().Sub(v.used)
	if r == ReasonNone && since >= 0 && since < s.quiet {
		r = ReasonTyping
	}
	return refusal(v.Pane, r, nil)
}

// The first words of the lines before the screen. The screen comes last, since it
// can hold anything.
const (
	keysWord   = "keys "
	clientWord = "client "
	screenWord = "screen"

	keysFormat = "#{S:#{session_activity}.}"
)

// look asks for everything in one command, so that it is all of the same moment.
func (s *Server) look(ctx context.Context, p Pane) (view, error) {
	if err := p.check(); err != nil {
		return view{}, refusal(p, ReasonUnknown, err)
	}
	out, err := s.run(ctx, p.Socket,
		"display-message", "-p", "-t", p.ID, stateFormat,
		";", "display-message", "-p", keysWord+keysFormat,
		";", "list-clients", "-F", clientWord+"#{pane_id} #{client_readonly} #{client_activity}",
		";", "display-message", "-p", screenWord,
		";", "capture-pane", "-p", "-e", "-t", p.ID)
	if err != nil {
		return view{}, failed(p, err)
	}
	line, rest, _ := strings.Cut(out, "\n")
	state, err := p.parse(line)
	if err != nil {
		return view{}, err
	}

	v := view{State: state}
	for line != screenWord && rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		v.parseTerminals(line)
	}
	v.screen = ParseScreen(rest, state.Cursor)
	return v, nil
}

// parseTerminals reads a line about the attached terminals.
func (v *view) parseTerminals(line string) {
	if keys, ok := strings.CutPrefix(line, keysWord); ok &&
		strings.Trim(keys, "0123456789.") == "" {
		v.keys = keys
	}
	f := strings.Fields(line)
	if len(f) != 4 || f[0]+" " != clientWord || f[1] != v.Pane.ID || f[2] != "0" {
		return
	}
	n, err := strconv.ParseInt(f[3], 10, 64)
	if used := time.Unix(n, 0); err == nil && used.After(v.used) {
		v.used = used
	}
}
