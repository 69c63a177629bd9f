package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// wordLetters are the letters of names of variables.
const wordLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

// maxProgram limits how much of a program is searched for its origin.
const maxProgram = 64 << 20

// ShellQuote quotes a word for a shell.
func ShellQuote(word string) string {
	if word != "" && strings.Trim(word, wordLetters+"@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellLine returns words as a command line.
func shellLine(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, ShellQuote(word))
	}
	return strings.Join(quoted, " ")
}

// shellWords splits a simple command as a shell would, with home for ~ and $HOME. It
// returns nil for a command with anything else that is special to a shell, such as a
// pipe.
func shellWords(command, home string) (words []string) {
	const variable = `\$HOME\b|\$\{HOME\}` // the values of others are unknown
	escaped := regexp.MustCompile("\\\\[\"\\\\$`]|" + variable)
	parts := []string{
		`'([^']*)'`,
		"\"((?:[^\"\\\\$`]|\\\\[^\\n]|" + variable + ")*)\"",
		`\\([^\n])`,
		`(` + variable + `)`,
		"([^ \\t\\n'\"\\\\$`|&;<>()*?\\[\\]#~{}!]+)",
	}
	next := regexp.MustCompile("^(?:" + strings.Join(parts, "|") + ")")
	for rest := strings.Trim(
		command,
		" \t\n",
	); rest != ""; rest = strings.TrimLeft(
		rest,
		" \t",
	) {
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
			quoted := escaped.ReplaceAllStringFunc(part[2], func(s string) string {
				if s[0] == '$' {
					return home
				}
				return s[1:]
			})
			if part[4] != "" {
				word += home
			}
			word += part[1] + quoted + part[3] + part[5]
		}
		words = append(words, word)
	}
	return words
}

// ownCommand reports whether words call sm with this subcommand, after whatever prefix,
// and returns the arguments. self is the running sm, see isOwnProgram.
func ownCommand(words []string, subcommand, self string) (args []string, ok bool) {
	for len(words) > 0 {
		name, _, assignment := strings.Cut(words[0], "=")
		variable := assignment && name != "" && strings.Trim(name, wordLetters) == ""
		if !variable && !slices.Contains([]string{"exec", "command", "env"}, words[0]) {
			break
		}
		words = words[1:]
	}
	if len(words) < 2 || words[1] != subcommand || !isOwnProgram(words[0], self) {
		return nil, false
	}
	return words[2:], true
}

// isOwnProgram reports whether a program is sm or its small program: by its name, or as
// the same file as self, the running sm, which may have another name.
func isOwnProgram(program, self string) bool {
	if isOwnName(program, self) {
		return true
	}
	real, err := filepath.EvalSymlinks(program)
	return err == nil && (isOwnName(real, self) || sameFile(real, self))
}

// isOwnName reports whether a program has a name of ours. Other programs may be called
// sm-hook, too: ours is beside an sm, was built from sm's sources, or does not exist
// any more.
func isOwnName(program, self string) bool {
	switch path.Base(program) {
	case "sm":
		return true
	case SmallName:
		dir := filepath.Dir(program)
		return !filepath.IsAbs(program) || dir == filepath.Dir(self) || !exists(program) ||
			exists(filepath.Join(dir, "sm")) || builtFromSources(program)
	}
	return false
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

// builtFromSources reports whether a program is a command of sm: the toolchain writes
// the path of its package into it. Package debug/buildinfo would make sm larger by
// half a megabyte.
func builtFromSources(program string) bool {
	if info, err := os.Stat(program); err != nil ||
		!info.Mode().IsRegular() { // not a pipe, which would wait
		return false
	}
	text, err := readHead(program, maxProgram)
	return err == nil && bytes.Contains(text, []byte("path\tsm/cmd/sm"))
}
