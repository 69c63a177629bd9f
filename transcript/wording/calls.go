package wording

import "strings"

// Calls are how texts for agents ask them to run sm.
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
		text = plainProgram(text, verb+" ", " "+noun)
	}
	return text
}

// plainProgram replaces each path between before and after.
func plainProgram(text, before, after string) string {
	var b strings.Builder
	for {
		i := strings.Index(text, before+"/")
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		i += len(before)
		b.WriteString(text[:i])
		text = text[i:]

		end := strings.IndexByte(text, ' ')
		if end >= 0 && strings.HasPrefix(text[end:], after) {
			b.WriteString("sm")
			text = text[end:]
		}
	}
}
