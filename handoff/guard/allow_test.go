package guard

import (
	"encoding/json"
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
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(top, "bin", "sm")
	variable := filepath.Join(top, "p", "A=")
	if err := os.Mkdir(variable, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, link := range [][2]string{
		{program, filepath.Join(variable, "sm")},
		{dir, filepath.Join(top, "link")},
		{filepath.Join(top, "x"), filepath.Join(other, DocumentFile)},
	} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{program, filepath.Join(top, "p", "sm"), filepath.Join(top, "x")} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(top, "x"), filepath.Join(hard, DocumentFile)); err != nil {
		t.Fatal(err)
	}
	g := &Guard{Threshold: 0.76, Allow: []string{"Write", "Edit", "Read"}, Program: program}
	file := func(path string) map[string]any { return map[string]any{"file_path": path, "content": "x"} }
	bash := func(command string) map[string]any { return map[string]any{"command": command} }
	for _, tt := range []struct {
		name, tool, dir string
		input           any
		want            bool
	}{
		{"write the document", "Write", dir, file(doc), true},
		{"edit it", "Edit", dir, file(doc), true},
		{"read it", "Read", dir, file(doc), true},
		{"spelled otherwise", "Write", dir, file(dir + "//./" + DocumentFile), true},
		{"relative", "Write", dir, file("sessions/A/" + DocumentFile), true},
		{"by a link to the folder", "Write", dir, file(filepath.Join(top, "link", DocumentFile)), true},
		{"another tool", "MultiEdit", dir, file(doc), false},
		{"another file", "Write", dir, file(filepath.Join(dir, "notes.md")), false},
		{"the state", "Write", dir, file(filepath.Join(dir, StateFile)), false},
		{"another session's", "Write", dir, file(filepath.Join(other, DocumentFile)), false},
		{"below the folder", "Write", dir, file(filepath.Join(dir, "sub", DocumentFile)), false},
		{"up and down", "Write", dir, file(other + "/../A/" + DocumentFile), false},
		{"a folder of that name", "Write", dir, file(doc + "/x"), false},
		{"longer name", "Write", dir, file(doc + ".bak"), false},
		{"with a NUL", "Write", dir, file(doc + "\x00"), false},
		{"the document is a link", "Write", other, file(filepath.Join(other, DocumentFile)), false},
		{"the document is another name of a file", "Write", hard, file(filepath.Join(hard, DocumentFile)), false},
		{"edit it so", "Edit", hard, file(filepath.Join(hard, DocumentFile)), false},
		{"no path", "Write", dir, bash("x"), false},
		{"a path that is no text", "Write", dir, map[string]any{"file_path": []string{doc}}, false},
		{
			"a name in capitals besides",
			"Write",
			dir,
			map[string]any{"FILE_PATH": doc, "file_path": "/etc/passwd"},
			false,
		},
		{"no input", "Write", dir, nil, false},
		{"sm", "Bash", dir, bash("sm session dehydrate"), true},
		{"sm by its path", "Bash", dir, bash(program + " session restart"), true},
		{"another sm", "Bash", dir, bash(filepath.Join(top, "p", "sm") + " session restart"), false},
		{"another sm here", "Bash", dir, bash("./sm session restart"), false},
		{"a variable that looks like it", "Bash", dir, bash("A=/sm session restart"), false},
		{"a command of the shell", "Bash", dir, bash("ls"), false},
		{"sm and more", "Bash", dir, bash("sm session dehydrate; ls"), false},
		{"the skill", "Skill", dir, map[string]any{"skill": "session", "args": "dehydrate restart"}, true},
		{"the skill of a plugin", "Skill", dir, map[string]any{"skill": "sm:session"}, true},
		{"the skill as older clients call it", "Skill", dir, map[string]any{"command": "session"}, true},
		{"another skill", "Skill", dir, map[string]any{"skill": "implement"}, false},
		{"a skill in disguise", "Skill", dir, map[string]any{"skill": "implement", "command": "session"}, false},
		{"a skill with a longer name", "Skill", dir, map[string]any{"skill": "sessions"}, false},
		{"a slash command", "SlashCommand", dir, map[string]any{"command": "/session dehydrate restart"}, true},
		{"another slash command", "SlashCommand", dir, map[string]any{"command": "/compact"}, false},
		{"an agent", "Task", dir, map[string]any{"prompt": "session"}, false},
		{"an MCP tool", "mcp__x__Write", dir, file(doc), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &hook.Payload{ToolName: tt.tool, CWD: filepath.Join(top, "p")}
			if tt.input != nil {
				raw, err := json.Marshal(tt.input)
				if err != nil {
					t.Fatal(err)
				}
				p.ToolInput = raw
			}
			if got := g.Exempt(tt.dir, p); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// plainCommands are taken as they stand by any shell.
func plainCommands() map[string][]string {
	return map[string][]string{
		"sm session dehydrate":                {"sm", "session", "dehydrate"},
		"  sm  session restart  ":             {"sm", "session", "restart"},
		`sm session phase a "Phase 5: A B"`:   {"sm", "session", "phase", "a", "Phase 5: A B"},
		`sm session phase a 'a; b && $(c) |'`: {"sm", "session", "phase", "a", "a; b && $(c) |"},
		`sm send x "it's ok; really > so"`:    {"sm", "send", "x", "it's ok; really > so"},
		`sm send x ''`:                        {"sm", "send", "x", ""},
		`sm send x a'b'"c"`:                   {"sm", "send", "x", "abc"},
		`sm send x --force`:                   {"sm", "send", "x", "--force"},
		`sm handoff /a-b_c.d/e:f@g%h,i+j=k`:   {"sm", "handoff", "/a-b_c.d/e:f@g%h,i+j=k"},
		`sm send x 'Größe 😀'`:                 {"sm", "send", "x", "Größe 😀"},
	}
}

func TestGuardPlainCommands(t *testing.T) {
	g := &Guard{}
	for command, want := range plainCommands() {
		words, ok := plainWords(command)
		if diff := cmp.Diff(want, words); diff != "" || !ok || !g.plainCommand(command, "/") {
			t.Errorf("%s: %v (-want +got):\n%s", command, ok, diff)
		}
		// The shell agrees. Its sm prints what it is given.
		out, err := exec.Command("/bin/sh", "-c", "sm() { printf '%s\\n' \"$@\"; }\n"+command).Output()
		if diff := cmp.Diff(
			want[1:],
			strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"),
		); diff != "" ||
			err != nil {
			t.Errorf("%s in a shell: %v (-want +got):\n%s", command, err, diff)
		}
	}
	for _, command := range []string{
		"", " ", "sm", "sm ", "ls", "sm observe", "sm run -- sh", "sm statusline -- ls", "sm install", "sm hook", "sm --socket x session restart",
		"sm session restart; ls", "sm session restart && ls", "sm session restart || ls", "sm session restart | sh", "sm session restart & ls",
		"sm session restart\nls", "sm session restart\rls", "sm session restart\tls", "sm send x $(ls)", "sm send x `ls`", `sm send x "$(ls)"`,
		"sm send x \"`ls`\"", `sm send x "$HOME"`, "sm send x $HOME", "sm send x > f", "sm send x < f", "sm send x >> f", "sm send x 2>&1", "sm send x >(ls)",
		"sm send x *", "sm send x ?", "sm send x [a]", "sm send x {a,b}", "sm send x !!", `sm send x "!!"`, "sm send x # c", `sm send x \; ls`, `sm send x "a\"`,
		"sm send x 'a", `sm send x "a`, "A=b sm session restart", "PATH=/x sm session restart", "env sm session restart", "exec sm session restart",
		"sm;ls session", "s\\m session", "~/sm session restart", "sm ~ session", "(sm session restart)", "{ sm session restart; }", "! sm session restart",
		"sm session restart ^a^b", "sm send x 'a\x00'", "sm send x 'a\nb'", "sm send x \xff", "smx session restart", "x/../sm session restart", "$SM session restart",
		"sm session update --force a overflowed false", "sm session update a overflowed false --force=true", "sm session '--force' update a overflowed false",
	} {
		if g.plainCommand(command, "/") {
			t.Errorf("%q is taken for a plain sm command", command)
		}
	}
}

// Whatever is taken for plain has, outside of quotes, no character that a shell knows.
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
			t.Errorf("%q is taken for %q", command, words)
		}
	})
}
