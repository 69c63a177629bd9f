package wording

import (
	"bytes"
	"strings"
)

const (
	// KeptBytes is how many bytes are kept of a text that reached an agent. A longer one
	// that is not of sm keeps less of its beginning, and less of its end.
	KeptBytes = 1024
	// keptEnd is how much of that is kept of the end of a longer text.
	keptEnd = 16
	// keptLines is the largest number of messages kept from below a prompt's first line,
	// keptLine the bytes kept of each.
	keptLines, keptLine = 8, 64
)

// Clip keeps the beginning and the end of a long text: at its end a message has its
// id. Of the messages that a prompt carries below its first line it keeps the same of each.
func Clip(text []byte) string {
	if len(text) <= KeptBytes {
		return string(text)
	}
	if !bytes.HasPrefix(text, []byte(resumeHead)) && !bytes.HasPrefix(text, []byte(Heading)) {
		return string(text[:KeptBytes-keptEnd]) + string(text[len(text)-keptEnd:])
	}
	s := string(text)
	line, rest, more := strings.Cut(s, "\n"+Heading)
	var b strings.Builder
	b.WriteString(bothEnds(line, KeptBytes))
	for range keptLines {
		if !more {
			break
		}
		line, rest, more = strings.Cut(rest, "\n"+Heading)
		b.WriteString("\n" + Heading + bothEnds(line, keptLine))
	}
	return b.String()
}

// bothEnds is a text of at most n bytes.
func bothEnds(s string, n int) string {
	if len(s) > n {
		return s[:n-keptEnd] + s[len(s)-keptEnd:]
	}
	return s
}
