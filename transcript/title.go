package transcript

import (
	"bytes"
	"strings"

	"sm/transcript/wording"
)

// MaxTitle is the maximum length of a title in characters.
const MaxTitle = 80

// maxFirstWords is the maximum length in characters of a title from a first
// prompt.
const maxFirstWords = 60

// TitleSource is the source of a session's title. A larger value is a better
// source. The values are stored: never change one. 10 and 20 were the values of
// other rules, see [TitleSource.Outdated].
type TitleSource uint8

// Sources of titles.
const (
	TitleNone      TitleSource = 0
	TitleBranch    TitleSource = 5  // the git branch
	TitlePrompt    TitleSource = 25 // the first words of the first prompt
	TitleSummary   TitleSource = 30 // a summary of the conversation, by the client
	TitleGenerated TitleSource = 40 // a title that the client generated
	TitleStatus    TitleSource = 50 // the name that the status line reports
	TitleCustom    TitleSource = 60 // a title set by the user
)

// Outdated reports whether a stored title was made by the rules of earlier
// versions, which preferred the branch to the first prompt: its file must be
// read again.
func (s TitleSource) Outdated() bool { return s == 10 || s == 20 }

// Title is the title of a session: one line of at most [MaxTitle] characters
// that can be shown anywhere. It is text from a transcript, so it must not be
// in metrics and logs.
type Title struct {
	Text   string
	Source TitleSource
}

// titleBytes limits the part of a text from which a title is made.
const titleBytes = 1024

// NewTitle returns a title made of any text. It is empty for a text without
// visible characters, and for a branch that many sessions share.
func NewTitle(text string, source TitleSource) Title {
	most := MaxTitle
	switch source {
	case TitlePrompt:
		most = maxFirstWords
	case TitleBranch:
		switch text {
		case "main", "master", "HEAD": // HEAD is written where no branch is checked out
			return Title{}
		}
	}
	if text = titleText(text[:min(len(text), titleBytes)], most); text == "" {
		return Title{}
	}
	return Title{text, source}
}

// PromptTitle returns a title made of the words that a person wrote. It is
// empty for a text of sm. Text that clients put before the words is left out:
// the context of the project or the editor, and elements such as
// <system-reminder>, whose names contain a dash or an underscore.
func PromptTitle(prompt []byte) Title {
	for {
		prompt = bytes.TrimSpace(prompt)
		begin := string(prompt[:min(len(prompt), titleBytes)])
		end := ""
		name, isElement := strings.CutPrefix(begin, "<")
		switch name = name[:max(0, strings.IndexAny(name, " >"))]; {
		case isElement && strings.ContainsAny(name, "-_"):
			end = "</" + name + ">"
		case strings.HasPrefix(begin, "# AGENTS.md instructions"):
			end = "</INSTRUCTIONS>"
		case strings.HasPrefix(begin, "# Context from my IDE setup:"):
			end = "## My request for Codex:"
		}
		_, rest, found := bytes.Cut(prompt, []byte(end))
		switch {
		case end != "" && found:
			prompt = rest
		case wording.IsOurs(prompt):
			return Title{}
		default:
			return NewTitle(begin, TitlePrompt)
		}
	}
}

// Or returns the better of two titles, t if they are equally good.
func (t Title) Or(u Title) Title {
	if u.Source > t.Source {
		return u
	}
	return t
}

// titleText returns the beginning of a text on one line. Blanks become one
// space; characters that are invisible, that change the displayed order or that
// are not UTF-8 are left out. A text that is too long ends with an ellipsis
// after its last complete word, unless that word takes more than half of the
// text.
func titleText(s string, most int) string {
	s = strings.ReplaceAll(wording.OneLine(s, wording.Printable), "\ufffd", "")
	s = strings.Join(strings.Fields(s), " ")
	all := []rune(s)
	if len(all) <= most {
		return s
	}
	s = string(all[:most])
	word := strings.LastIndexByte(s, ' ')
	if word <= len(s)/2 {
		s = string(all[:most-1])
		word = len(s)
	}
	return s[:word] + "…"
}
