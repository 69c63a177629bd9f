// Package wording has the texts that sm writes to agents and later finds in
// transcripts, and the functions that recognize them.
//
// Each text is recognized by the counterpart of the function that writes it,
// and is spelled only here. Existing transcripts keep the old texts after a
// change.
package wording

import (
	"bytes"
	"strings"
)

// Heading begins all texts of sm to agents, so that the client never takes one
// for a command: a leading ! would run a shell. The others are the headings of
// one kind each.
const (
	Heading = "[sm "
	Message = Heading + "message] "
	Context = Heading + "context] "
	Handoff = Heading + "handoff] "
	Remind  = Heading + "remind] "
	Guard   = Heading + "guard] "
)

// IDMark precedes the id at the end of a message.
const IDMark = " #"

const (
	documentHeading = "=== HANDOFF LOADED (ID: "
	resumeHead      = "Read "
	resumeTail      = " and continue from where you left off."
)

// DocumentLine returns the first line of a document with which a session
// begins.
func DocumentLine(id string) string { return documentHeading + id + ") ===" }

// IsDocument reports whether a text begins like a handoff document.
func IsDocument(text string) bool { return strings.HasPrefix(text, documentHeading) }

// DocumentID returns the id in the first line of a handoff document.
func DocumentID(text string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(text, documentHeading)
	id, _, whole := strings.Cut(rest, ")")
	return id, ok && whole
}

// Resume returns the prompt with which a session continues after a handoff.
func Resume(path string) string { return resumeHead + path + resumeTail }

// ResumePath returns the path in a prompt made by [Resume].
func ResumePath(prompt string) (path string, ok bool) {
	path, ok = strings.CutPrefix(prompt, resumeHead)
	path, whole := strings.CutSuffix(path, resumeTail)
	return path, ok && whole
}

// MayResume reports whether a text begins like a prompt of [Resume], or like
// one of the configuration.
func MayResume(text string) bool { return strings.HasPrefix(text, resumeHead) }

// IsOurs reports whether s is a text of sm itself: it begins with a heading, or
// it is a document, or the prompt that resumes after a handoff, which may carry
// messages below its first line.
func IsOurs(s []byte) bool {
	if bytes.HasPrefix(s, []byte(Heading)) || bytes.HasPrefix(s, []byte(documentHeading)) {
		return true
	}
	line, _, _ := bytes.Cut(s, []byte("\n"+Heading))
	return bytes.HasPrefix(s, []byte(resumeHead)) &&
		bytes.HasSuffix(bytes.TrimRight(line, "\r\n "), []byte(resumeTail))
}
