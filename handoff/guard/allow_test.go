package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

func TestGuardExempts(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "p", "sessions", "A")
	other := filepath.Join(top, "p", "sessions", "B")
	hard := filepath.Join(top, "p", "sessions", "C")
	doc := filepath.Join(dir, DocumentFile)
	for _, d := range []string{dir, other, hard, filepath.Join(dir, "sub")} {
		noError(t, os.MkdirAll(d, 0o755))
	}
	program := filepath.Join(top, "bin", "sm")
	variable := filepath.Join(top, "p", "A=")
	noError(t, os.Mkdir(variable, 0o755))
	for _, link := range [][2]string{
		{program, filepath.Join(variable, "sm")},
		{dir, filepath.Join(top, "link")},
		{filepath.Join(top, "x"), filepath.Join(other, DocumentFile)},
	} {
		noError(t, os.Symlink(link[0], link[1]))
	}
	for _, path := range []string{
		program,
		filepath.Join(top, "p", "sm"),
		filepath.Join(top, "x"),
	} {
		noError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		noError(t, os.WriteFile(path, []byte(path), 0o755))
	}
	noError(t, os.Link(filepath.Join(top, "x"), filepath.Join(hard, DocumentFile)))
	g := &Guard{Threshold: 0.76, Allow: []string{"Write", "Edit", "Read"}, Program: program}
	const file, command = `{"file_path":"%s","content":"x"}`, `{"command":"%s"}`
	for _, tt := range []struct {
		name, tool, input, value string // value is for the %s
		want                     bool
	}{
		{"write the document", "Write", file, doc, true},
		{
			"by a link to the folder",
			"Write",
			file,
			filepath.Join(top, "link", DocumentFile),
			true,
		},
		{"another tool", "MultiEdit", file, doc, false},
		{"the state", "Write", file, filepath.Join(dir, StateFile), false},
		{"relative", "Write", file, "sessions/A/" + DocumentFile, true},
		{"up and down", "Write", file, other + "/../A/" + DocumentFile, false},
		{"another session's", "Write", file, filepath.Join(other, DocumentFile), false},
		{"with a NUL", "Write", file, doc + `\u0000`, false},
		{"a path that is no text", "Write", `{"file_path":["%s"]}`, doc, false},
		{
			"a name in capitals besides",
			"Write",
			`{"FILE_PATH":"%s","file_path":"/etc/passwd"}`,
			doc,
			false,
		},
		{"sm by its path", "Bash", command, program + " session restart", true},
		{
			"another sm",
			"Bash",
			command,
			filepath.Join(top, "p", "sm") + " session restart",
			false,
		},
		{"a similar variable", "Bash", command, "A=/sm session restart", false},
		{"the skill", "Skill", `{"skill":"session","args":"dehydrate restart"}`, "", true},
		{"the skill as older clients call it", "Skill", command, "session", true},
		{
			"a skill in disguise",
			"Skill",
			`{"skill":"implement","command":"session"}`,
			"",
			false,
		},
		{"a slash command", "SlashCommand", command, "/session dehydrate restart", true},
	} {
		p := &hook.Payload{ToolName: tt.tool, CWD: filepath.Join(top, "p")}
		p.ToolInput = []byte(strings.Replace(tt.input, "%s", tt.value, 1))
		if got := g.Exempt(dir, p); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
	// The document is a link, or another name of a file.
	for _, folder := range []string{other, hard} {
		p := &hook.Payload{ToolName: "Edit", CWD: top}
		p.ToolInput = []byte(strings.Replace(
			file,
			"%s",
			filepath.Join(folder, DocumentFile),
			1,
		))
		if g.Exempt(folder, p) {
			t.Errorf("%s is allowed", folder)
		}
	}
}

// plainCommands are read unchanged by any shell.
func plainCommands() map[string][]string {
	return map[string][]string{
		"sm session dehydrate":    {"sm", "session", "dehydrate"},
		"  sm  session restart  ": {"sm", "session", "restart"},
		`sm session phase a "Phase 5: A B"`: {
			"sm",
			"session",
			"phase",
			"a",
			"Phase 5: A B",
		},
		`sm session phase a 'a; b && $(c) |'`: {
			"sm",
			"session",
			"phase",
			"a",
			"a; b && $(c) |",
		},
		`sm send x "it's ok; really > so"`:  {"sm", "send", "x", "it's ok; really > so"},
		`sm send x ''`:                      {"sm", "send", "x", ""},
		`sm send x a'b'"c"`:                 {"sm", "send", "x", "abc"},
		`sm send x --force`:                 {"sm", "send", "x", "--force"},
		`sm handoff /a-b_c.d/e:f@g%h,i+j=k`: {"sm", "handoff", "/a-b_c.d/e:f@g%h,i+j=k"},
		`sm send x 'Größe 😀'`:               {"sm", "send", "x", "Größe 😀"},
	}
}

func TestGuardPlainCommands(t *testing.T) {
	g := &Guard{}
	for command, want := range plainCommands() {
		words, ok := plainWords(command)
		if diff := cmp.Diff(want, words); diff != "" || !ok || !g.plainCommand(command, "/") {
			t.Errorf("%s: %v (-want +got):\n%s", command, ok, diff)
		}
		// The shell agrees. Its sm prints its arguments.
		out, err := exec.Command(
			"/bin/sh",
			"-c",
			"sm() { printf '%s\\n' \"$@\"; }\n"+command,
		).Output()
		if diff := cmp.Diff(
			want[1:],
			strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"),
		); diff != "" ||
			err != nil {
			t.Errorf("%s in a shell: %v (-want +got):\n%s", command, err, diff)
		}
	}
	for _, command := range []string{
		"", "sm", "ls", "smx session restart", "x/../sm session restart", "~/sm session restart", "$SM session restart",
		"sm observe", "sm run -- sh", "sm install", "sm hook", "sm --socket x session restart",
		"A=b sm session restart", "env sm session restart", "(sm session restart)", "! sm session restart", "s\\m session",
		"sm session restart; ls", "sm session restart && ls", "sm session restart | sh", "sm session restart & ls",
		"sm session restart\nls", "sm session restart\rls", "sm session restart\tls", "sm session restart ^a^b",
		"sm send x $(ls)", "sm send x `ls`", `sm send x "$(ls)"`, "sm send x \"`ls`\"", `sm send x "$HOME"`,
		"sm send x > f", "sm send x < f", "sm send x *", "sm send x ?", "sm send x [a]", "sm send x {a,b}", `sm send x "!!"`,
		"sm send x # c", `sm send x \; ls`, `sm send x "a\"`, "sm send x 'a", "sm send x 'a\x00'", "sm send x 'a\nb'", "sm send x \xff",
		"sm session update --force a overflowed false", "sm session update a overflowed false --force=true", "sm session '--force' update a overflowed false",
	} {
		if g.plainCommand(command, "/") {
			t.Errorf("%q is accepted as a plain sm command", command)
		}
	}
}

// FuzzGuardPlainWords tests that accepted commands have, outside of quotes, no character with
// a meaning in a shell.
func FuzzGuardPlainWords(f *testing.F) {
	for command := range plainCommands() {
		f.Add(command)
	}
	f.Add("sm send x \"$(ls)\"; ls\n'")
	f.Fuzz(func(t *testing.T, command string) {
		words, ok := plainWords(command)
		if !ok {
			return
		}
		var bare, double strings.Builder
		quote := rune(0)
		for _, r := range command {
			switch {
			case quote == 0 && (r == '\'' || r == '"'):
				quote = r
			case r == quote:
				quote = 0
			case quote == 0:
				bare.WriteRune(r)
			case quote == '"':
				double.WriteRune(r)
			}
		}
		if quote != 0 || strings.ContainsAny(bare.String(), "\n\t;&|<>()$`\\*?[]{}!#") ||
			strings.ContainsAny(double.String(), "$`\\") ||
			strings.ContainsAny(command, "\n\r\x00") {
			t.Errorf("%q is read as %q", command, words)
		}
	})
}
