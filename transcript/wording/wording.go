// Package wording has the texts that sm writes to agents and later finds in
// transcripts, and the functions that recognize them.
//
// A text that a function here writes is recognized by its counterpart, and is
// spelled only here. After a change, existing transcripts still have the old texts.
package wording

import (
	"bytes"
	"strings"
)

// Heading begins all texts of sm to agents, so that no text is taken for a command of
// the client: a leading ! would run a shell. The others are headings of one kind each.
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

// DocumentLine is the first line of a document that a session begins with.
func DocumentLine(id string) string { return documentHeading + id + ") ===" }

// IsDocument reports whether a text begins like a handoff document.
func IsDocument(text string) bool { return strings.HasPrefix(text, documentHeading) }

// DocumentID is the id in the first line of a handoff document.
func DocumentID(text string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(text, documentHeading)
	id, _, whole := strings.Cut(rest, ")")
	return id, ok && whole
}

// Resume is the prompt with which a session goes on after a handoff.
func Resume(path string) string { return resumeHead + path + resumeTail }

// ResumePath is the path in a prompt that [Resume] has made.
func ResumePath(prompt string) (path string, ok bool) {
	path, ok = strings.CutPrefix(prompt, resumeHead)
	path, whole := strings.CutSuffix(path, resumeTail)
	return path, ok && whole
}

// MayResume reports whether a text begins like a prompt of [Resume], or of the
// configuration.
func MayResume(text string) bool { return strings.HasPrefix(text, resumeHead) }

// IsOurs reports whether s is a text that sm itself sends: its heading, a document, and the
// prompt that resumes after a handoff, which may carry messages below its first line.
func IsOurs(s []byte) bool {
	if bytes.HasPrefix(s, []byte(Heading)) || bytes.HasPrefix(s, []byte(documentHeading)) {
		return true
	}
	line, _, _ := bytes.Cut(s, []byte("\n"+Heading))
	return bytes.HasPrefix(s, []byte(resumeHead)) &&
		bytes.HasSuffix(bytes.TrimRight(line, "\r\n "), []byte(resumeTail))
}
