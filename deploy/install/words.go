package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	s := &wordScanner{rest: strings.Trim(command, " \t\n"), home: home}
	for s.rest != "" {
		word, ok := s.word()
		if !ok {
			return nil
		}
		words = append(words, word)
		s.rest = strings.TrimLeft(s.rest, " \t")
	}
	return words
}

type wordScanner struct{ rest, home string }

func (s *wordScanner) word() (word string, ok bool) {
	var b strings.Builder
	if s.rest == "~" || strings.HasPrefix(s.rest, "~/") || strings.HasPrefix(s.rest, "~ ") {
		b.WriteString(s.home)
		s.rest = s.rest[1:]
	}
	quoted := false // by double quotes
	for s.rest != "" {
		c := s.rest[0]
		escaped := c == '\\' && len(s.rest) > 1 &&
			(strings.IndexByte("\"\\$`", s.rest[1]) >= 0 || !quoted && s.rest[1] != '\n')
		switch {
		case !quoted && (c == ' ' || c == '\t'):
			return b.String(), true
		case !quoted && c == '\'':
			text, rest, closed := strings.Cut(s.rest[1:], "'")
			if !closed {
				return "", false
			}
			b.WriteString(text)
			s.rest = rest
		case c == '"':
			quoted = !quoted
			s.rest = s.rest[1:]
		case escaped:
			b.WriteByte(s.rest[1])
			s.rest = s.rest[2:]
		case c == '$':
			if !s.variable(&b) {
				return "", false
			}
		case c == '`' || strings.HasPrefix(s.rest, "\\\n") ||
			!quoted && strings.IndexByte("|&;<>()\n*?[]#~{}!\\", c) >= 0:
			return "", false
		default:
			b.WriteByte(c)
			s.rest = s.rest[1:]
		}
	}
	return b.String(), !quoted
}

// variable expands HOME. The values of others are unknown.
func (s *wordScanner) variable(b *strings.Builder) bool {
	for _, name := range []string{"$HOME", "${HOME}"} {
		rest, ok := strings.CutPrefix(s.rest, name)
		if ok && (name == "${HOME}" || rest == "" || strings.IndexByte(" \t/\"'", rest[0]) >= 0) {
			b.WriteString(s.home)
			s.rest = rest
			return true
		}
	}
	return false
}

// ownCommand reports whether words call sm with this subcommand, after whatever prefix,
// and returns the arguments. isOwn recognizes sm.
func ownCommand(words []string, subcommand string, isOwn func(program string) bool) (args []string, ok bool) {
	for len(words) > 0 {
		name, _, assignment := strings.Cut(words[0], "=")
		if !slices.Contains([]string{"exec", "command", "env"}, words[0]) && !(assignment && isVariable(name)) {
			break
		}
		words = words[1:]
	}
	if len(words) < 2 || words[1] != subcommand || !isOwn(words[0]) {
		return nil, false
	}
	return words[2:], true
}

func isVariable(name string) bool { return name != "" && strings.Trim(name, wordLetters) == "" }

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
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := readHead(program, maxProgram)
	return err == nil && bytes.Contains(text, []byte("path\tsm/cmd/sm"))
}
