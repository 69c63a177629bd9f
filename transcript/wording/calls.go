package wording

import "strings"

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
		parts := strings.Split(text, verb+" /")
		for i, part := range parts[1:] {
			_, after, _ := strings.Cut(part, " ")
			if strings.HasPrefix(after, noun) {
				parts[i+1] = verb + " sm " + after
			} else {
				parts[i+1] = verb + " /" + part
			}
		}
		text = strings.Join(parts, "")
	}
	return text
}
