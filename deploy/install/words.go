package install

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// wordLetters are what names of variables are made of.
const wordLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

// ShellQuote writes a word so that a shell reads it as it is.
func ShellQuote(word string) string {
	if word != "" && strings.Trim(word, wordLetters+"@%+=:,./-") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// shellWords takes a simple command apart as a shell would, expanding ~ and $HOME to home. Anything else that a
// shell gives a meaning to, such as a pipe, is more than a simple command: then ok is false.
func shellWords(command, home string) (words []string, ok bool) {
	s := &wordScanner{rest: strings.Trim(command, " \t\n"), home: home}
	for s.rest != "" {
		word, ok := s.word()
		if !ok {
			return nil, false
		}
		words = append(words, word)
		s.rest = strings.TrimLeft(s.rest, " \t")
	}
	return words, true
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
		escaped := c == '\\' && len(s.rest) > 1 && (strings.IndexByte("\"\\$`", s.rest[1]) >= 0 || !quoted && s.rest[1] != '\n')
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
		case c == '`' || strings.HasPrefix(s.rest, "\\\n") || !quoted && strings.IndexByte("|&;<>()\n*?[]#~{}!\\", c) >= 0:
			return "", false
		default:
			b.WriteByte(c)
			s.rest = s.rest[1:]
		}
	}
	return b.String(), !quoted
}

// variable knows one: what is in others, only the shell of the client knows.
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

// ownCommand says whether words call sm with this subcommand, whatever stands before it, and gives the arguments.
// isOwn tells an sm from other programs.
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

// isOwnProgram says whether a program is sm, or the small one beside it: by its name, or by being the same file as this one,
// which may have been given another name.
func isOwnProgram(program string, same func(path string) bool) bool {
	if isOwnName(program) {
		return true
	}
	real, err := filepath.EvalSymlinks(program)
	return err == nil && (isOwnName(real) || same(real))
}

func isOwnName(program string) bool {
	return path.Base(program) == "sm" || path.Base(program) == SmallName
}
