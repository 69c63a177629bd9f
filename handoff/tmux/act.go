package tmux

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"strings"
)

// input is something to put into a pane. Its bytes are the content of a buffer: tmux goes
// on only if that buffer exists, so they are the go-ahead, too.
type input struct {
	bytes string
	// then and otherwise are tmux commands, for when the guard holds and when it does not;
	// first comes before both. %[1]s is the buffer, %[2]s the pane.
	first, then, otherwise string
}

// pasted is a text as one bracketed paste.
func pasted(text string) input {
	return input{bytes: text, then: "paste-buffer -p -r -d -b %[1]s -t %[2]s", otherwise: "delete-buffer -b %[1]s"}
}

// pressed is a key by tmux's name for it, which is a word of ours.
func pressed(key string) input {
	return input{bytes: "go", first: "delete-buffer -b %[1]s", then: "send-keys -t %[2]s " + key}
}

// act puts something into a pane. last is asked when all is ready, and can refuse: between
// its answer and the act lies the time in which a write to a pipe reaches tmux, less than
// it takes to start a tmux command. Within that tmux itself compares the guard of the view.
// done is false when the guard did not hold. An error of last comes back as it is; the act
// may have come about only after an error that has Pasted set.
func (s *Server) act(ctx context.Context, v view, what input, last func() error) (done bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errNoAnswer)
	defer cancel()
	buffer := "sm-" + rand.Text() // buffers belong to the whole server, and to everybody
	fill := func(command string) string {
		return strings.NewReplacer("%[1]s", buffer, "%[2]s", v.Pane.ID).Replace(command)
	}
	// load-buffer waits for the end of stdin. Without a byte there it makes no buffer, and
	// what follows fails: so nothing happens either if this process ends before the answer.
	args := []string{"display-message", "-p", ready, ";", "load-buffer", "-b", buffer, "-", ";"}
	if what.first != "" {
		args = append(append(args, strings.Fields(fill(what.first))...), ";")
	}
	args = append(args, "if-shell", "-F", "-t", v.Pane.ID, v.guard(), fill(what.then)+" ; display-message -p "+finished)
	if what.otherwise != "" {
		args = append(args, fill(what.otherwise))
	}
	said, went, err := s.exchange(ctx, v.Pane.Socket, what.bytes, last, args)
	switch {
	case err != nil && !went:
		if _, ok := errors.AsType[*Error](err); !ok {
			err = failed("type", v.Pane, err)
		}
		return false, err
	case err != nil:
		e := failed("type", v.Pane, err)
		e.Pasted = true // it may have come about, say when no answer came in time
		return false, errors.Join(e, s.drop(ctx, v.Pane, buffer))
	}
	return strings.TrimSpace(said) == finished, nil
}

// What tmux prints before it waits for the go-ahead, and after the act.
const ready, finished = "ready", "done"

// exchange starts a tmux command, and once that is ready and last agrees writes to its
// stdin: then it went. It gives what tmux said after that, or what last refused with.
func (s *Server) exchange(ctx context.Context, socket, stdin string, last func() error, args []string) (said string, went bool, err error) {
	var complaint bytes.Buffer
	cmd := s.command(ctx, socket, args...)
	cmd.Stderr = &complaint
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", false, errors.Join(err, in.Close())
	}
	if err := cmd.Start(); err != nil {
		return "", false, err
	}
	answers := bufio.NewReader(out)
	var refused error
	if first, _ := answers.ReadString('\n'); strings.TrimSpace(first) == ready {
		if refused = last(); refused == nil {
			went = true
			_, _ = io.WriteString(in, stdin) // or nobody reads any more, and Wait says why
		}
	}
	_ = in.Close()
	rest, _ := io.ReadAll(answers)
	err = complete(ctx, cmd.Wait(), complaint.String())
	switch {
	case refused != nil: // tmux complains of the lack of a buffer, as it is meant to
		return "", false, refused
	case err == nil && !went:
		err = errors.New("tmux did nothing")
	}
	return string(rest), went, err
}
