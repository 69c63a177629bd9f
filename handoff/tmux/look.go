package tmux

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// view is the state of a pane at one moment.
type view struct {
	Pane   Pane   // with the server's pid
	PID    int    // the process that tmux started in the pane, often a shell
	TTY    string // path of the pane's terminal
	unfit  Reason // why keys would not reach the pane's program
	Width  int    // in cells
	fixed  string // as tmux prints guardFormat
	screen Screen
	used   time.Time // last input from an attached terminal, zero for none
}

// guard returns a condition for tmux: the basis of a decision is unchanged, and
// no terminal has sent a key since, even one that the client has not drawn yet.
// It consists of numbers only.
func (v view) guard() string {
	return "#{==:" + guardFormat + "," + v.fixed + "}"
}

// refuse returns an Error for a reason, or for a person who is typing.
func (s *Server) refuse(v view, r Reason) error {
	// A time in the future means that the clock was set back.
	since := time.Since(v.used)
	if r == ReasonNone && since >= 0 && since < s.quiet {
		r = ReasonTyping
	}
	return refusal(v.Pane, r, nil)
}

// The first words of the lines before the screen. The screen comes last,
// because it can contain anything.
const (
	clientWord = "client "
	screenWord = "screen"
)

// look returns the view of a pane. It uses a single command, so that all values
// are from the same moment.
func (s *Server) look(ctx context.Context, p Pane) (view, error) {
	if err := p.check(); err != nil {
		return view{}, refusal(p, ReasonUnknown, err)
	}
	out, err := s.run(ctx, p.Socket,
		"display-message", "-p", "-t", p.ID, stateFormat,
		";", "list-clients", "-F", clientWord+"#{pane_id} #{client_readonly} #{client_activity}",
		";", "display-message", "-p", screenWord,
		";", "capture-pane", "-p", "-e", "-t", p.ID)
	if err != nil {
		return view{}, failed(p, err)
	}
	line, rest, _ := strings.Cut(out, "\n")
	v, err := p.parse(line)
	if err != nil {
		return view{}, err
	}
	for line != screenWord && rest != "" {
		line, rest, _ = strings.Cut(rest, "\n")
		// A line about an attached terminal.
		var pane string
		var readOnly int
		var at int64
		n, _ := fmt.Sscanf(line, clientWord+"%s %d %d", &pane, &readOnly, &at)
		used := time.Unix(at, 0)
		if n == 3 && pane == v.Pane.ID && readOnly == 0 && used.After(v.used) {
			v.used = used
		}
	}
	v.screen = ParseScreen(rest, v.screen.Cursor)
	return v, nil
}
