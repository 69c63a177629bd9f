package tmux

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// collapsible is the length, in UTF-16 units, from which a paste may be shown as
// "[Pasted text #1]". All versions so far do that above 800.
const collapsible = 600

// match is the result of comparing a box with a text.
type match int

const (
	matchNothing match = iota // the box is empty
	matchOther                // it holds something else
	matchText                 // it holds that text and nothing else
)

// match compares the box, which was empty before the paste, with the text.
func (b box) match(text string) match {
	typed, _ := b.content()
	switch {
	case typed == "":
		return matchNothing
	case len(utf16.Encode([]rune(text))) > collapsible && collapsed(typed):
		return matchText
	case shows(typed, text, b.hidden != 0):
		return matchText
	}
	return matchOther
}

// leftover reports whether the box holds the text of an attempt that ended before
// Enter: a text with the same id at its end, or exactly the prompt that resumes from a
// document. A command may be a human's.
func (b box) leftover(text string) bool {
	typed, _ := b.content()
	if own(text) {
		return !isCommand(text) && b.holds(text)
	}
	_, id := cutID(text)
	return id != "" && b.hidden == 0 && strings.HasPrefix(typed, Prefix) &&
		strings.HasSuffix(squeeze(typed), squeeze(id)) && strings.Count(typed, Prefix) == 1
}

// holds reports whether the box holds exactly that text.
func (b box) holds(text string) bool {
	typed, _ := b.content()
	return b.hidden == 0 && squeeze(typed) == squeeze(text)
}

// collapsed matches "[Pasted text #1]" and "[Pasted text #1 +12 lines]".
func collapsed(typed string) bool {
	rest, ok := strings.CutPrefix(typed, "[Pasted text #")
	inner, ok2 := strings.CutSuffix(rest, "]")
	return ok && ok2 && !strings.ContainsAny(inner, "[]")
}

// squeeze removes blanks: the client breaks lines at them.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// glyph is a character of a text as a screen may show it.
type glyph struct {
	base rune
	// loose characters may show as another one, or not at all: terminals drop what they
	// do not know, and the client composes accents. All but plain ASCII is loose.
	loose bool
}

// shows reports whether a screen shows the whole text and nothing else. With tail it
// may show the end of the text only: the client has scrolled the rest out of its box.
func shows(screen, text string, tail bool) bool {
	got := split(screen)
	want := split(text)
	if tail {
		slices.Reverse(got)
		slices.Reverse(want)
	}
	for _, g := range got {
		for len(want) > 0 && want[0].loose && want[0].base != g.base && g.base <= unicode.MaxASCII {
			want = want[1:]
		}
		if len(want) == 0 || !want[0].loose && want[0] != g {
			return false
		}
		want = want[1:]
	}
	return tail && len(got) > 0 || !slices.ContainsFunc(want, func(g glyph) bool { return !g.loose })
}

// split returns the characters of a text without blanks and marks.
func split(text string) []glyph {
	var all []glyph
	for _, r := range squeeze(text) {
		if !unicode.IsMark(r) {
			all = append(all, glyph{base: r, loose: r > unicode.MaxASCII})
		} else if len(all) > 0 {
			all[len(all)-1].loose = true
		}
	}
	return all
}
