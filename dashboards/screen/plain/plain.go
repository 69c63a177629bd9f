// Package plain makes a text fit for one line of a terminal, or a part of one,
// without measuring its width, and quotes words for a shell.
//
// Its functions are pure, and it is small enough for programs that start on every
// turn.
package plain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLine limits the line for a text, such as a hostile name in an error, in
// bytes.
const maxLine = 2000

// Line makes a text fit for one line of a terminal: runs of white space become
// one space, unprintable characters become "?", and a very long text loses its
// middle, as errors end with the remedy.
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

// maxQuoted limits a quoted text, in characters.
const maxQuoted = 60

// Quote quotes a text from elsewhere for a message, escaped and cut.
func Quote(s string) string {
	if r := []rune(s); len(r) > maxQuoted {
		s = string(r[:maxQuoted]) + "…"
	}
	return strconv.Quote(s)
}

// maxVisible limits the result of Visible, in characters.
const maxVisible = 200

// Visible makes a text from elsewhere fit to be shown: a long text is cut, and
// characters that are invisible, or that change the direction of text, are
// replaced by a visible one.
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

// wordLetters are the characters that have no special meaning in shells, except
// for a = at the beginning of a word in zsh.
const wordLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-"

// ShellQuote quotes a word for a shell.
func ShellQuote(word string) string {
	if word != "" && word[0] != '=' && strings.Trim(word, wordLetters) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
