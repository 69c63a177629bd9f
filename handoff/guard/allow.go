package guard

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sm/handoff/files"
	"sm/transcript/claude/hook"
)

// Exempt reports whether a full session may make a tool call. It may use its
// document in the folder dir, a single plain sm command, and the skill that
// hands over.
func (g *Guard) Exempt(dir string, p *hook.Payload) bool {
	var input struct {
		Command string `json:"command"`
		Skill   string `json:"skill"`
		File    string `json:"file_path"`
	}
	_, _ = files.Decode(p.ToolInput, &input) // members of other types stay empty
	switch p.ToolName {
	case "Bash":
		return g.plainCommand(input.Command, p.CWD)
	case "Skill":
		return sessionSkill(cmp.Or(input.Skill, input.Command))
	case "SlashCommand":
		return sessionSkill(input.Command)
	}
	return slices.Contains(g.Allow, p.ToolName) && isDocument(input.File, p.CWD, dir)
}

// sessionSkill reports whether a skill is sm's, called by its own name or as
// part of the plugin.
func sessionSkill(call string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(call), " ")
	name = strings.TrimPrefix(name, "/")
	return name == "session" || name == "sm:session"
}

// isDocument reports whether path is the document in dir. Symbolic and hard
// links are refused, because another file would be written through them.
func isDocument(path, cwd, dir string) bool {
	if slices.Contains(strings.Split(path, "/"), "..") {
		return false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cwd, path)
	}
	if path = filepath.Clean(path); !filepath.IsAbs(path) ||
		filepath.Base(path) != DocumentFile {
		return false
	}
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() || info.Sys().(*syscall.Stat_t).Nlink != 1 {
			return false
		}
	}
	return files.Same(filepath.Dir(path), dir)
}

// plainCommand reports whether a shell would run sm for this command and do
// nothing else.
func (g *Guard) plainCommand(command, cwd string) bool {
	words, ok := plainWords(command)
	if !ok || len(words) < 2 {
		return false
	}
	// None of these commands runs other programs, changes settings or runs for
	// ever.
	harmless := []string{
		"session", "handoff", "handoffs", "documents", "status", "send", "messages", "remind",
		"reminders", "register", "version", "help",
	}
	if !slices.Contains(harmless, words[1]) {
		return false
	}
	// With this flag a person may release a full session.
	forces := func(word string) bool { return strings.HasPrefix(word, "--force") }
	if words[1] == "session" && slices.ContainsFunc(words, forces) {
		return false
	}
	program := words[0]
	if program == "sm" {
		return true
	}
	if !strings.Contains(program, "/") ||
		strings.ContainsAny(program, "=~") { // a=/b sets a variable, ~/b is another path
		return false
	}
	if !filepath.IsAbs(program) {
		program = filepath.Join(cwd, program)
	}
	return filepath.IsAbs(program) && files.Same(program, g.Program)
}

// plainWords splits a command that consists of words and quotes only. ok is
// false for a command with a character that is special in any shell.
func plainWords(command string) (words []string, ok bool) {
	var text strings.Builder // the words, each in a line
	var quote, last rune
	for _, r := range strings.Trim(command, " ") {
		switch {
		case r < ' ' || r == 0x7f || r == 0xfffd:
			return nil, false
		case quote == '\'' && r != '\'', quote == '"' && !strings.ContainsRune("\"\\$`!", r):
			text.WriteRune(r)
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			return nil, false
		case r == '\'' || r == '"':
			quote = r
		case r == ' ' && last == ' ':
		case r == ' ':
			text.WriteByte('\n')
		case strings.ContainsRune("|&;<>()`$\\*?[]{}!#^", r):
			return nil, false
		default:
			text.WriteRune(r)
		}
		last = r
	}
	return strings.Split(text.String(), "\n"), quote == 0
}
