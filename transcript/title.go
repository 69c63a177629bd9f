package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sm/transcript/wording"
)

// MaxTitle is the length of the longest title in characters.
const MaxTitle = 80

// maxFirstWords is how many characters of its first prompt name a session.
const maxFirstWords = 60

// TitleSource is where a session's title comes from. A larger one is better. The
// numbers are stored: never change one.
type TitleSource uint8

// Sources of titles.
const (
	TitleNone      TitleSource = 0
	TitlePrompt    TitleSource = 10 // the first words of the first prompt
	TitleBranch    TitleSource = 20 // the git branch
	TitleSummary   TitleSource = 30 // a summary of the conversation, by the client
	TitleGenerated TitleSource = 40 // a title that the client made up
	TitleStatus    TitleSource = 50 // the name that the status line reports
	TitleCustom    TitleSource = 60 // a title that the user gave
)

// Title is what people call a session: one line of at most [MaxTitle] characters that
// can be shown anywhere. It is text of a transcript: for metrics and logs it is not.
type Title struct {
	Text   string
	Source TitleSource
}

// titleBytes bounds what is looked at of a text.
const titleBytes = 1024

// TitleOf makes a title of a text that may be long.
func TitleOf(text []byte, source TitleSource) Title {
	return NewTitle(string(text[:min(len(text), titleBytes)]), source)
}

// NewTitle makes a title of any text; of a text that shows nothing there is none.
func NewTitle(text string, source TitleSource) Title {
	most := MaxTitle
	if source == TitlePrompt {
		most = maxFirstWords
	}
	if text = titleText(text, most); text == "" {
		return Title{}
	}
	return Title{text, source}
}

// Or is the better of two titles, the first where they are equally good.
func (t Title) Or(u Title) Title {
	if u.Source > t.Source {
		return u
	}
	return t
}

// titleText is the beginning of a text on one line: blanks become one space, what shows
// nothing or changes the order of what is shown is left out, and so is what is not UTF-8.
// One that is too long ends with its last whole word and an ellipsis.
func titleText(s string, most int) string {
	const more = "…"
	var b strings.Builder
	blank := false
	n := 0
	word := 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = n > 0
			continue
		}
		if !wording.Printable(r) || r == utf8.RuneError {
			continue
		}
		if blank && n+1 < most {
			word = b.Len()
			b.WriteByte(' ')
			n++
		} else if blank && n < most {
			return b.String() + more
		}
		if blank = false; n >= most {
			return shortened(b.String(), word) + more
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// shortened makes room for one character: it ends a text at its last word, unless that
// would take more than half of it.
func shortened(s string, word int) string {
	if word > len(s)/2 {
		return s[:word]
	}
	_, size := utf8.DecodeLastRuneInString(s)
	return strings.TrimRight(s[:len(s)-size], " ")
}
