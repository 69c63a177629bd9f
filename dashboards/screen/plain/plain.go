// Package plain makes a text fit for one line of a terminal, or for a part of one, without measuring it.
//
// Invariants: no control character is left, and no line is longer than it may be. It is pure, and so small that a program
// which starts on every turn can use it.
package plain

import (
	"strconv"
	"strings"
	"unicode"
)

// maxLine bounds what an error may print: a hostile name must not fill the terminal.
const maxLine = 2000

// Line makes a text fit for one line of a terminal: runs of space become one, what does not print is left
// out, and the middle of a very long text gives way to its end, where the advice stands.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxLine {
		half := maxLine/2 - 3
		s = strings.ToValidUTF8(s[:half], "") + " … " + strings.ToValidUTF8(s[len(s)-half:], "")
	}
	return s
}

// maxQuoted bounds a foreign text inside a message, in characters.
const maxQuoted = 60

// Quote quotes a foreign text for a message, escaped and cut.
func Quote(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}
