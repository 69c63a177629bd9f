package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testEditor(t testing.TB, text, program, socket string) *Editor {
	t.Helper()
	in := Options{
		Program: program,
		Socket:  socket,
		Home:    "/home/u",
	}.of(Claude())
	e, err := in.edit(&File{text: []byte(text)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// installed returns the text after an installation, and checks that another one changes
// nothing.
func installed(t testing.TB, text, program, socket string) string {
	t.Helper()
	e := testEditor(t, text, program, socket)
	e.install(Claude().Events)
	once := string(e.Doc.Bytes)
	e.install(Claude().Events)
	if diff := cmp.Diff(once, string(e.Doc.Bytes)); diff != "" {
		t.Errorf("the second time (-once +twice):\n%s", diff)
	}
	return once
}

func uninstalled(t testing.TB, text string) string {
	t.Helper()
	e := testEditor(t, text, "/usr/bin/sm", "")
	e.uninstall()
	return string(e.Doc.Bytes)
}

// ours returns the part that an installation adds to a compact file.
func ours(command string) string {
	literal, _ := json.Marshal(command)
	var events []string
	for _, event := range Claude().Events {
		events = append(
			events,
			fmt.Sprintf(`"%s":[{"hooks":[{"type":"command","command":%s}]}]`, event, literal),
		)
	}
	return `"hooks":{` + strings.Join(events, ",") + `}`
}

func TestInstall(t *testing.T) {
	t.Parallel()
	const group = `{"matcher":"","hooks":[{"type":"command","command":"mine"}]}`
	own := ours("/usr/bin/sm hook")
	status := `"statusLine":{"type":"command","command":"/usr/bin/sm statusline"}`
	for name, tt := range map[string]struct {
		text, program, socket, want string
	}{
		"compact": {`{"a":1.0}`, "/usr/bin/sm", "", `{"a":1.0,` + own + `,` + status + `}`},
		"a program and a socket to quote": {
			`{"a":1.0}`, "/my bin/sm", "/run/it's/s",
			`{"a":1.0,` + ours(`'/my bin/sm' hook --socket '/run/it'\''s/s'`) +
				`,"statusLine":{"type":"command","command":"'/my bin/sm' statusline --socket '/run/it'\\''s/s'"}}`,
		},
		"beside others": {
			`{"hooks":{"Stop":[` + group + `]}}`, "/usr/bin/sm", "",
			`{"hooks":{"Stop":[` + group + `,{"hooks":[{"type":"command","command":"/usr/bin/sm hook"}]}],` +
				strings.Replace(strings.TrimPrefix(own, `"hooks":{`),
					`"Stop":[{"hooks":[{"type":"command","command":"/usr/bin/sm hook"}]}],`, "", 1) + `,` + status + `}`,
		},
		"with additions of the user": {
			`{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","timeout":5,"command":"/old/sm","args":["hook"]}]}]}}`,
			"/usr/bin/sm", "",
			`{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","timeout":5,"command":"/usr/bin/sm hook"}]}],` +
				strings.Replace(strings.TrimPrefix(own, `"hooks":{`),
					`"Stop":[{"hooks":[{"type":"command","command":"/usr/bin/sm hook"}]}],`, "", 1) + `,` + status + `}`,
		},
	} {
		if diff := cmp.Diff(
			tt.want,
			installed(t, tt.text, tt.program, tt.socket),
		); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestStatusLineComesBack tests that after any number of installations of any sm the status
// line is the original one.
func TestStatusLineComesBack(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"~/.claude/statusline.sh", `printf '%s\n' "it's"`, "a\nb", "sm-like statusline",
		"sm statusline | cut -c1-9", "", " ", "-- x", "é\t'", "./sm hook",
		"bash -c 'sm statusline'", "echo \\\\ \"$(date)\" `id`",
	} {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(command) // a string
		before := "{\n  \"statusLine\": {\"type\": \"command\", \"command\": " + strings.TrimSpace(b.String()) + "}\n}\n"
		text := before
		for _, program := range []string{
			"/usr/bin/sm",
			"/home/u/go/bin/sm",
			"/a b/sm",
			"/usr/bin/sm",
		} {
			text = installed(t, text, program, "")
			if n := strings.Count(
				text,
				"statusline --",
			); n > 1+strings.Count(
				command,
				"statusline --",
			) {
				t.Errorf("%q is wrapped twice: %s", command, text)
			}
		}
		if diff := cmp.Diff(before, uninstalled(t, text)); diff != "" {
			t.Errorf("%q (-before +after):\n%s", command, diff)
		}
	}
}

// TestInstallFindsOurs tests that hooks of sm are recognized in any spelling, and exist once.
func TestInstallFindsOurs(t *testing.T) {
	t.Parallel()
	for _, spelled := range []string{
		`{"type":"command","command":"/usr/bin/sm","args":["hook"]}`,
		`{"type":"command","command":"/old/place/sm","args":["hook","--socket","/gone"]}`,
		`{"type":"command","command":"sm hook"}`,
		`{"type":"command","command":"~/bin/sm hook --socket /x"}`,
		`{"type":"command","command":"exec \"$HOME/go/bin/sm\" hook"}`,
	} {
		text := `{"hooks":{"Stop":[{"hooks":[` + spelled + `,{"type":"command","command":"other"}]},{"hooks":[` +
			spelled + `]}],"SubagentStop":[{"hooks":[` + spelled + `]}]}}`
		got := installed(t, text, "/usr/bin/sm", "")
		if n := strings.Count(
			got,
			`{"type":"command","command":"/usr/bin/sm hook"}`,
		); n != len(Claude().Events) ||
			strings.Contains(
				got,
				"SubagentStop",
			) || strings.Count(
			got,
			`"command":"other"`,
		) != 1 {
			t.Errorf("%s: %d times in %s", spelled, n, got)
		}
		if got := uninstalled(
			t,
			got,
		); got != `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"other"}]}]}}` {
			t.Errorf("%s: after uninstall %s", spelled, got)
		}
	}
	for _, foreign := range []string{
		`{"type":"command","command":"/usr/bin/sms","args":["hook"]}`,
		`{"type":"command","command":"/usr/bin/sm","args":["status"]}`,
		`{"type":"command","command":"sm hook; other"}`,
		`{"type":"http","url":"http://localhost"}`,
		`{"type":"command","command":"sm","args":[]}`,
		`7`,
	} {
		text := `{"hooks":{"Stop":[{"hooks":[` + foreign + `]}]}}`
		if got := uninstalled(t, installed(t, text, "/usr/bin/sm", "")); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, odd := range []string{
		`{"hooks":{"Stop":[{"hooks":{"x":{"type":"command","command":"sm hook"}}}]}}`,
		`{"hooks":{"Stop":{"x":{"hooks":[{"type":"command","command":"sm hook"}]}}}}`,
	} {
		if got := uninstalled(t, odd); got != odd {
			t.Errorf("%s became %s", odd, got)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                              "the settings are not a JSON object",
		"{\n\"hooks\": []}":               "line 2: hooks is not an object",
		"{\"hooks\": {\n\"Stop\": {}}}":   "line 2: hooks.Stop is not a list",
		`{"statusLine": null}`:            "line 1: statusLine has no command",
		`{"statusLine": {"command":"x"}}`: "line 1: statusLine has no command",
		`{"statusLine": {"type":"http"}}`: "line 1: statusLine has no command",
	} {
		if err := testEditor(
			t,
			text,
			"/usr/bin/sm",
			"",
		).check(); err == nil ||
			err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
