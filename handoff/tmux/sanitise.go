package tmux

import (
	"errors"
	"strings"
	"unicode"

	"sm/transcript/wording"
)

const (
	// MaxBytes is the largest length of a text: a message of 4,096 bytes with its
	// heading and id.
	MaxBytes = 4096 + 512
	// Prefix begins every text but commands and resume prompts: a leading ! would run a
	// shell, and a leading / a command.
	Prefix = wording.Heading
)

// ErrText means that a text must not be typed.
var ErrText = errors.New("the text is not fit to be typed: pass it through Sanitise")

// Sanitise returns a text that is safe to type: one line of valid UTF-8 of at
// most MaxBytes, in which neither a terminal nor the client finds a command.
//
//   - Line breaks, tabs and other blanks become one space each.
//   - Control characters, and characters that are invisible or change the
//     displayed order, are removed: C0, C1, DEL, bidi and zero-width, private
//     and unassigned ones, and variation selectors.
//   - A byte that is not UTF-8 becomes U+FFFD.
//   - Spaces at both ends are removed, and backslashes at the end, which would turn
//     Enter into a line break.
//   - A ─, with which the client draws its box, becomes a -.
//   - An @ that begins a word becomes (at): the client would insert a file.
//   - A text that does not begin with Prefix gets a heading that does.
//   - A longer text is cut before the id at its end, such as " #a1b2c3".
//
// In /clear, /new and the prompt that resumes from a document, characters are
// only removed. If nothing is left, or such a text is too long, the result is
// "".
func Sanitise(text string) string {
	text = strings.TrimRight(strings.TrimSpace(clean(text)), ` \`)
	switch {
	case text == "":
		return ""
	case own(text) && len(text) > MaxBytes: // a cut path would name another file
		return ""
	case own(text):
		return text
	}
	text = mentions(text)
	if !strings.HasPrefix(text, Prefix) {
		text = wording.Message + text
	}
	return shorten(text)
}

// Check returns ErrText for a text that Sanitise would change.
func Check(text string) error {
	if text == "" || Sanitise(text) != text {
		return ErrText
	}
	return nil
}

// own reports whether a text is a command or prompt of sm, which has no
// heading.
func own(text string) bool {
	if isCommand(text) {
		return true
	}
	path, ok := wording.ResumePath(text)
	return ok && len(path) > 1 && path[0] == '/'
}

// isCommand reports whether a text is a command that clears a context.
func isCommand(text string) bool { return text == "/clear" || text == "/new" }

// clean keeps printable characters only, and U+FFFD for a byte that is not
// UTF-8.
func clean(text string) string {
	// A line could look like the edge of the client's box.
	text = strings.NewReplacer("\r\n", "\n", "─", "-").Replace(text)
	return wording.OneLine(text, wording.Printable)
}

// mentions replaces each @ that begins a word.
func mentions(text string) string {
	var b strings.Builder
	last := ' '
	for _, r := range text {
		if r == '@' && !unicode.IsLetter(last) && !unicode.IsDigit(last) {
			b.WriteString("(at)")
		} else {
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}

// shorten cuts a text to MaxBytes, but not its id.
func shorten(text string) string {
	if len(text) <= MaxBytes {
		return text
	}
	const mark = "…"
	body, id := cutID(text)
	body = strings.ToValidUTF8(body[:MaxBytes-len(mark)-len(id)], "")
	return strings.TrimRight(body, " ") + mark + id
}

// idAtEnd matches the id at the end of a text.
var idAtEnd = pattern(wording.IDMark + "[0-9a-z]{4,16}$")

// cutID splits off the id at the end of a text: a blank, # and 4 to 16 letters or
// digits.
func cutID(text string) (body, id string) {
	id = idAtEnd().FindString(text)
	return strings.TrimSuffix(text, id), id
}
