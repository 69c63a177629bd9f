package metrics

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestValue bounds a label's value that comes from a transcript, in bytes; real values have about 30.
const longestValue = 128

// tame makes a label's value of what a transcript says. Transcripts hold untrusted text, and a server drops a whole
// scrape for one byte that is not UTF-8. Control characters, which a terminal would obey, are replaced too.
func tame(s string) string {
	if len(s) <= longestValue && plain(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s[:min(len(s), 2*longestValue)])
	if len(s) <= longestValue {
		return s
	}
	const more = "…"
	end := longestValue - len(more)
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + more
}

func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
