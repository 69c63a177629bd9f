package tmux

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// collapsible is the length, in UTF-16 units, from which a paste may be shown
// as "[Pasted text #1]". All versions so far collapse only texts above 800.
const collapsible = 600

// match reports whether the box, which was empty before the paste, holds only
// the text.
func (b box) match(text string) bool {
	if len(utf16.Encode([]rune(text))) > collapsible && collapsed().MatchString(b.typed) {
		return true
	}
	return b.typed != "" && shows(b.typed, text, b.hidden != 0)
}

// leftover reports whether the box holds the text of an attempt that ended
// before Enter: a text with the same id at its end, or exactly the prompt that
// resumes from a document. Commands do not count, because a person may have
// typed them.
func (b box) leftover(text string) bool {
	if own(text) {
		return !isCommand(text) && b.holds(text)
	}
	_, id := cutID(text)
	return id != "" && b.hidden == 0 && strings.HasPrefix(b.typed, Prefix) &&
		strings.HasSuffix(squeeze(b.typed), squeeze(id)) && strings.Count(b.typed, Prefix) == 1
}

// holds reports whether the box holds exactly the text.
func (b box) holds(text string) bool {
	return b.hidden == 0 && squeeze(b.typed) == squeeze(text)
}

// collapsed matches "[Pasted text #1]" and "[Pasted text #1 +12 lines]".
var collapsed = pattern(`^\[Pasted text #[^\[\]]*\]$`)

// squeeze removes blanks, because the client breaks lines at them.
func squeeze(text string) string {
	return strings.Join(strings.Fields(text), "")
}

// shows reports whether a screen shows only the whole text or, with tail, the
// end of it, when the client has scrolled the rest out of its box. It compares
// the ASCII characters of the decomposed texts: terminals drop unknown
// characters, and the client composes accents.
func shows(screen, text string, tail bool) bool {
	got, gotOthers := ascii(screen)
	want, wantOthers := ascii(text)
	whole := got == want || tail && got != "" && strings.HasSuffix(want, got)
	return whole && gotOthers <= wantOthers
}

// ascii returns the visible ASCII characters of a text, and the number of its
// other characters.
func ascii(text string) (visible string, others int) {
	visible = strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			others++
			return -1
		}
		return r
	}, norm.NFD.String(squeeze(text)))
	return visible, others
}
