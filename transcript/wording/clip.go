package wording

import (
	"bytes"
	"strings"
)

const (
	// HeardBytes is how many bytes are kept of a text that reached an agent. A longer one
	// that is not of sm keeps less of its beginning, and less of its end.
	HeardBytes = 1024
	// heardEnd is how much of that is kept of the end of a longer text.
	heardEnd = 16
	// heardLines is the largest number of messages kept from below a prompt's first line,
	// heardLine the bytes kept of each.
	heardLines, heardLine = 8, 64
)

// Clip keeps the beginning and the end of a long text: at its end a message has its
// id. Of the messages that a prompt carries below its first line it keeps the same of each.
func Clip(text []byte) string {
	if len(text) <= HeardBytes {
		return string(text)
	}
	if !bytes.HasPrefix(text, []byte(resumeHead)) && !bytes.HasPrefix(text, []byte(Heading)) {
		return string(text[:HeardBytes-heardEnd]) + string(text[len(text)-heardEnd:])
	}
	s := string(text)
	line, rest, more := strings.Cut(s, "\n"+Heading)
	var b strings.Builder
	b.WriteString(bothEnds(line, HeardBytes))
	for range heardLines {
		if !more {
			break
		}
		line, rest, more = strings.Cut(rest, "\n"+Heading)
		b.WriteString("\n" + Heading + bothEnds(line, heardLine))
	}
	return b.String()
}

// bothEnds is a text of at most n bytes.
func bothEnds(s string, n int) string {
	if len(s) > n {
		return s[:n-heardEnd] + s[len(s)-heardEnd:]
	}
	return s
}
