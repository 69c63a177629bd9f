// Package wording holds the texts that sm writes to agents and later finds in transcripts:
// what begins them, what ends them, and how they are read again.
//
// Invariants: what a function here writes, its counterpart reads; each text is spelled
// here alone. A change is a change of what is known again: transcripts that exist hold the
// old texts.
//
// It does not send or decide anything, and holds no text that nobody looks for.
package wording

import (
	"bytes"
	"strings"
)

// Heading begins whatever an agent reads of sm, so that no text is taken for a command of
// the client: a leading ! would run a shell. The others are headings of one kind each.
const (
	Heading = "[sm "
	Message = Heading + "message] "
	Context = Heading + "context] "
	Handoff = Heading + "handoff] "
	Remind  = Heading + "remind] "
	Guard   = Heading + "guard] "
)

// IDMark stands before the id at the end of a message.
const IDMark = " #"

const (
	documentHeading = "=== HANDOFF LOADED (ID: "
	resumeHead      = "Read "
	resumeTail      = " and continue from where you left off."
)

// DocumentLine is the first line of a document that a session begins with.
func DocumentLine(id string) string { return documentHeading + id + ") ===" }

// IsDocument says whether a text begins like a handoff document.
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

// MayResume says whether a text begins like a prompt that [Resume] makes, or as one that a user has
// configured may.
func MayResume(text string) bool { return strings.HasPrefix(text, resumeHead) }

// MayBeOurs says whether a text begins like one that IsOurs knows, or that Clip keeps more of than of others.
func MayBeOurs(s []byte) bool {
	return bytes.HasPrefix(s, []byte(Heading)) || bytes.HasPrefix(s, []byte(documentHeading)) || bytes.HasPrefix(s, []byte(resumeHead))
}

// IsOurs knows the texts that sm itself sends: its heading, a document, and the prompt that
// resumes after a handoff, which may carry messages below its first line.
func IsOurs(s []byte) bool {
	if bytes.HasPrefix(s, []byte(Heading)) || bytes.HasPrefix(s, []byte(documentHeading)) {
		return true
	}
	line, _, _ := bytes.Cut(s, []byte("\n"+Heading))
	return bytes.HasPrefix(s, []byte(resumeHead)) && bytes.HasSuffix(bytes.TrimRight(line, "\r\n "), []byte(resumeTail))
}
