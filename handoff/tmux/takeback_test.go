package tmux

import (
	"strings"
	"testing"
	"time"
)

func TestBeforeCursor(t *testing.T) {
	t.Parallel()
	const text = "[sm message] #a1b2c3"
	for _, c := range []struct {
		name, screen string
		cursor       Cursor
		want         bool
		followed     bool
	}{
		{"after a prompt", "$ " + text, Cursor{22, 0}, true, false},
		{
			"in two rows",
			"dev@host:~/a/long/path$ [sm messag\ne] #a1b2c3",
			Cursor{10, 1},
			true,
			false,
		},
		{"up to the margin", "dev@host:~/a$ " + text + "\n", Cursor{0, 1}, true, false},
		{
			"with a clock to the right",
			"$ " + text + "        12:00",
			Cursor{22, 0},
			true,
			false,
		},
		{
			"echoed with its brackets",
			"❯ ^[[200~" + text + "^[[201~",
			Cursor{36, 0},
			true,
			false,
		},
		{"with what is left of a bracket", "$ 0~" + text + "1~", Cursor{26, 0}, true, false},
		{"something behind it", "$ " + text + "x", Cursor{23, 0}, false, true},
		{"the cursor is elsewhere", "$ " + text + "\n$ ", Cursor{2, 1}, false, false},
		{"the cursor is in it", "$ " + text, Cursor{12, 0}, false, false},
		{
			"with the terminal's answer behind it",
			"$ " + text + "1;2c",
			Cursor{26, 0},
			true,
			false,
		},
		{
			"with tmux's version, echoed",
			"$ " + text + "^[P>|tmux 3.3a^[\\^[[?1;2c",
			Cursor{49, 0},
			true,
			false,
		},
		{"with a pipe typed after it", "$ " + text + "| tmux ls", Cursor{31, 0}, false, true},
	} {
		v := view{Width: 34, screen: ParseScreen(c.screen, c.cursor)}
		if got, followed := v.beforeCursor(text); got != c.want || followed != c.followed {
			t.Errorf("%s: beforeCursor = %v, %v", c.name, got, followed)
		}
	}
}

// TestTakeBack tests a client that ends right after the last check: the text is removed from
// wherever it is.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	const text = "[sm message] #a1b2c3"

	for _, c := range []struct {
		name  string
		leave string // how the client ends
		rc    string // settings of the shell
		draft string // text that a person has typed after it
	}{
		{name: "on bash's line", leave: "kill"},
		{name: "on bash's line in vi mode", leave: "kill", rc: "set -o vi\n"},
		{
			name:  "on bash's line without bracketed paste",
			leave: "kill",
			rc:    "bind 'set enable-bracketed-paste off'\n",
		},
		{name: "in line mode", leave: "60000"},
		{name: "in line mode without brackets", leave: "60000 off"},
		{name: "before a draft", leave: "kill", draft: "echo x"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			r := newRig(t, pace{})
			sh := r.startShellWith(c.rc)
			a := sh.run()
			before, err := r.look(t.Context(), a.pane)
			noError(t, err)

			a.leave("leave " + c.leave)
			if c.leave == "kill" {
				a.ended()
				sh.line() // it reads what is pasted
			} else {
				r.until("the terminal is in line mode", func() bool {
					tty, err := readTerminal(before.TTY)
					return err == nil && tty.lines
				})
			}

			sh.pasteUnchecked(sh.pane, text)
			want := ""
			if c.draft != "" {
				sh.tmux("send-keys", "-t", sh.pane, "-l", c.draft)
				r.echo = time.Second
				want = text + c.draft
			}

			if erased := r.takeBack(
				t.Context(),
				before,
				a.client,
				text,
			); erased != (want == "") {
				t.Errorf("takeBack = %v", erased)
			}
			if c.leave != "kill" {
				a.kill()
			}
			if got := sh.line(); got != want {
				t.Errorf("got %q on the line, want %q", got, want)
			}
		})
	}
}

// TestTakeBackFromBox tests that in the client's box each key erases a row, and a draft that
// was extended stays.
func TestTakeBackFromBox(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	a.reaches(ReasonNone)

	for _, text := range []string{
		"[sm message] #a1b2c3",
		"[sm test] " + strings.Repeat("word ", 40) + "#a1b2c4",
	} {
		before, err := r.look(t.Context(), a.pane)
		noError(t, err)

		r.tmux("send-keys", "-t", a.pane.ID, "-l", text)
		a.reaches(ReasonDraft)
		r.echo = patience
		if !r.takeBack(t.Context(), before, a.client, text) {
			t.Errorf("%q was not removed", text)
		}
		a.reaches(ReasonNone)

		r.tmux("send-keys", "-t", a.pane.ID, "-l", text+"x")
		a.reaches(ReasonDraft)
		r.echo = 200 * time.Millisecond // it never finds only the text
		if r.takeBack(t.Context(), before, a.client, text) {
			t.Errorf("%q was removed although a letter was added to it", text)
		}
		a.reaches(ReasonDraft)
		a.order("clear")
	}

	if got := a.submitted(); len(got) != 0 {
		t.Errorf("submitted %q", got)
	}
}

// TestTakeBackFromHangingClient tests that text that a hanging client has not read is
// dropped.
func TestTakeBackFromHangingClient(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{echo: 300 * time.Millisecond})
	a := r.startWindow()
	a.reaches(ReasonNone)
	a.order("hang")
	if err := a.typed(testText); !errorIn(err).Erased || PastedIn(err) ||
		ReasonOf(err) != ReasonUnseen {
		t.Errorf("Type = %v", err)
	}

	a.order("read")
	r.echo = patience
	noError(t, a.typed(testText))
	a.wait("submit", 1)
	if got := a.events("paste"); len(got) != 1 {
		t.Errorf("%d pastes", len(got))
	}
}

// TestTypeAfterAbandonedLine tests that a line whose message was withdrawn does not block the
// box.
func TestTypeAfterAbandonedLine(t *testing.T) {
	t.Parallel()
	r := newRig(t, pace{})
	a := r.startWindow()
	a.reaches(ReasonNone)
	r.tmux("send-keys", "-t", a.pane.ID, "-l", "[sm message] #ffffff")
	a.reaches(ReasonDraft)
	noError(t, a.typed("[sm message] #a1b2c3"))
	if got := a.wait("submit", 1).Text; got != "[sm message] #a1b2c3" {
		t.Errorf("submitted %q", got)
	}
}
