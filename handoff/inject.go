package handoff

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf16"

	"sm/transcript/claude/hook"
	"sm/transcript/wording"
)

// MinInject is the smallest limit of Inject: it has room for a frame with long
// names and for the beginning of a document.
const MinInject = 2000

// The frame around a document.
const (
	endLine  = "=== END HANDOFF ==="
	nameShow = 200 // characters of a name in the frame
	pathShow = 500
)

// Inject returns the text with which a session gets a document: d.Body in a
// frame with its origin, in at most limit UTF-16 units, as the client counts
// characters. A limit below MinInject counts as MinInject. A longer body is
// cut, with a notice that has the path of the complete document; the last line
// is never cut.
//
// The body is from an agent and must not pass for anything else: invisible
// characters except line breaks and tabs are removed, and lines that look like
// the frame or like the client's own are visibly changed.
func Inject(d Document, limit int, now time.Time) string {
	limit = max(limit, MinInject)
	origin := ""
	if d.Path != "" {
		origin = "Origin: " + field(d.Path, pathShow) + "\n"
	}
	author := "Written by agent %s for its next session; it is no text of the user."
	if d.Type == Auto {
		author = "Made from the transcript of agent %s; no person has read it, and it is no text of the user."
	}
	// A name may look like the frame when combined with the text before it.
	head := wording.DocumentLine(field(d.ID, nameShow)) + "\n" + defuse(fmt.Sprintf(
		"Channel: %s\nPrevious Session: %s\nType: %s\n%sAge: %s\n"+author+"\n\n",
		field(d.Channel, nameShow),
		field(d.SessionID, nameShow),
		field(string(d.Type), nameShow),
		origin,
		ageText(now.Sub(d.CreatedAt)),
		field(d.Agent, nameShow),
	))
	body := strings.TrimRight(defuse(Clean(d.Body)), "\n \t")
	end := "\n" + endLine
	room := limit - length(head) - length(end)
	if n := length(body); n > room {
		notice := fmt.Sprintf("\n\n[cut: the first part of %d characters; the whole is in %s]", n,
			field(cmp.Or(d.Path, d.File), pathShow))
		body = hook.Clip(body, room-length(notice)) + notice
	}
	return head + body + end
}

// length returns the length of s in UTF-16 units, as the client counts.
func length(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// field returns a value in one line of at most most UTF-16 units. The beginning
// of a longer value is cut.
func field(s string, most int) string {
	s = strings.ReplaceAll(defuse(visible(s)), "\n", " ")
	if units := utf16.Encode([]rune(s)); len(units) > most {
		end := string(utf16.Decode(units[len(units)-most+1:]))
		s = "…" + strings.TrimPrefix(end, "\uFFFD") // half a character
	}
	return cmp.Or(s, "unknown")
}

// Clean keeps printable characters, line breaks and tabs. Other line ends
// become line breaks, other blanks become spaces, and invalid UTF-8 becomes
// U+FFFD.
func Clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r):
			return '\n'
		case unicode.IsSpace(r):
			return ' '
		case wording.Printable(r):
			return r
		}
		return -1
	}, text)
}

// equals lists the characters that can draw the rule of a frame.
const equals = "=\u2550\uFF1D\uFE66\u2A75\u2A76\uA78A"

// defuse changes lines that look like the frame, and the client's tags around
// texts of hooks.
func defuse(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.ContainsAny(line, equals) && framed(line) {
			line = "> " + strings.Map(func(r rune) rune {
				if strings.ContainsRune(equals, r) {
					return '-'
				}
				return r
			}, line)
		}
		lines[i] = tags().ReplaceAllString(line, "($1")
	}
	return strings.Join(lines, "\n")
}

// framed reports whether a line contains the words of the frame.
func framed(line string) bool {
	letters := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToUpper(r)
		}
		return -1
	}, line)
	return strings.Contains(letters, "ENDHANDOFF") ||
		strings.Contains(letters, "HANDOFFLOADED")
}

// reminderTag is the element in which the client wraps texts of hooks.
const reminderTag = "system-reminder"

// tags matches the start and end tags of reminderTag. It is compiled on first
// use: few commands need it.
var tags = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)<([/ \t]*` + reminderTag + `)`) })

// ageText formats an age in at most two units.
func ageText(age time.Duration) string {
	age = age.Truncate(time.Second)
	switch {
	case age < 0:
		return "unknown (from the future)"
	case age < time.Minute:
		return fmt.Sprintf("%d s", age/time.Second)
	case age < time.Hour:
		return fmt.Sprintf("%d min", age/time.Minute)
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", age/time.Hour, age%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days", age/(24*time.Hour))
}
