package install

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/deploy/jsonedit"
	"sm/transcript/claude/hook"
)

func testEditor(t testing.TB, text, program, socket string) *Editor {
	t.Helper()
	d, err := jsonedit.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &Editor{
		Doc:     d,
		program: program,
		socket:  socket,
		home:    "/home/u",
		isOwn: func(name string) bool {
			return isOwnProgram(name, "") || name == "/opt/session-monitor"
		},
	}
}

// installed gives the text after an installation, and makes sure that another one changes nothing.
func installed(t testing.TB, text, program, socket string) string {
	t.Helper()
	e := testEditor(t, text, program, socket)
	for range 2 {
		if err := e.install(false); err != nil {
			t.Fatal(err)
		}
	}
	once := testEditor(t, text, program, socket)
	if err := once.install(false); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(once.Doc.Bytes), string(e.Doc.Bytes)); diff != "" {
		t.Errorf("the second time (-once +twice):\n%s", diff)
	}
	return string(e.Doc.Bytes)
}

func uninstalled(t testing.TB, text string) string {
	t.Helper()
	e := testEditor(t, text, "/usr/bin/sm", "")
	if err := e.uninstall(); err != nil {
		t.Fatal(err)
	}
	return string(e.Doc.Bytes)
}

// ours is what an installation adds to a compact file.
func ours(program string, args string) string {
	var b strings.Builder
	for i, event := range HookEvents("", false) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%s":[{"hooks":[{"type":"command","command":"%s","args":%s}]}]`, event, program, args)
	}
	return b.String()
}

func TestInstallIntoCompactFile(t *testing.T) {
	t.Parallel()
	got := installed(t, `{"a":1.0}`, "/usr/bin/sm", "")
	want := `{"a":1.0,"hooks":{` + ours(
		"/usr/bin/sm",
		`["hook"]`,
	) + `},"statusLine":{"type":"command","command":"/usr/bin/sm statusline"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = installed(t, `{"a":1.0}`, "/my bin/sm", "/run/it's/s")
	want = `{"a":1.0,"hooks":{` + ours("/my bin/sm", `["hook","--socket","/run/it's/s"]`) +
		`},"statusLine":{"type":"command","command":"'/my bin/sm' statusline --socket '/run/it'\\''s/s'"}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const foreignSettings = `{
  "model": "opus",
  "statusLine": {
    "command": "~/.claude/hooks/context_monitor.sh \"a\" | cut -c1-80",
    "type": "command",
    "padding": 2
  },
  "hooks": {
    "PreCompact": [
      {
        "hooks": [
          {"type": "command", "command": "~/.claude/hooks/precompact_notify.sh"}
        ]
      }
    ],
    "SessionStart": [
      {
        "matcher": "compact",
        "hooks": [
          {
            "type": "command",
            "command": "~/.claude/hooks/post_compact_recovery.sh"
          }
        ]
      }
    ],
    "TeammateIdle": []
  },
  "env": {"N": 1e3, "é": "\u00e9"}
}
`

// What is somebody else's stays where it is, as it is; ours comes behind it, and goes without a trace.
func TestInstallAmongOthers(t *testing.T) {
	t.Parallel()
	got := installed(t, foreignSettings, "/usr/bin/sm", "")
	var s struct {
		StatusLine map[string]any `json:"statusLine"`
		Hooks      map[string][]struct {
			Matcher *string   `json:"matcher"`
			Hooks   []handler `json:"hooks"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal([]byte(got), &s); err != nil {
		t.Fatal(err)
	}
	mine := handler{Type: "command", Command: "/usr/bin/sm", Args: []string{"hook"}}
	if n := len(s.Hooks["SessionStart"]); n != 2 || *s.Hooks["SessionStart"][0].Matcher != "compact" {
		t.Errorf("SessionStart: %+v", s.Hooks["SessionStart"])
	}
	for _, event := range HookEvents("", false) {
		groups := s.Hooks[string(event)]
		last := groups[len(groups)-1]
		if diff := cmp.Diff([]handler{mine}, last.Hooks); diff != "" || last.Matcher != nil {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
	if len(s.Hooks) != len(HookEvents("", false))+1 {
		t.Errorf("%d events", len(s.Hooks))
	}
	want := map[string]any{"type": "command", "padding": 2.0,
		"command": `/usr/bin/sm statusline -- '~/.claude/hooks/context_monitor.sh "a" | cut -c1-80'`}
	if diff := cmp.Diff(want, s.StatusLine); diff != "" {
		t.Errorf("status line (-want +got):\n%s", diff)
	}
	for line := range strings.SplitSeq(foreignSettings, "\n") {
		if line = strings.TrimRight(
			strings.TrimSpace(line),
			",]",
		); !strings.Contains(line, "context_monitor") &&
			!strings.Contains(got, line) {
			t.Errorf("lost %s", line)
		}
	}
	if diff := cmp.Diff(foreignSettings, uninstalled(t, got)); diff != "" {
		t.Errorf("after uninstall (-before +after):\n%s", diff)
	}
}

// Whatever status line there was is there again, to the letter, after any number of installations of whatever sm.
func TestStatusLineComesBack(t *testing.T) {
	t.Parallel()
	for _, command := range []string{
		"~/.claude/statusline.sh", "npx -y ccstatusline@latest", `printf '%s\n' "it's"`, "a\nb", "sm-like statusline", "sm statusline | cut -c1-9",
		`jq -r '"\(.model.id)"'`, "", " ", "-- x", "é\t'", "./sm hook", "bash -c 'sm statusline'", "echo \\\\ \"$(date)\" `id`",
	} {
		literal, err := json.Marshal(command)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder // encoding/json writes \u0026 for &, and we do not
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if e.Encode(command) == nil {
			literal = []byte(strings.TrimSpace(b.String()))
		}
		before := "{\n  \"statusLine\": {\"type\": \"command\", \"command\": " + string(literal) + "}\n}\n"
		text := before
		for _, program := range []string{
			"/usr/bin/sm",
			"/home/u/go/bin/sm",
			"/opt/session-monitor",
			"/a b/sm",
			"/usr/bin/sm",
		} {
			text = installed(t, text, program, map[bool]string{true: "/s"}[program == "/a b/sm"])
			if n := strings.Count(
				text,
				"statusline --",
			); program != "/a b/sm" &&
				n > 1+strings.Count(command, "statusline --") {
				t.Errorf("%q is wrapped twice: %s", command, text)
			}
		}
		if diff := cmp.Diff(before, uninstalled(t, text)); diff != "" {
			t.Errorf("%q (-before +after):\n%s", command, diff)
		}
	}
}

// Ours is known however it is spelled, and never twice (rivals' lesson L12).
func TestInstallFindsOurs(t *testing.T) {
	t.Parallel()
	for _, spelled := range []string{
		`{"type":"command","command":"/usr/bin/sm","args":["hook"]}`,
		`{"type":"command","command":"/old/place/sm","args":["hook","--socket","/gone"]}`,
		`{"type":"command","command":"sm hook"}`,
		`{"type":"command","command":"~/bin/sm hook --socket /x"}`,
		`{"type":"command","command":"exec \"$HOME/go/bin/sm\" hook"}`,
		`{"type":"command","command":"/opt/session-monitor","args":["hook"]}`,
	} {
		text := `{"hooks":{"Stop":[{"hooks":[` + spelled + `,{"type":"command","command":"other"}]},{"hooks":[` + spelled + `]}],"SubagentStop":[{"hooks":[` + spelled + `]}]}}`
		got := installed(t, text, "/usr/bin/sm", "")
		if n := strings.Count(
			got,
			`{"type":"command","command":"/usr/bin/sm","args":["hook"]}`,
		); n != len(HookEvents(
			"",
			false,
		)) {
			t.Errorf("%s: %d times in %s", spelled, n, got)
		}
		if strings.Contains(got, "SubagentStop") || strings.Count(got, `"command":"other"`) != 1 {
			t.Errorf("%s: %s", spelled, got)
		}
		if got := uninstalled(t, got); got != `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"other"}]}]}}` {
			t.Errorf("%s: after uninstall %s", spelled, got)
		}
	}
	for _, foreign := range []string{
		`{"type":"command","command":"/usr/bin/sms","args":["hook"]}`, `{"type":"command","command":"/usr/bin/sm","args":["status"]}`,
		`{"type":"command","command":"sm hook; other"}`, `{"type":"http","url":"http://localhost"}`, `{"type":"command","command":"sm","args":[]}`, `7`,
	} {
		text := `{"hooks":{"Stop":[{"hooks":[` + foreign + `]}]}}`
		if got := uninstalled(t, installed(t, text, "/usr/bin/sm", "")); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// What the user has made of ours is the user's.
func TestInstallKeepsAdditions(t *testing.T) {
	t.Parallel()
	text := `{"hooks":{"Stop":[{"matcher":"x","hooks":[{"type":"command","timeout":5,"command":"/old/sm","args":["hook"]}]}]}}`
	got := installed(t, text, "/usr/bin/sm", "")
	if want := `"Stop":[{"matcher":"x","hooks":[{"type":"command","timeout":5,"command":"/usr/bin/sm","args":["hook"]}]}]`; !strings.Contains(
		got,
		want,
	) {
		t.Errorf("got %s", got)
	}
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[]`:                              "the settings are not a JSON object; correct the file, it is untouched",
		"{\n\"hooks\": []}":               "line 2: hooks is not an object; correct the file, it is untouched",
		"{\"hooks\": {\n\"Stop\": {}}}":   "line 2: hooks.Stop is not a list; correct the file, it is untouched",
		`{"statusLine": null}`:            "line 1: statusLine has no command; correct or remove it",
		`{"statusLine": "x"}`:             "line 1: statusLine has no command; correct or remove it",
		`{"statusLine": {"command":"x"}}`: "line 1: statusLine has no command; correct or remove it",
		`{"statusLine": {"type":"http"}}`: "line 1: statusLine has no command; correct or remove it",
	} {
		e := testEditor(t, text, "/usr/bin/sm", "")
		if err := e.install(false); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if string(e.Doc.Bytes) != text {
			t.Errorf("%s became %s", text, e.Doc.Bytes)
		}
	}
}

// TestInstallWritesKnownEventsAlone: an event that the client does not know is not there, or goes.
func TestInstallWritesKnownEventsAlone(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]int{"2.1.75": 7, "2.1.76": 8, "": 8, "2.0.77": 7} {
		e := testEditor(t, `{"a":1}`, "/usr/bin/sm", "")
		if err := e.install(false); err != nil {
			t.Fatal(err)
		}
		e.client = version
		if err := e.install(false); err != nil {
			t.Fatal(err)
		}
		if got := len(e.events()); got != want || (want == 7) != (e.Doc.At("hooks", string(hook.PostCompact)) == nil) {
			t.Errorf("%q: %d events: %s", version, got, e.Doc.Bytes)
		}
	}
}

// A socket or a path with spaces reaches us through a shell too.
func TestInstallShellForm(t *testing.T) {
	t.Parallel()
	e := testEditor(t, `{}`, "/my bin/sm", "/run/it's/s")
	e.client = "2.1.130"
	if err := e.install(false); err != nil {
		t.Fatal(err)
	}
	got, _ := e.Doc.At("hooks", "Stop", "0", "hooks", "0", "command").Text()
	if diff := cmp.Diff(`'/my bin/sm' hook --socket '/run/it'\''s/s'`, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if places := e.OwnHooks(hook.Stop); len(places) != 1 {
		t.Errorf("ours is not known: %v", places)
	}
}
