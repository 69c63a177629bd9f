package tmux

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
)

const (
	// attempts is how often a pane that changes between check and act is looked at anew:
	// a screen that is being drawn moves the cursor about.
	attempts = 5
	// The pauses between looks for what was pasted. Clients show it within 30 ms or so, and
	// each look costs 3 ms. They are short at first: a human who begins to type between the
	// paste and Enter finds the text in the box.
	firstPause, longestPause = 4 * time.Millisecond, 50 * time.Millisecond
)

// Type types a text into the client's input box and presses Enter. It fails with an
// Error, or with what check fails with; nothing has been typed then, unless [PastedIn]
// says so. The text must be as Sanitise leaves it: else ErrText.
//
// check is asked once, last before the text is pasted, and says whether the agent is
// (still) idle; nil asks nobody. When the text, or one of sm with the same id, stands in
// the box from an attempt that was cut off, only Enter is pressed. A command that stands
// there is a human's for all that Type knows: see Finish.
//
// Texts for the same pane wait for each other. Once the text is pasted Type goes on even
// if ctx ends, for at most Options.Echo and the time of a few commands.
func (s *Server) Type(ctx context.Context, p Pane, c Client, text string, check func(context.Context) error) error {
	const op = "type"
	if err := p.check(); err != nil {
		return &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	}
	if err := Check(text); err != nil {
		return fmt.Errorf("%s in pane %s: %w", op, p.ID, err)
	}
	release, err := s.enterLane(ctx, p)
	if err != nil {
		return fmt.Errorf("%s in pane %s: %w: try again", op, p.ID, err)
	}
	defer release()

	left, err := s.ready(ctx, p, c, func(b box) bool { return b.leftover(text) })
	if err != nil {
		return err
	}
	if left {
		if err := ask(ctx, check); err != nil {
			return err
		}
	} else if err := s.paste(ctx, p, c, text, check); err != nil {
		return err
	}
	// To stop here would leave a draft that nobody wrote.
	err = s.enter(context.WithoutCancel(ctx), p, c, text, left)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Pasted = true
	}
	return err
}

// Finish presses Enter if the text stands in the client's input box, exactly and alone, and
// never pastes anything: the Error has ReasonUnseen when the box is empty, and is that of
// Type otherwise. It is for whoever knows that an attempt to type the text, a command too,
// may have been cut off before Enter. Should a human have written the same, Enter does what
// the attempt was to do.
func (s *Server) Finish(ctx context.Context, p Pane, c Client, text string, check func(context.Context) error) error {
	const op = "finish"
	if err := p.check(); err != nil {
		return &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	}
	if err := Check(text); err != nil {
		return fmt.Errorf("%s in pane %s: %w", op, p.ID, err)
	}
	release, err := s.enterLane(ctx, p)
	if err != nil {
		return fmt.Errorf("%s in pane %s: %w: try again", op, p.ID, err)
	}
	defer release()
	left, err := s.ready(ctx, p, c, func(b box) bool { return b.stands(text) })
	if err == nil && !left {
		err = &Error{Op: op, Pane: p, Reason: ReasonUnseen}
	}
	if err == nil {
		err = ask(ctx, check)
	}
	if err != nil {
		return err
	}
	err = s.enter(context.WithoutCancel(ctx), p, c, text, true)
	if e, ok := errors.AsType[*Error](err); ok {
		e.Pasted = true
	}
	return err
}

func ask(ctx context.Context, check func(context.Context) error) error {
	if check == nil {
		return nil
	}
	return check(ctx)
}

// ready is Ready, and says whether the text stands in the box already.
func (s *Server) ready(ctx context.Context, p Pane, c Client, stands func(box) bool) (left bool, err error) {
	v, err := s.look(ctx, "type", p)
	if err != nil {
		return false, err
	}
	return s.judge(v, c, stands)
}

func (s *Server) judge(v view, c Client, stands func(box) bool) (left bool, err error) {
	if err := v.verify("type", c); err != nil {
		return false, err
	}
	r := Refusal(v.screen)
	if r == ReasonDraft && stands != nil {
		for b := range v.candidates() {
			left = left || stands(b)
		}
	}
	if left {
		r = ReasonNone
	}
	return left, s.refuse(v, "type", r)
}

// paste puts the text into the input box, or leaves all as it is.
func (s *Server) paste(ctx context.Context, p Pane, c Client, text string, check func(context.Context) error) error {
	buffer := "sm-" + rand.Text() // buffers belong to the whole server, and to everybody
	if _, err := s.run(ctx, p.Socket, text, "load-buffer", "-b", buffer, "-"); err != nil {
		// It may have been loaded all the same, when no answer came in time.
		return errors.Join(failed("type", p, err), s.drop(ctx, p, buffer))
	}
	asked := false
	for range attempts {
		v, err := s.look(ctx, "type", p)
		if err == nil {
			_, err = s.judge(v, c, nil)
		}
		if err == nil && !asked {
			asked, err = true, ask(ctx, check)
		}
		if err != nil {
			return errors.Join(err, s.drop(ctx, p, buffer))
		}
		// One command to tmux, which nothing can come between, nor the end of ctx: then it
		// would not be known what it did. What it prints tells whether the guard held.
		out, err := s.run(context.WithoutCancel(ctx), p.Socket, "", "if-shell", "-F", "-t", v.Pane.ID, v.guard(),
			fmt.Sprintf("paste-buffer -p -r -d -b %s -t %s ; display-message -p done", buffer, v.Pane.ID))
		if err != nil {
			e := failed("type", p, err)
			e.Pasted = true // it may have come about, say when no answer came in time
			return errors.Join(e, s.drop(ctx, p, buffer))
		}
		if strings.TrimSpace(out) == "done" {
			return nil
		}
	}
	unclear := &Error{Op: "type", Pane: p, Reason: ReasonUnclear, Err: errors.New("the screen keeps changing")}
	return errors.Join(unclear, s.drop(ctx, p, buffer))
}

// drop deletes a buffer that was not pasted. There is nothing to say when it, or the
// server, is no more.
func (s *Server) drop(ctx context.Context, p Pane, buffer string) error {
	_, err := s.run(context.WithoutCancel(ctx), p.Socket, "", "delete-buffer", "-b", buffer)
	said, ok := errors.AsType[*saidError](err)
	if err == nil || failed("", p, err).Reason == ReasonGone || ok && strings.Contains(said.said, "unknown buffer") {
		return nil
	}
	return fmt.Errorf("delete buffer %s: %w: delete it with tmux delete-buffer", buffer, err)
}

// enter waits until the box shows the text and presses Enter. What comes to nothing is
// left as it is, for it may be a human's by now.
func (s *Server) enter(ctx context.Context, p Pane, c Client, text string, left bool) error {
	deadline := time.Now().Add(s.echo)
	for pause := firstPause; ; pause = min(pause*5/4, longestPause) {
		v, err := s.look(ctx, "type", p)
		if err == nil {
			err = v.verify("type", c)
		}
		if err == nil {
			err = v.shows(text, left)
		}
		if err == nil {
			err = s.refuse(v, "type", ReasonNone)
		}
		if err == nil {
			out, failure := s.run(ctx, p.Socket, "", "if-shell", "-F", "-t", v.Pane.ID, v.guard(),
				fmt.Sprintf("send-keys -t %s Enter ; display-message -p done", v.Pane.ID))
			switch {
			case failure != nil: // it may have come about: never a second time
				return failed("type", p, failure)
			case strings.TrimSpace(out) == "done":
				return nil
			}
			err = &Error{Op: "type", Pane: p, Reason: ReasonUnclear, Err: errors.New("the screen keeps changing")}
		}
		if ReasonOf(err).Final() || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// candidates are what could be the box, which may hold what looks like a rule. Above the
// lowest one that is there for certain a prompt of old can look like one.
func (v view) candidates() iter.Seq[box] {
	return func(yield func(box) bool) {
		lowest, ok := findBox(v.screen)
		for b := range boxes(v.screen) {
			if ok && b.bottom < lowest.bottom || !yield(b) {
				return
			}
		}
	}
}

// shows says whether the text, or that of an earlier attempt, is all that the box holds.
func (v view) shows(text string, left bool) error {
	r := ReasonNoBox
	for b := range v.candidates() {
		now := b.shows(text, left)
		if now == ReasonNone {
			now = below(v.screen.Rows[b.bottom+1:])
		}
		if now == ReasonNone {
			return nil
		}
		if r == ReasonNoBox && b.glyph != 0 { // the lowest
			r = now
		}
	}
	if r == ReasonNoBox {
		r = withoutBox(v.screen)
	}
	return &Error{Op: "type", Pane: v.Pane, Reason: r}
}

// shows is about one box. An Enter into the shell mode would run what is in it.
func (b box) shows(text string, left bool) Reason {
	switch m := b.match(text); {
	case b.glyph == '!':
		return ReasonShellMode
	case m == matchText || left && b.leftover(text):
		return ReasonNone
	case m == matchNothing:
		return ReasonUnseen
	}
	return ReasonMerged
}
