package wording

import (
	"regexp"
	"strings"
)

// Calls returns the phrases with which texts ask agents to run sm.
func Calls() []string { return []string{"run sm handoff", "Call sm handoff"} }

// NameProgram returns a text in which the calls name sm by its path.
func NameProgram(text, program string) string {
	for _, call := range Calls() {
		named := strings.Replace(call, " sm ", " "+program+" ", 1)
		text = strings.ReplaceAll(text, call, named)
	}
	return text
}

// PlainProgram returns a text in which the calls name sm without its path.
func PlainProgram(text string) string {
	for _, call := range Calls() {
		verb, noun, _ := strings.Cut(call, " sm ")
		named := regexp.MustCompile(verb + " /[^ ]* " + noun)
		text = named.ReplaceAllString(text, call)
	}
	return text
}
