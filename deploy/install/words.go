package install

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sm/dashboards/screen/plain"
	"sm/handoff/files"
)

// shellLine quotes words for a shell and joins them.
func shellLine(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, plain.ShellQuote(word))
	}
	return strings.Join(quoted, " ")
}

// shellWords splits a simple command in the same way as a shell, with home for
// ~ and $HOME. It returns nil for a command with other special characters of a
// shell, such as a pipe.
func shellWords(command, home string) (words []string) {
	const variable = `\$HOME\b|\$\{HOME\}` // the values of other variables are unknown
	escaped := regexp.MustCompile("\\\\[\"\\\\$`]|" + variable)
	parts := []string{
		`'([^']*)'`,
		"\"((?:[^\"\\\\$`]|\\\\[^\\n]|" + variable + ")*)\"",
		`\\([^\n])`,
		`(` + variable + `)`,
		"([^ \\t\\n'\"\\\\$`|&;<>()*?\\[\\]#~{}!]+)",
	}
	next := regexp.MustCompile("^(?:" + strings.Join(parts, "|") + ")")
	for rest := strings.Trim(command, " \t\n"); rest != ""; rest = strings.TrimLeft(rest, " \t") {
		word := ""
		if rest == "~" || strings.HasPrefix(rest, "~/") || strings.HasPrefix(rest, "~ ") {
			word = home
			rest = rest[1:]
		}
		for rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			part := next.FindStringSubmatch(rest)
			if part == nil {
				return nil
			}
			rest = rest[len(part[0]):]
			quoted := escaped.ReplaceAllStringFunc(part[2]+part[4], func(s string) string {
				if s[0] == '$' {
					return home
				}
				return s[1:]
			})
			word += part[1] + quoted + part[3] + part[5]
		}
		words = append(words, word)
	}
	return words
}

// ownCommand reports whether words call sm with this subcommand, after any
// prefix, and returns the arguments. self is the path of the running sm, see
// isOwnProgram.
func ownCommand(words []string, subcommand, self string) (args []string, ok bool) {
	before := regexp.MustCompile(`(?s)^(\w+=.*|exec|command|env)$`)
	for len(words) > 0 && before.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 || words[1] != subcommand || !isOwnProgram(words[0], self) {
		return nil, false
	}
	return words[2:], true
}

// isOwnProgram reports whether a program is sm or the small program: by its
// name, or because it is the same file as self, the running sm, which may have
// another name.
func isOwnProgram(program, self string) bool {
	if isOwnName(program) {
		return true
	}
	real, err := filepath.EvalSymlinks(program)
	return err == nil && (isOwnName(real) || files.Same(real, self))
}

// isOwnName reports whether a program has the name of sm or of the small
// program. Other programs may be called sm-hook too, so one with that name must
// have an sm in its directory, be missing, or contain the path of sm's package,
// which the toolchain writes into it.
func isOwnName(program string) bool {
	name := path.Base(program)
	if name != SmallName || !filepath.IsAbs(program) {
		return name == "sm" || name == SmallName
	}
	info, missing := os.Stat(program)
	if _, err := os.Stat(filepath.Join(filepath.Dir(program), "sm")); err == nil ||
		missing != nil {
		return true
	}
	if !info.Mode().IsRegular() { // reading a pipe would block
		return false
	}
	text, err := os.ReadFile(program)
	return err == nil && bytes.Contains(text, []byte("path\tsm/cmd/sm"))
}
