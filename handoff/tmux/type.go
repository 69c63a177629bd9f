package tmux

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// attempts limits how often a pane is checked again after a change between
	// check and act. A screen that is being drawn moves the cursor.
	attempts = 5
	// The pauses between looks for the pasted text. Clients show it within some
	// 30 ms, and a look costs 3 ms. The first pauses are short, to leave little
	// time for typing between paste and Enter.
	firstPause, longestPause = 4 * time.Millisecond, 50 * time.Millisecond
)

// A Line is a text for the input box of a client in a pane.
type Line struct {
	Pane   Pane
	Client Client
	Text   string
	// Finish presses Enter if the input box holds exactly the text, and never
	// pastes. If the box is empty, the Error has ReasonUnseen. It is for a
	// text, including a command, whose typing may have ended before Enter. If a
	// person has typed the same text, Enter has the intended effect.
	Finish bool
	// Check is called once, directly before the paste, and returns an error if
	// the agent is not idle; it may be nil.
	Check func(context.Context) error
}

// Type types a text into the client's input box and presses Enter. It fails
// with an [Error], with ErrText for a text that Sanitise would change, or with
// the error of Check. After an error nothing has been typed, unless [PastedIn]
// reports otherwise.
//
// If the box holds the text of an interrupted attempt, or a text of sm with the
// same id, Type only presses Enter. A command in the box may be a person's: see
// [Line].
//
// A pasted text that cannot be submitted is removed, see [Error], and so is the
// line "[sm message] #id" of another text that was left in the box. It stays if
// a person has used the pane since, or if there is other text beside it.
//
// Texts for the same pane wait for each other. After the paste Type continues
// even if ctx ends: for at most 5 s, the same time again to remove the text,
// and the time of a few commands.
func (s *Server) Type(ctx context.Context, l Line) error {
	unlock, err := s.begin(ctx, l)
	if err != nil {
		return err
	}
	defer unlock()

	v, left, err := s.prepare(ctx, l)
	if err != nil {
		return err
	}
	if left {
		err = l.check(ctx)
	} else {
		v, err = s.paste(ctx, l)
	}
	if err != nil && !PastedIn(err) {
		return err
	}

	ctx = context.WithoutCancel(ctx) // stopping here would leave a draft
	if err == nil {
		err = s.enter(ctx, l, left)
		if PastedIn(err) { // Enter may have been pressed
			return err
		}
	}
	if e, ok := errors.AsType[*Error](err); ok {
		// A text that was to be finished stays, because a person may have typed it.
		e.Erased = !l.Finish && s.takeBack(ctx, v, l.Client, l.Text)
		e.Pasted = !e.Erased
	}
	return err
}

// prepare is ready for Type. It also removes an abandoned line from the box.
func (s *Server) prepare(ctx context.Context, l Line) (v view, left bool, err error) {
	if l.Finish {
		v, left, err = s.ready(ctx, l, func(b box) bool { return b.holds(l.Text) })
		if err == nil && !left {
			err = refusal(l.Pane, ReasonUnseen, nil)
		}
		return v, left, err
	}
	leftover := func(b box) bool { return b.leftover(l.Text) }
	v, left, err = s.ready(ctx, l, leftover)
	if ReasonOf(err) != ReasonDraft {
		return v, left, err
	}
	line := v.abandoned()
	if line == "" || s.refuse(v, ReasonNone) != nil || !s.takeBack(ctx, v, l.Client, line) {
		return v, left, err
	}
	return s.ready(ctx, l, leftover)
}

// begin checks pane and text and locks the pane.
func (s *Server) begin(ctx context.Context, l Line) (unlock func(), err error) {
	p := l.Pane
	if err := p.check(); err != nil {
		return nil, refusal(p, ReasonUnknown, err)
	}
	if err := Check(l.Text); err != nil {
		return nil, fmt.Errorf("type in pane %s: %w", p.ID, err)
	}
	p.Server = 0
	value, _ := s.locks.LoadOrStore(p, semaphore.NewWeighted(1))
	lock := value.(*semaphore.Weighted)
	if lock.Acquire(ctx, 1) != nil {
		return nil, fmt.Errorf("type in pane %s: %w: try again", p.ID, context.Cause(ctx))
	}
	return func() { lock.Release(1) }, nil
}

func (l Line) check(ctx context.Context) error {
	if l.Check == nil {
		return nil
	}
	return l.Check(ctx)
}

// ready returns the Error of Type if no text can be typed now. left reports
// whether the box is one that isLeft accepts.
func (s *Server) ready(
	ctx context.Context,
	l Line,
	isLeft func(box) bool,
) (v view, left bool, err error) {
	v, err = s.look(ctx, l.Pane)
	if err == nil {
		err = v.verify(l.Client)
	}
	if err != nil {
		return v, false, err
	}
	r := Refusal(v.screen)
	if r == ReasonDraft && isLeft != nil && slices.ContainsFunc(candidates(v.screen), isLeft) {
		left = true
		r = ReasonNone
	}
	return v, left, s.refuse(v, r)
}

// paste puts the text into the input box, or changes nothing.
func (s *Server) paste(ctx context.Context, l Line) (view, error) {
	for range attempts {
		v, _, err := s.ready(ctx, l, nil)
		if err == nil {
			err = l.check(ctx)
			l.Check = nil
		}
		if err != nil {
			return view{}, err
		}
		paste := input{l.Text, "paste-buffer -p -r -d -b $buffer -t $pane"} // one bracketed paste
		// If ctx ended the command, its effect would be unknown.
		done, err := s.act(context.WithoutCancel(ctx), v, paste, func() error {
			return v.verify(l.Client)
		})
		if done || err != nil {
			return v, err
		}
	}
	return view{}, changing(l.Pane)
}

func changing(p Pane) error {
	return refusal(p, ReasonUnclear, errors.New("the screen keeps changing"))
}

// enter waits until the box shows the text and presses Enter. After an Error
// with Pasted, Enter may have been pressed; after any other error it was not.
func (s *Server) enter(ctx context.Context, l Line, left bool) error {
	deadline := time.Now().Add(s.echo)
	for pause := firstPause; ; pause = min(pause*5/4, longestPause) {
		v, err := s.look(ctx, l.Pane)
		if err == nil {
			err = cmp.Or(v.verify(l.Client), v.shows(l.Text, left), s.refuse(v, ReasonNone))
		}
		if err == nil {
			var done bool
			done, err = s.act(ctx, v, pressed("Enter"), func() error { return v.verify(l.Client) })
			if done || PastedIn(err) {
				return err // never a second time
			}
		}
		if err == nil {
			err = changing(l.Pane)
		}
		if r := ReasonOf(err); r.Final() || r.away() || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pause)
	}
}

// shows returns nil if the box holds only the text, or only that of an earlier
// attempt.
func (v view) shows(text string, left bool) error {
	reason := ReasonNoBox
	for _, b := range candidates(v.screen) {
		r := cmp.Or(b.shows(text, left), below(v.screen.Rows[b.bottom+1:]))
		if r == ReasonNone && !b.cursorIn(v.screen) {
			r = ReasonUnclear
		}
		if r == ReasonNone {
			return nil
		}
		if b.glyph != 0 { // the lowest box
			reason = r
		}
	}
	if reason == ReasonNoBox {
		reason = withoutBox(v.screen)
	}
	return refusal(v.Pane, reason, nil)
}

// shows checks one box. In the shell mode Enter would run the text of the box.
func (b box) shows(text string, left bool) Reason {
	switch {
	case b.glyph == '!':
		return ReasonShellMode
	case b.match(text) || left && b.leftover(text):
		return ReasonNone
	case b.typed == "":
		return ReasonUnseen
	}
	return ReasonMerged
}
