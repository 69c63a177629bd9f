package wording

import (
	"bytes"
	"strings"
)

const (
	// KeptBytes limits the stored part of a text that reached an agent, in
	// bytes. Messages below the first line of a long prompt of sm are stored in
	// addition.
	KeptBytes = 1024
	// keptEnd is the length of the part kept from the end of a longer text.
	keptEnd = 16
	// keptLines is the maximum number of messages kept from below a prompt's
	// first line, keptLine the number of bytes kept of each.
	keptLines, keptLine = 8, 64
)

// Clip keeps the beginning and the end of a long text: the end of a message has
// its id. It does the same with each message that a prompt carries below its
// first line.
func Clip(text []byte) string {
	if len(text) <= KeptBytes {
		return string(text)
	}
	if !bytes.HasPrefix(text, []byte(resumeHead)) && !bytes.HasPrefix(text, []byte(Heading)) {
		return string(text[:KeptBytes-keptEnd]) + string(text[len(text)-keptEnd:])
	}
	lines := strings.Split(string(text), "\n"+Heading)
	kept := bothEnds(lines[0], KeptBytes)
	for _, line := range lines[1:min(len(lines), 1+keptLines)] {
		kept += "\n" + Heading + bothEnds(line, keptLine)
	}
	return kept
}

// bothEnds shortens s to at most n bytes.
func bothEnds(s string, n int) string {
	if len(s) > n {
		return s[:n-keptEnd] + s[len(s)-keptEnd:]
	}
	return s
}
