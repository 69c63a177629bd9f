package tmux

import (
	"cmp"
	"context"
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
// A text that was pasted and cannot be submitted is taken back, see [ErasedIn], as is the
// line "[sm message] #id" of another text that was left in the box. It stays where a
// human has used the pane since, and where other text is with it.
//
// Texts for the same pane wait for each other. Once the text is pasted Type goes on even
// if ctx ends, for at most Options.Echo, the same again to take the text back, and the
// time of a few commands.
func (s *Server) Type(ctx context.Context, p Pane, c Client, text string, check func(context.Context) error) error {
	release, err := s.alone(ctx, "type", p, text)
	if err != nil {
		return err
	}
	defer release()

	v, left, err := s.begin(ctx, p, c, text)
	if err != nil {
		return err
	}
	if left {
		err = ask(ctx, check)
	} else {
		v, err = s.paste(ctx, p, c, text, check)
	}
	if err != nil && !PastedIn(err) {
		return err
	}
	ctx = context.WithoutCancel(ctx) // to stop here would leave a draft that nobody wrote
	if err == nil {
		if err = s.enter(ctx, p, c, text, left); PastedIn(err) {
			return err // Enter may have come about
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		e.Erased = s.takeBack(ctx, v, c, text)
		e.Pasted = !e.Erased
	}
	return err
}

// begin is ready for Type, with a box that an abandoned line was removed from.
func (s *Server) begin(ctx context.Context, p Pane, c Client, text string) (v view, left bool, err error) {
	resumes := func(b box) bool { return b.leftover(text) }
	v, left, err = s.ready(ctx, p, c, resumes)
	old := v.abandoned()
	if ReasonOf(err) != ReasonDraft || old == "" || s.refuse(v, ReasonNone) != nil || !s.takeBack(ctx, v, c, old) {
		return v, left, err
	}
	return s.ready(ctx, p, c, resumes)
}

// Finish presses Enter if the text stands in the client's input box, exactly and alone, and
// never pastes anything: the Error has ReasonUnseen when the box is empty, and is that of
// Type otherwise. It is for a caller who knows that an attempt to type the text, a command too,
// may have been cut off before Enter. Should a human have written the same, Enter does what
// the attempt was to do.
func (s *Server) Finish(ctx context.Context, p Pane, c Client, text string, check func(context.Context) error) error {
	const op = "finish"
	release, err := s.alone(ctx, op, p, text)
	if err != nil {
		return err
	}
	defer release()
	_, left, err := s.ready(ctx, p, c, func(b box) bool { return b.stands(text) })
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
		e.Pasted = true // and it stays: it may be a human's
	}
	return err
}

// alone checks what is to be typed, and waits until nobody else types into the pane.
func (s *Server) alone(ctx context.Context, op string, p Pane, text string) (release func(), err error) {
	if err := p.check(); err != nil {
		return nil, &Error{Op: op, Pane: p, Reason: ReasonUnknown, Err: err}
	}
	if err := Check(text); err != nil {
		return nil, fmt.Errorf("%s in pane %s: %w", op, p.ID, err)
	}
	if release, err = s.enterLane(ctx, p); err != nil {
		return nil, fmt.Errorf("%s in pane %s: %w: try again", op, p.ID, err)
	}
	return release, nil
}

func ask(ctx context.Context, check func(context.Context) error) error {
	if check == nil {
		return nil
	}
	return check(ctx)
}

// Ready says whether a text could be typed now: nil, or the Error that Type would give.
// It types nothing.
func (s *Server) Ready(ctx context.Context, p Pane, c Client) error {
	_, _, err := s.ready(ctx, p, c, nil)
	return err
}

// ready is Ready, and says whether the text stands in the box already.
func (s *Server) ready(ctx context.Context, p Pane, c Client, stands func(box) bool) (v view, left bool, err error) {
	if v, err = s.look(ctx, "type", p); err == nil {
		err = v.verify(c)
	}
	if err != nil {
		return v, false, err
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
	return v, left, s.refuse(v, r)
}

// paste puts the text into the input box, or leaves all as it is.
func (s *Server) paste(ctx context.Context, p Pane, c Client, text string, check func(context.Context) error) (view, error) {
	asked := false
	for range attempts {
		v, _, err := s.ready(ctx, p, c, nil)
		if err == nil && !asked {
			asked, err = true, ask(ctx, check)
		}
		if err != nil {
			return view{}, err
		}
		// The end of ctx would cut it off, and it would not be known what it did.
		done, err := s.act(context.WithoutCancel(ctx), v, pasted(text), v.still(c))
		if done || err != nil {
			return v, err
		}
	}
	return view{}, &Error{Op: "type", Pane: p, Reason: ReasonUnclear, Err: errors.New("the screen keeps changing")}
}

// still asks once more whether keys go to the client: the last thing before the act.
func (v view) still(c Client) func() error {
	return func() error { return v.verify(c) }
}

// drop deletes a buffer that was not pasted. There is nothing to say when it, or the
// server, is no more.
func (s *Server) drop(ctx context.Context, p Pane, buffer string) error {
	_, err := s.run(context.WithoutCancel(ctx), p.Socket, "delete-buffer", "-b", buffer)
	said, ok := errors.AsType[*saidError](err)
	if err == nil || failed("", p, err).Reason == ReasonGone || ok && strings.Contains(said.said, "unknown buffer") {
		return nil
	}
	return fmt.Errorf("delete buffer %s: %w: delete it with tmux delete-buffer", buffer, err)
}

// enter waits until the box shows the text and presses Enter. An Error with Pasted is of
// an Enter that may have come about; after any other there was none.
func (s *Server) enter(ctx context.Context, p Pane, c Client, text string, left bool) error {
	deadline := time.Now().Add(s.echo)
	for pause := firstPause; ; pause = min(pause*5/4, longestPause) {
		v, err := s.look(ctx, "type", p)
		if err == nil {
			err = cmp.Or(v.verify(c), v.shows(text, left), s.refuse(v, ReasonNone))
		}
		if err == nil {
			done := false
			if done, err = s.act(ctx, v, pressed("Enter"), v.still(c)); done || PastedIn(err) {
				return err // never a second time
			}
		}
		if err == nil {
			err = &Error{Op: "type", Pane: p, Reason: ReasonUnclear, Err: errors.New("the screen keeps changing")}
		}
		if r := ReasonOf(err); r.Final() || r.away() || time.Now().After(deadline) {
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
		if now == ReasonNone && !b.cursorIn(v.screen) {
			now = ReasonUnclear
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
