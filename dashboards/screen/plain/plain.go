// Package plain makes a text fit for one line of a terminal, or for a part of
// one, without measuring it, and for a command line.
//
// It is pure, and small enough for programs that start on every turn.
package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine limits what an error prints of a hostile name, in bytes.
const maxLine = 2000

// Line makes a text fit for one line of a terminal: runs of space become one,
// what does not print becomes "?", and a very long text loses its middle, as
// advice is at the end.
func Line(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
	if len(s) > maxLine {
		half := maxLine/2 - 3
		s = strings.ToValidUTF8(s[:half], "") + " … " + strings.ToValidUTF8(s[len(s)-half:], "")
	}
	return s
}

// maxQuoted limits a foreign text in a message, in characters.
const maxQuoted = 60

// Quote quotes a foreign text for a message, escaped and cut.
func Quote(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}

// maxVisible limits what is shown of a foreign text, in characters.
const maxVisible = 200

// Visible makes a foreign text fit to be shown: a long one is cut, and characters that
// cannot be seen, or that turn the direction of those around them, become visible ones.
func Visible(s string) string {
	if utf8.RuneCountInString(s) > maxVisible {
		s = string([]rune(s)[:maxVisible]) + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// wordLetters are the characters that shells take for themselves, but for a = at the
// beginning in zsh.
const wordLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// ShellQuote quotes a word for a shell.
func ShellQuote(word string) string {
	if word != "" && word[0] != '=' && strings.Trim(word, wordLetters) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
