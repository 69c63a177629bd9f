package wording

import "unicode"

// Printable reports whether a character is a space or a visible letter, mark, number,
// punctuation or symbol.
func Printable(r rune) bool {
	return unicode.IsPrint(r) &&
		!unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}
