package tmux

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sm/transcript/wording"
)

const (
	// settle is how long a pasted text must be found nowhere before it counts
	// as removed. Bytes from tmux reach their reader within a few milliseconds,
	// and a shell shows them at once.
	settle = 300 * time.Millisecond
	// afterKey is the pause after a key, so that the key can take effect.
	afterKey = 40 * time.Millisecond
	// maxKeys limits the keys for a text that cannot be removed. In the box
	// each key erases one row.
	maxKeys = 80
	// brackets is the length of the bytes that tmux adds around a paste if the
	// program has requested them.
	brackets = len("\x1b[200~" + "\x1b[201~")
)

// place is the location of a text that was pasted and not submitted.
type place int

const (
	nowhere place = iota
	unclear       // it is invisible, or there is other text beside it
	kernel        // in the kernel's queue or line
	shown         // in the client's box, alone, or before the cursor of another program
)

// takeBack removes a text that was pasted and not submitted, and reports
// whether nothing of it is left. It removes nothing that a person may have
// typed: if the pane has been used since the paste, or if there is other text
// beside it, everything stays.
//
// Ctrl-U erases in the client's box (one row) and in the line editors of
// shells, and has no other effect there. Bytes that no program has read are
// dropped from the kernel. takeBack presses neither Enter nor Ctrl-C, which
// ends clients.
func (s *Server) takeBack(
	ctx context.Context,
	before view,
	c Client,
	text string,
) (erased bool) {
	deadline := time.Now().Add(s.echo)
	changed := time.Now()
	keys := 0
	for pause := firstPause; ; pause = min(pause*5/4, longestPause) {
		v, err := s.look(ctx, before.Pane)
		at := unclear
		var r reader
		switch {
		case ReasonOf(err).Final(): // the text has disappeared with its pane
			return true
		case err == nil && v.used.After(before.used):
			return false
		case err == nil:
			r = v.reader(c)
			at = v.find(r, text, keys)
		}

		late := time.Now().After(deadline)
		switch {
		case at == nowhere && time.Since(changed) > settle:
			return true
		case late && r.hasNotRead(text): // a client that hangs
			return flush(v.TTY) == nil
		case late || keys == maxKeys || ctx.Err() != nil:
			return false
		case at == unclear || at == nowhere:
		case s.erase(ctx, v, c, at, r):
			keys++
			changed = time.Now()
			pause = afterKey
		}
		time.Sleep(pause)
	}
}

// abandoned returns a line in the box that only announces a message, "" for
// none. Only sm writes such lines. Since another text is to be typed now, the
// attempt of that line will not be repeated.
func (v view) abandoned() string {
	for _, b := range candidates(v.screen) {
		if head, id := cutID(b.typed); id != "" && head+" " == wording.Message {
			return b.typed
		}
	}
	return ""
}

// reader is the program that reads the terminal, and the terminal's state.
type reader struct {
	known  bool // the terminal could be read
	client bool // the client is in the foreground and reads keys
	terminal
}

func (v view) reader(c Client) reader {
	reason, _ := v.holds(c)
	t, err := readTerminal(v.TTY)
	return reader{known: err == nil, client: reason == ReasonNone, terminal: t}
}

// hasNotRead reports whether exactly the text waits in the kernel.
func (r reader) hasNotRead(text string) bool {
	return r.known && (r.unread == len(text) || r.unread == len(text)+brackets)
}

// find returns the place of a text. keys is the number of keys that were
// pressed to erase it.
func (v view) find(r reader, text string, keys int) place {
	switch {
	case v.unfit == ReasonDead && r.known:
		return nowhere
	case !r.known || v.unfit != ReasonNone && v.unfit != ReasonUnclear:
		return unclear
	case !r.client && r.hasNotRead(text):
		return kernel
	case r.unread > 0:
		return unclear
	case r.client:
		return v.findInBox(text, keys > 0)
	}

	at, followed := v.beforeCursor(text)
	switch {
	case r.lines && keys == 0: // invisible without echo
		return kernel
	case !r.lines && at:
		return shown
	case !r.lines && followed:
		return unclear
	}
	return nowhere
}

// findInBox returns the place of a text in the client's box. begun means that a
// key was pressed, so that only a part of the text may be left.
func (v view) findInBox(text string, begun bool) place {
	for _, b := range candidates(v.screen) {
		r := below(v.screen.Rows[b.bottom+1:])
		if r != ReasonNone && r != ReasonEnding || !b.cursorIn(v.screen) {
			continue
		}
		switch {
		case b.match(text), begun && b.typed != "" &&
			strings.HasPrefix(squeeze(text), squeeze(b.typed)):
			return shown
		case begun && b.typed == "":
			return nowhere
		}
	}
	return unclear // the client may still show it
}

// beforeCursor reports whether a text is directly before the terminal's cursor,
// except for terminal replies. followed reports whether there is something else
// between them.
func (v view) beforeCursor(text string) (at, followed bool) {
	want := squeeze(text)
	got := ""
	rows := v.screen.Rows[:min(v.screen.Cursor.Y+1, len(v.screen.Rows))]
	for y, row := range slices.Backward(rows) {
		if y == v.screen.Cursor.Y {
			row = row[:min(v.screen.Cursor.X, len(row))]
		} else if len(row) < v.Width-margin {
			break // another line
		}
		got = squeeze(row.String()) + got
		if len(got) > 2*len(want) {
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

// margin is the number of blanks that tmux may have cut off a full row.
const margin = 4

// residue matches terminal replies as other programs show them: the end of a
// paste's brackets, and the replies about the terminal's kind and tmux's
// version that an ending client leaves unread.
var residue = pattern(`^([\^\[?0-9;]{0,12}[~c]|(\^\[P)?>\|tmux[0-9a-z.-]{1,16}(\^\[\\)?){0,4}$`)

var errChanged = errors.New("the terminal has changed")

// erase removes a text, or a part of it, from its place, unless the reader has
// changed.
func (s *Server) erase(ctx context.Context, v view, c Client, at place, r reader) bool {
	if at == kernel {
		return flush(v.TTY) == nil
	}
	done, err := s.act(ctx, v, pressed("C-u"), func() error {
		now := v.reader(c)
		now.unread = r.unread // bytes read since then are irrelevant
		if now != r {
			return errChanged
		}
		return nil
	})
	return done || PastedIn(err)
}
