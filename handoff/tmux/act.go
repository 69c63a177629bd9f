package tmux

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
)

// input is an input for a pane. bytes are loaded into a buffer, whose existence
// is also tmux's permission to continue. If the guard holds, tmux then runs the
// command, in which $buffer and $pane are replaced.
type input struct{ bytes, command string }

// pressed returns the input for a key, given tmux's name for it.
func pressed(key string) input {
	return input{"go", "delete-buffer -b $buffer ; send-keys -t $pane " + key}
}

// What tmux prints before it waits for the buffer, and after the act.
const ready, finished = "ready", "done"

// act puts an input into a pane, unless the guard of the view no longer holds;
// done is false then. When tmux is ready, act calls last, which can refuse with
// an error that is returned unchanged. After last, a single write to a pipe
// makes tmux compare the guard and act. After an Error with Pasted the act may
// have happened, after any other error it has not.
func (s *Server) act(
	ctx context.Context,
	v view,
	what input,
	last func() error,
) (done bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoAnswer)
	defer cancel()
	buffer := "sm-" + rand.Text() // all users of the server share the buffers
	command := strings.NewReplacer("$buffer", buffer, "$pane", v.Pane.ID).Replace(what.command)

	// load-buffer waits for the end of stdin. An empty stdin creates no buffer
	// and the rest fails, so nothing happens either if this process ends before
	// the write.
	cmd := s.command(ctx, v.Pane.Socket,
		"display-message", "-p", ready, ";", "load-buffer", "-b", buffer, "-", ";",
		"if-shell", "-F", "-t", v.Pane.ID, v.guard(),
		command+" ; display-message -p "+finished, "delete-buffer -b "+buffer)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	in, inErr := cmd.StdinPipe()
	answers, outErr := cmd.StdoutPipe()
	if err = cmp.Or(inErr, outErr); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return false, failed(v.Pane, err)
	}

	lines := bufio.NewReader(answers)
	sent := false
	var refused error
	if first, _ := lines.ReadString('\n'); strings.TrimSpace(first) == ready {
		if refused = last(); refused == nil {
			sent = true
			_, _ = io.WriteString(in, what.bytes) // if tmux has ended, Wait returns why
		}
	}
	_ = in.Close()
	rest, _ := io.ReadAll(lines)
	err = commandError(ctx, cmd.Wait(), complaint.String())
	switch {
	case refused != nil: // tmux complains about the missing buffer, as intended
		return false, refused
	case err == nil && sent:
		return strings.TrimSpace(string(rest)) == finished, nil
	case err == nil:
		err = errors.New("tmux did nothing")
	}
	e := failed(v.Pane, err)
	if sent {
		e.Pasted = true // perhaps only the answer was late
		drop := context.WithoutCancel(ctx)
		_, _ = s.run(drop, v.Pane.Socket, "delete-buffer", "-b", buffer) // it may be gone already
	}
	return false, e
}
