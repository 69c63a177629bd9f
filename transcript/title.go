package transcript

import (
	"bytes"
	"strings"

	"sm/transcript/wording"
)

// MaxTitle is the length of the longest title in characters.
const MaxTitle = 80

// maxFirstWords is how many characters of its first prompt name a session.
const maxFirstWords = 60

// TitleSource is where a session's title comes from. A larger one is better. The
// numbers are stored: never change one. 10 and 20 were those of other rules, see
// [TitleSource.Outdated].
type TitleSource uint8

// Sources of titles.
const (
	TitleNone      TitleSource = 0
	TitleBranch    TitleSource = 5  // the git branch
	TitlePrompt    TitleSource = 25 // the first words of the first prompt
	TitleSummary   TitleSource = 30 // a summary of the conversation, by the client
	TitleGenerated TitleSource = 40 // a title that the client made up
	TitleStatus    TitleSource = 50 // the name that the status line reports
	TitleCustom    TitleSource = 60 // a title that the user gave
)

// Outdated reports whether a stored title was made by the rules of earlier versions, by which
// the branch was better than the first prompt: its file must be read again.
func (s TitleSource) Outdated() bool { return s == 10 || s == 20 }

// Title is what people call a session: one line of at most [MaxTitle] characters that
// can be shown anywhere. It is text of a transcript: for metrics and logs it is not.
type Title struct {
	Text   string
	Source TitleSource
}

// titleBytes bounds what becomes a title of a text.
const titleBytes = 1024

// NewTitle makes a title of any text. There is none of a text that shows nothing, and of a
// branch that many sessions share.
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

// PromptTitle makes a title of the words that a person wrote: there is none of a text of sm.
// What clients put before the words is left out: the context of the project or the editor, and
// elements such as <system-reminder>, whose names contain a dash or an underscore.
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

// Or is the better of two titles, the first where they are equally good.
func (t Title) Or(u Title) Title {
	if u.Source > t.Source {
		return u
	}
	return t
}

// titleText is the beginning of a text on one line: blanks become one space, what shows
// nothing or changes the order of what is shown is left out, and so is what is not UTF-8.
// One that is too long ends with its last whole word, unless that takes more than half of it,
// and an ellipsis.
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
