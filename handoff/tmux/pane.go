package tmux

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Pane is a pane of a tmux server.
type Pane struct {
	Socket string // absolute path of the server's socket
	Server int    // pid of the server, 0 when unknown; distinguishes a reused id
	ID     string // tmux's id: a percent sign and one to nine digits
}

func (p Pane) String() string { return fmt.Sprintf("%s on %s", p.ID, p.Socket) }

// check makes sure that only a path and a number reach tmux.
func (p Pane) check() error {
	if !filepath.IsAbs(p.Socket) || strings.ContainsRune(p.Socket, 0) {
		return fmt.Errorf("%q is not a tmux socket: give an absolute path", p.Socket)
	}
	digits, ok := strings.CutPrefix(p.ID, "%")
	if !ok || len(digits) == 0 || len(digits) > 9 || strings.Trim(digits, "0123456789") != "" {
		return fmt.Errorf("%q is not the id of a pane: give one such as %%12", p.ID)
	}
	return nil
}

// Client is a process of Claude Code or Codex CLI.
type Client struct {
	PID   int
	Start string // field 22 of /proc/<pid>/stat: clock ticks since boot
}

// State is what tmux reports of a pane.
type State struct {
	Pane           Pane   // with the server's pid
	PID            int    // the process that tmux started in the pane, often a shell
	TTY            string // path of the pane's terminal
	Dead           bool   // the process has ended and the pane stays open
	InMode         bool   // copy mode, a chooser or the like has the keys
	InputOff       bool   // the pane takes no keys (select-pane -d)
	Synchronized   bool   // keys go to other panes too (synchronize-panes)
	Bracketed      bool   // the program asked for bracketed paste
	BracketedKnown bool   // tmux 3.6 and later report Bracketed
	Width, Height  int    // in cells
	Cursor         Cursor
}

// Cursor is a position on a screen, in cells from the top left one, which is 0, 0.
type Cursor struct{ X, Y int }

// stateFormat has no free text, such as names of commands and titles, so that
// blanks separate its fields reliably.
const stateFormat = "#{pid} #{pane_id} #{pane_pid} " +
	"#{pane_dead} #{pane_in_mode} #{pane_input_off} #{pane_synchronized} #{bracket_paste_flag} " +
	"#{pane_width} #{pane_height} #{cursor_x} #{cursor_y} #{pane_tty}"

const stateFields = 13

// parse reads a line of stateFormat that should describe p.
func (p Pane) parse(op, line string) (State, error) {
	state, err := parseState(p.Socket, line)
	switch {
	case err != nil || state.Pane.ID != p.ID:
		return State{}, &Error{
			Op:     op,
			Pane:   p,
			Reason: ReasonGone,
			Err:    err,
		}
	case p.Server != 0 && state.Pane.Server != p.Server:
		err := fmt.Errorf("its pid is %d, not %d", state.Pane.Server, p.Server)
		return State{}, &Error{
			Op:     op,
			Pane:   p,
			Reason: ReasonServerChanged,
			Err:    err,
		}
	}
	return state, nil
}

// parseState reads a line of stateFormat. For a pane that does not exist tmux
// succeeds and leaves the fields empty.
func parseState(socket, line string) (State, error) {
	f := strings.Split(line, " ")
	if len(f) != stateFields {
		return State{}, fmt.Errorf("tmux printed %d fields of %d", len(f), stateFields)
	}
	set := func(i int) bool { return f[i] != "" && f[i] != "0" } // a pane can be in several modes
	s := State{
		Pane:           Pane{Socket: socket, ID: f[1]},
		Dead:           set(3),
		InMode:         set(4),
		InputOff:       set(5),
		Synchronized:   set(6),
		Bracketed:      set(7),
		BracketedKnown: f[7] != "",
		TTY:            f[12],
	}
	numbers := map[int]*int{
		0: &s.Pane.Server, 2: &s.PID, 8: &s.Width, 9: &s.Height, 10: &s.Cursor.X, 11: &s.Cursor.Y,
	}
	for i, to := range numbers {
		n, err := strconv.Atoi(f[i])
		if err != nil {
			return State{}, fmt.Errorf("field %d of tmux is not a number: %w", i, err)
		}
		*to = n
	}
	return s, s.Pane.check()
}
