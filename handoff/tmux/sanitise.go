package tmux

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"sm/transcript/wording"
)

const (
	// MaxBytes is the length of the longest text that is typed: a message of 4,096 bytes
	// with its heading and id.
	MaxBytes = 4096 + 512
	// MinBytes is the least limit: room for a heading, an id and a few words.
	MinBytes = 64
	// Prefix begins every text but sm's own: a leading ! would run a shell, and a leading
	// / a command.
	Prefix = wording.Heading
)

// ErrText is a text that must not be typed.
var ErrText = errors.New("the text is not fit to be typed: pass it through Sanitise")

// Sanitise makes a text that is safe to type: one line of valid UTF-8, without anything
// that a terminal or the client would take for a command, at most limit bytes. A limit
// out of MinBytes..MaxBytes counts as the nearest of the two.
//
//   - Line breaks, tabs and other blanks become one space each.
//   - Controls, and what shows nothing or changes the order of what is shown, are removed:
//     C0, C1, DEL, bidi and zero-width characters, private and unassigned ones. So are
//     variation selectors, unless one of the common kind follows what it belongs to.
//   - A byte that is not UTF-8 becomes U+FFFD.
//   - Spaces at both ends go, and backslashes at the end, which would turn Enter into a
//     line break.
//   - An @ that begins a word becomes (at): the client would put a file in its place.
//   - A text that does not begin with Prefix gets a heading that does.
//   - What is too long is cut before the id at its end, such as " #a1b2c3".
//
// Of /clear, /new and the prompt that resumes from a document, nothing is changed but
// what is removed. Nothing left, or one of these texts above the limit, gives "".
func Sanitise(text string, limit int) string {
	limit = min(max(limit, MinBytes), MaxBytes)
	text = strings.TrimRight(strings.TrimSpace(clean(text)), ` \`)
	switch {
	case text == "":
		return ""
	case own(text) && len(text) > limit: // part of a path would name another file
		return ""
	case own(text):
		return text
	}
	text = mentions(text)
	if !strings.HasPrefix(text, Prefix) {
		text = wording.Message + text
	}
	return shorten(text, limit)
}

// Check gives ErrText for what Sanitise would change.
func Check(text string) error {
	if text == "" || Sanitise(text, MaxBytes) != text {
		return ErrText
	}
	return nil
}

// own tells the texts that need no heading, being commands or prompts of sm's making.
func own(text string) bool {
	if isCommand(text) {
		return true
	}
	path, ok := wording.ResumePath(text)
	return ok && len(path) > 1 && path[0] == '/'
}

// isCommand tells the commands that clear a context.
func isCommand(text string) bool { return text == "/clear" || text == "/new" }

// clean lets through what is printed and only that.
func clean(text string) string {
	var b strings.Builder
	base := false // a character that a variation selector can belong to came last
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		switch {
		case unicode.IsSpace(r):
			b.WriteByte(' ')
			base = false
		case r >= 0xFE00 && r <= 0xFE0F && base:
			b.WriteRune(r)
			base = false
		case printed(r):
			b.WriteRune(r) // U+FFFD for a byte that is not UTF-8
			base = true
		}
	}
	return b.String()
}

// printed is an allow-list: what Unicode calls letters, marks, numbers, punctuation and
// symbols, without those that are made to be invisible.
func printed(r rune) bool {
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// mentions takes the meaning from each @ that begins a word.
func mentions(text string) string {
	if !strings.Contains(text, "@") {
		return text
	}
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

// shorten cuts a text to limit bytes and keeps its id.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const mark = "…"
	body, id := cutID(text)
	end := limit - len(mark) - len(id)
	for end > 0 && !utf8.RuneStart(body[end]) {
		end--
	}
	return strings.TrimRight(body[:end], " ") + mark + id
}

// cutID takes the id off the end of a text: a blank, # and 4 to 16 letters or digits.
func cutID(text string) (body, id string) {
	i := strings.LastIndex(text, wording.IDMark)
	if i < 0 {
		return text, ""
	}
	digits := text[i+2:]
	if len(digits) < 4 || len(digits) > 16 || strings.Trim(digits, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return text, ""
	}
	return text[:i], text[i:]
}
