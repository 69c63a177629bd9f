package wording

import (
	"fmt"
	"strings"
	"unicode"
)

// Printable reports whether a character is a space or a visible letter, mark, number,
// punctuation or symbol.
func Printable(r rune) bool {
	return unicode.IsPrint(r) &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// OneLine returns a text as one line: each blank becomes a space, and
// characters for which shows is false are left out. A byte that is not UTF-8
// becomes U+FFFD.
func OneLine(text string, shows func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case shows(r):
			return r
		}
		return -1
	}, text)
}

// Reduce replaces all characters except letters, digits and the given others by
// underscores.
func Reduce(text, others string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(others, r) {
			return r
		}
		return '_'
	}, text)
}

// Thousands formats a count with commas between groups of three digits.
func Thousands(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
