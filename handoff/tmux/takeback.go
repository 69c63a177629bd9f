package tmux

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// settle is how long a pasted text must be nowhere before it is taken to be gone. What
	// tmux has written reaches the reader within a few milliseconds, and a shell that reads
	// it shows it at once.
	settle = 300 * time.Millisecond
	// afterKey is the least time between two keys, in which the first can show its effect.
	afterKey = 40 * time.Millisecond
	// maxKeys is for a text that does not go away. In the box each key erases one row.
	maxKeys = 80
	// brackets is the length of what tmux puts around a paste where a program wants it.
	brackets = len("\x1b[200~" + "\x1b[201~")
)

// standing is where a text is that was pasted and not submitted.
type standing int

const (
	standsNowhere standing = iota
	standsUnclear          // it cannot be told, or other text is with it
	standsUnread           // no program has read it yet, and nothing else came in
	standsLine             // in the line that the kernel gathers
	standsBox              // in the client's box, alone
	standsShell            // before the cursor of another program
)

// takeBack removes a text that was pasted and not submitted from where it is now, and says
// whether nothing of it is left. It takes nothing that a human may have added: once
// somebody has used the pane since the paste, and where other text is with it, all stays.
//
// Ctrl-U erases in the client's box (a row of it) and in the line editors of shells, and
// does nothing else in either; in line mode the kernel's own kill character does, which
// erases without any program's help. Enter is never pressed, nor Ctrl-C, which ends clients.
func (s *Server) takeBack(ctx context.Context, before view, c Client, text string) (clean bool) {
	deadline := time.Now().Add(s.echo)
	changed, keys := time.Now(), 0
	for pause := firstPause; ; pause = min(pause*5/4, longestPause) {
		v, err := s.look(ctx, "take back", before.Pane)
		at, ground := standsUnclear, ground{}
		switch {
		case ReasonOf(err).Final(): // with all that was in it
			return true
		case err == nil && v.used.After(before.used):
			return false
		case err == nil:
			ground = v.ground(c)
			at = v.standing(ground, text, keys)
		}
		late := time.Now().After(deadline)
		switch {
		case at == standsNowhere && time.Since(changed) > settle:
			return true
		case late && ground.unread(text): // a client that hangs
			return flush(v.TTY) == nil
		case late || keys == maxKeys || ctx.Err() != nil:
			return false
		case at == standsUnclear, at == standsNowhere:
		case s.erase(ctx, v, c, at, ground):
			keys, changed, pause = keys+1, time.Now(), afterKey
		}
		time.Sleep(pause)
	}
}

// constant is the line that says no more than that a message waits, which sm alone writes. It is compiled when it is first
// needed, as residue is: each hook of a client starts this program, and types nothing.
var constant = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[sm message\] #[0-9a-z]{4,16}$`) })

// abandoned is a constant line that stands in the box, from an attempt that was cut off and
// will not be repeated: another text is to be typed. "" is none.
func (v view) abandoned() string {
	for b := range v.candidates() {
		if typed, _ := b.content(); constant().MatchString(typed) {
			return typed
		}
	}
	return ""
}

// ground is what lies below the screen: who is in front, and what the terminal does.
type ground struct {
	known, front bool // front: the client, which reads keys
	terminal
}

func (v view) ground(c Client) ground {
	reason, _ := v.holds(c)
	t, err := readTerminal(v.TTY)
	return ground{known: err == nil, front: reason == ReasonNone, terminal: t}
}

// unread says whether a text waits for its reader, and nothing else.
func (g ground) unread(text string) bool {
	return g.known && (g.terminal.unread == len(text) || g.terminal.unread == len(text)+brackets)
}

// same is whether an answer to one holds for the other.
func (g ground) same(other ground) bool {
	g.terminal.unread, other.terminal.unread = 0, 0
	return g == other
}

// standing looks for a text. keys is how many have been pressed to erase it.
func (v view) standing(g ground, text string, keys int) standing {
	if !g.known || v.InMode || v.InputOff || v.Synchronized {
		return standsUnclear
	}
	switch {
	case v.Dead:
		return standsNowhere
	case !g.front && g.unread(text):
		return standsUnread
	case g.terminal.unread > 0:
		return standsUnclear
	case g.front:
		return v.inBox(text, keys > 0)
	}
	at, beside := v.atCursor(text)
	switch {
	case g.lines && (keys == 0 || keys < 3 && at): // without echo it cannot be seen
		return standsLine
	case !g.lines && at:
		return standsShell
	case !g.lines && beside:
		return standsUnclear
	}
	return standsNowhere
}

// inBox looks for a text in the box of a client that is in front. begun says that it may
// have been erased in part.
func (v view) inBox(text string, begun bool) standing {
	for b := range v.candidates() {
		typed, _ := b.content()
		if r := below(v.screen.Rows[b.bottom+1:]); r != ReasonNone && r != ReasonEnding || !b.cursorIn(v.screen) {
			continue
		}
		switch {
		case b.match(text) == matchText, begun && typed != "" && strings.HasPrefix(squeeze(text), squeeze(typed)):
			return standsBox
		case begun && typed == "":
			return standsNowhere
		}
	}
	return standsUnclear // the client may show it yet
}

// atCursor says whether a text stands right before the terminal's cursor, with what answers
// to the client's own questions may follow; beside says that something else follows it.
func (v view) atCursor(text string) (at, beside bool) {
	want, got := squeeze(text), ""
	rows := v.screen.Rows[:min(v.Cursor.Y+1, len(v.screen.Rows))]
	for y, row := range slices.Backward(rows) {
		if y == v.Cursor.Y {
			row = row[:min(v.Cursor.X, len(row))]
		} else if len(row) < v.Width-margin {
			break // not part of the same line
		}
		if got = squeeze(row.String()) + got; len(got) > 2*len(want) {
			break
		}
	}
	i := strings.LastIndex(got, want)
	if i < 0 {
		return false, false
	}
	at = residue().MatchString(got[i+len(want):])
	return at, !at
}

// margin is how many blanks a full row may end with, which tmux cuts off.
const margin = 4

// residue is what terminals answer to programs, as far as others show it: the end of the
// brackets of a paste, and the answers to questions for the terminal's kind and for tmux's
// version, which a client that ends leaves behind.
var residue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([\^\[?0-9;]{0,12}[~c]|(\^\[P)?>\|tmux[0-9a-z.-]{1,16}(\^\[\\)?){0,4}$`)
})

// errChanged is a ground that is no more what the choice of the key was based on.
var errChanged = errors.New("the terminal has changed")

// erase does to a text what its place asks for, unless that has changed meanwhile.
func (s *Server) erase(ctx context.Context, v view, c Client, at standing, g ground) bool {
	key := "C-u"
	if at == standsLine {
		key = control(g.kill)
	}
	if at == standsUnread || key == "" {
		return flush(v.TTY) == nil
	}
	done, err := s.act(ctx, v, pressed(key), func() error {
		if !g.same(v.ground(c)) {
			return errChanged
		}
		return nil
	})
	return done || PastedIn(err)
}

// control is tmux's name for a control character that is one of a letter, else "".
func control(b byte) string {
	if b < 1 || b > 26 {
		return ""
	}
	return "C-" + string('a'+rune(b)-1)
}
