package tmux

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const testText = "[sm test] Context at 52%; go on. #a1b2c3"

func TestType(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	a.reaches(ReasonNone)
	texts := []string{
		testText,
		"/clear",
		"Read /home/dev/notes (2).md and continue from where you left off.",
		"[sm test] " + strings.Repeat("word ", 150) + "#a1b2c4",
		"[sm test] " + strings.Repeat("more words ", 360) + "#a1b2c5",
	}
	for i, text := range texts {
		asked := 0
		check := func(context.Context) error { asked++; return nil }
		if err := a.typedAfter(text, check); err != nil {
			t.Fatalf("text %d: %v", i, err)
		}
		a.wait("submit", i+1)
		if asked != 1 {
			t.Errorf("text %d: got %d checks", i, asked)
		}
	}
	if diff := cmp.Diff(texts, a.submitted()); diff != "" {
		t.Errorf("submitted (-want +got):\n%s", diff)
	}
	r.noBuffers()
}

func TestTypeChecksText(t *testing.T) {
	t.Parallel()
	r := newIdleRig(t, pace{})
	p := Pane{r.socket, 0, "%0"}
	c := Client{1, "1"}
	for _, text := range []string{
		"",
		"hello",
		"!ls",
		"/compact",
		"[sm x] a\nb",
		"[sm x] a\x1b[201~",
		"[sm x] a ",
	} {
		if err := r.Type(t.Context(), Line{Pane: p, Client: c, Text: text}); !errors.Is(err, ErrText) {
			t.Errorf("Type(%q) = %v, want ErrText", text, err)
		}
	}
	for _, p := range []Pane{
		{"s", 0, "%1"},
		{r.socket, 0, "main"},
		{r.socket, 0, "%"},
		{r.socket, 0, "%1;"},
		{r.socket, 0, "%1234567890"},
		{},
	} {
		err := r.Type(t.Context(), Line{Pane: p, Client: c, Text: testText})
		if ReasonOf(err) != ReasonUnknown || err == nil {
			t.Errorf("Type into %v = %v", p, err)
		}
	}
}

func TestTypeAsksLast(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	a.reaches(ReasonNone)
	busy := errors.New("busy")
	err := a.typedAfter(testText, func(context.Context) error { return busy })
	if !errors.Is(err, busy) || PastedIn(err) {
		t.Errorf("Type = %v", err)
	}
	a.untouched()
	r.noBuffers()
	// Changes during the check are detected.
	asked := 0
	err = a.typedAfter(testText, func(context.Context) error {
		if asked++; asked == 1 {
			r.tmux("copy-mode", "-t", a.pane.ID)
		}
		return nil
	})
	if ReasonOf(err) != ReasonMode || PastedIn(err) || asked != 1 {
		t.Errorf("Type = %v after %d checks", err, asked)
	}
	a.untouched()
	r.noBuffers()
}

// TestTypeWaitsForHumans tests that other content of the screen stays, and the text follows
// when it is gone.
func TestTypeWaitsForHumans(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	for i, c := range []struct {
		begin func()
		end   string // an order
		want  Reason
	}{
		{
			func() {
				r.tmux(
					"send-keys",
					"-t",
					a.pane.ID,
					"-l",
					"rm -rf build # half typed",
				)
			},
			"clear",
			ReasonDraft,
		},
		{func() { a.order("show dialog") }, "show idle", ReasonDialog},
	} {
		a.reaches(ReasonNone)
		c.begin()
		a.reaches(c.want)
		if err := a.typed(testText); ReasonOf(err) != c.want || PastedIn(err) {
			t.Errorf("Type = %v, want %v", err, c.want)
		}
		if len(a.events("paste")) != i || len(a.events("approve")) != 0 ||
			len(a.submitted()) != i {
			t.Errorf("%v: the client got input", c.want)
		}
		r.noBuffers()
		a.order(c.end)
		a.reaches(ReasonNone)
		noError(t, a.typed(testText))
		if got := a.wait("submit", i+1).Text; got != testText {
			t.Errorf("submitted %q", got)
		}
	}
}

// TestTypeLeavesMergedText tests that Enter is not pressed if a user types while the client
// takes the paste.
func TestTypeLeavesMergedText(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{echo: 300 * time.Millisecond})
	a := r.startWindow()
	a.reaches(ReasonNone)
	err := a.typedAfter(testText, func(context.Context) error {
		a.order("garble")
		return nil
	})
	if ReasonOf(err) != ReasonMerged || !PastedIn(err) {
		t.Errorf("Type = %v", err)
	}
	if got := a.submitted(); len(got) != 0 {
		t.Errorf("submitted %q", got)
	}
	a.reaches(ReasonDraft)
	r.noBuffers()
}

// TestFinish tests a hanging client, which shows nothing. The text stays, and later Enter
// alone completes it, by Finish or, for a message, by Type; nothing else is touched.
func TestFinish(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/clear", testResume, testText} {
		r := newRig(t, pace{echo: 300 * time.Millisecond})
		a := r.startWindow()
		a.reaches(ReasonNone)
		finish := func(text string, check func(context.Context) error) error {
			l := a.line(text, check)
			l.Finish = true
			return r.Type(t.Context(), l)
		}
		if err := finish(text, nil); ReasonOf(err) != ReasonUnseen || PastedIn(err) {
			t.Errorf("%q: Finish of an empty box = %v", text, err)
		}
		a.order("hold")
		if err := a.typed(text); ReasonOf(err) != ReasonUnseen || !PastedIn(err) {
			t.Errorf("%q: Type = %v", text, err)
		}
		a.order("release")
		a.reaches(ReasonDraft)
		r.echo = patience
		if err := a.typed("[sm test] another #ffffff"); ReasonOf(err) != ReasonDraft {
			t.Errorf("%q: Type of another text = %v", text, err)
		}
		if err := finish("/new", nil); ReasonOf(err) != ReasonDraft {
			t.Errorf("%q: Finish of another text = %v", text, err)
		}
		busy := errors.New("busy")
		if err := finish(
			text,
			func(context.Context) error { return busy },
		); !errors.Is(
			err,
			busy,
		) {
			t.Errorf("%q: Finish for an agent at work = %v", text, err)
		}
		if text == testText {
			noError(t, a.typed(text))
		} else {
			noError(t, finish(text, nil))
		}
		if got := a.wait("submit", 1).Text; got != text || len(a.events("paste")) != 1 {
			t.Errorf("submitted %q, after %d pastes", got, len(a.events("paste")))
		}
		a.reaches(ReasonNone)
		if err := finish(
			text,
			nil,
		); ReasonOf(err) != ReasonUnseen ||
			len(a.submitted()) != 1 {
			t.Errorf("%q: Finish once more = %v, submitted %q", text, err, a.submitted())
		}
	}
}

// TestTypeFinishesWhatItPasted tests that a cancellation in the middle leaves no draft.
func TestTypeFinishesWhatItPasted(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	a.reaches(ReasonNone)
	a.order("hold")
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var err error
	wg.Go(func() { err = r.Type(ctx, a.line(testText, nil)) })
	a.wait("paste", 1)
	cancel()
	a.order("release")
	wg.Wait()
	noError(t, err)
	a.wait("submit", 1)
	err = r.Type(ctx, a.line(testText, nil))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Type after the end = %v", err)
	}
}

func TestTypeOneAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	a.reaches(ReasonNone)
	var wg sync.WaitGroup
	const texts = 8
	want := []string{}
	for i := range texts {
		text := fmt.Sprintf("[sm test] number #a1b2c%d", i)
		want = append(want, text)
		wg.Go(func() {
			for err := a.typed(text); err != nil; err = a.typed(text) { // the box still has the previous text
				if ReasonOf(err).Final() || PastedIn(err) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	a.wait("submit", texts)
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(a.submitted()))); diff != "" {
		t.Errorf("submitted (-want +got):\n%s", diff)
	}
}
