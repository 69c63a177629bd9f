package tmux

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// collapsible is the length from which a paste may be shown as "[Pasted text #1]", in
// UTF-16 units. All versions so far do it above 800.
const collapsible = 600

// match compares what the box shows with a text.
type match int

const (
	matchNothing match = iota // the box is empty
	matchOther                // something else is in it
	matchText                 // that text is in it, and nothing else
)

// match looks for a text in the box, which was empty when it was pasted.
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

// leftover says whether the box holds a text of sm from an attempt that ended before
// Enter, by the id at its end, or by being the whole prompt that resumes from a document.
// A command may be a human's.
func (b box) leftover(text string) bool {
	typed, _ := b.content()
	if own(text) {
		return !isCommand(text) && b.stands(text)
	}
	_, id := cutID(text)
	return id != "" && b.hidden == 0 && strings.HasPrefix(typed, Prefix) &&
		strings.HasSuffix(squeeze(typed), squeeze(id)) && strings.Count(typed, Prefix) == 1
}

// stands says whether the box holds exactly that text, and nothing else.
func (b box) stands(text string) bool {
	typed, _ := b.content()
	return b.hidden == 0 && squeeze(typed) == squeeze(text)
}

// collapsed tells "[Pasted text #1]" and "[Pasted text #1 +12 lines]".
func collapsed(typed string) bool {
	rest, ok := strings.CutPrefix(typed, "[Pasted text #")
	inner, ok2 := strings.CutSuffix(rest, "]")
	return ok && ok2 && !strings.ContainsAny(inner, "[]")
}

func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// sign is a character of a text as a screen may show it.
type sign struct {
	base rune
	// loose is beyond ASCII, or has an accent: terminals drop what they do not know, and
	// the client composes accents. It may show as another sign or not at all.
	loose bool
}

// shows says whether all of a screen is a text, or when tail is set the end of one: the
// client has scrolled the rest out of its box. The box was seen to be empty when the text
// was pasted, and what is typed after that shows at the end.
func shows(screen, text string, tail bool) bool {
	got, want := signs(screen), signs(text)
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
	return tail && len(got) > 0 || !slices.ContainsFunc(want, func(s sign) bool { return !s.loose })
}

// signs leaves blanks out, which the client breaks lines at, and marks.
func signs(text string) []sign {
	var s []sign
	for _, r := range squeeze(text) {
		switch {
		case !unicode.IsMark(r):
			s = append(s, sign{r, r > unicode.MaxASCII})
		case len(s) > 0:
			s[len(s)-1].loose = true
		}
	}
	return s
}
