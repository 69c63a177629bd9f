package tmux

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Pane is a pane of a tmux server.
type Pane struct {
	// Socket is the absolute path of the server's socket.
	Socket string
	// Server is the server's pid, 0 when it is not known. With it a pane of an earlier
	// server is told from one that has its id now.
	Server int
	// ID is tmux's own, such as %12: a percent sign and one to nine digits.
	ID string
}

func (p Pane) String() string { return fmt.Sprintf("%s on %s", p.ID, p.Socket) }

// check makes sure that nothing but a path and a number reaches tmux.
func (p Pane) check() error {
	if err := checkSocket(p.Socket); err != nil {
		return err
	}
	digits, ok := strings.CutPrefix(p.ID, "%")
	if !ok || len(digits) == 0 || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return fmt.Errorf("%q is not the id of a pane: give one such as %%12", p.ID)
	}
	return nil
}

func checkSocket(path string) error {
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return fmt.Errorf("%q is not a tmux socket: give an absolute path", path)
	}
	return nil
}

// Client is a process of Claude Code.
type Client struct {
	PID int
	// Start is field 22 of /proc/<pid>/stat, in decimal: clock ticks since boot.
	Start string
}

// State is what tmux said of a pane at one moment.
type State struct {
	// Pane has the server's pid, also when the one that was asked for had none.
	Pane Pane
	// PID is the process that tmux started in the pane, often a shell.
	PID int
	// TTY is the path of the pane's terminal.
	TTY string
	// Dead is a pane whose process has ended and that stays open.
	Dead bool
	// InMode is a pane in copy mode, a chooser or the like: keys go there.
	InMode bool
	// InputOff is a pane that takes no keys (select-pane -d).
	InputOff bool
	// Synchronized is a pane that shares its keys with others (synchronize-panes).
	Synchronized bool
	// Bracketed is whether the program asked for bracketed paste. Only tmux 3.6 and
	// later say so: BracketedKnown.
	Bracketed, BracketedKnown bool
	// Width and Height are in cells.
	Width, Height int
	Cursor        Cursor
}

// Cursor is a position on a screen, in cells from the top left one, which is 0, 0.
type Cursor struct{ X, Y int }

// stateFormat has no free text, so that a blank separates for certain: the names of
// commands, titles and directories can hold anything.
const stateFormat = "#{pid} #{pane_id} #{pane_pid} " +
	"#{pane_dead} #{pane_in_mode} #{pane_input_off} #{pane_synchronized} #{bracket_paste_flag} " +
	"#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{pane_tty}"

const stateFields = 13

// parse reads a line of stateFormat that is meant to be about p.
func (p Pane) parse(op, line string) (State, error) {
	state, err := parseState(p.Socket, line)
	switch {
	case err != nil || state.Pane.ID != p.ID:
		return State{}, &Error{Op: op, Pane: p, Reason: ReasonGone, Err: err}
	case p.Server != 0 && state.Pane.Server != p.Server:
		err := fmt.Errorf("its pid is %d, not %d", state.Pane.Server, p.Server)
		return State{}, &Error{Op: op, Pane: p, Reason: ReasonServerChanged, Err: err}
	}
	return state, nil
}

// parseState takes a line in stateFormat apart. Without an id the pane does not exist:
// tmux then fills in blanks and calls it a success.
func parseState(socket, line string) (State, error) {
	f := strings.Split(line, " ")
	if len(f) != stateFields || f[1] == "" {
		return State{}, fmt.Errorf("tmux described no pane, but %d of %d fields", len(f), stateFields)
	}
	s := State{
		Pane: Pane{Socket: socket, ID: f[1]},
		Dead: isSet(f[3]), InMode: isSet(f[4]), InputOff: isSet(f[5]), Synchronized: isSet(f[6]),
		Bracketed: isSet(f[7]), BracketedKnown: f[7] != "",
		TTY: f[12],
	}
	for i, to := range map[int]*int{
		0: &s.Pane.Server, 2: &s.PID, 8: &s.Width, 9: &s.Height, 10: &s.Cursor.X, 11: &s.Cursor.Y,
	} {
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return State{}, fmt.Errorf("tmux gave no number in field %d: %w", i, err)
		}
		*to = n
	}
	return s, s.Pane.check()
}

// isSet is false for 0 and for nothing. A pane can be in several modes, one upon another.
func isSet(field string) bool { return field != "" && field != "0" }
