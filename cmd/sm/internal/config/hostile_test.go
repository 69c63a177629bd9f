package config

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// Each text is a mistake that somebody makes in a configuration file; the error must name the place and the way
// out, in one line.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 20000)
	tests := []struct {
		name, text, want string
	}{
		{"unknown key", "context_monitor:\n  warning_percent: 50\n",
			`sm.yaml:2: unknown key "context_monitor.warning_percent"; did you mean "context_monitor.warning_percentage"?`},
		{
			"unknown group",
			"contextmonitor: {}\n",
			`sm.yaml:1: unknown key "contextmonitor"; did you mean "context_monitor"?`,
		},
		{"capitals", "Listen: []\n", `sm.yaml:1: unknown key "Listen"; did you mean "listen"?`},
		{"all capitals", "log: {LEVEL: info}\n", `sm.yaml:1: unknown key "log.LEVEL"; did you mean "log.level"?`},
		{
			"hyphen",
			"context-monitor: {}\n",
			`sm.yaml:1: unknown key "context-monitor"; did you mean "context_monitor"?`,
		},
		{"wrong group", "warning_percentage: 50\n",
			`sm.yaml:1: unknown key "warning_percentage"; did you mean "context_monitor.warning_percentage"?`},
		{"dotted", "log.level: debug\n", `sm.yaml:1: unknown key "log.level"; write "level" below a line "log:"`},
		{"far from all", "xyzzyplugh: 1\n",
			`sm.yaml:1: unknown key "xyzzyplugh"; remove it, or use a known one: the nearest is "log"`},
		{"in a list", "windows:\n  - model: m\n    tokns: 5\n",
			`sm.yaml:3: unknown key "windows[0].tokns"; did you mean "windows[0].tokens"?`},
		{"in a later entry", "channels: [{name: a, path: /a}, {name: b, Path: /b}]\n",
			`sm.yaml:1: unknown key "channels[1].Path"; did you mean "channels[1].path"?`},
		{"a token for a key", "http:\n  webhook_token_file: /t\n  abc4ef: 1\n",
			`sm.yaml:3: unknown key in http, not shown as it may be a secret; remove it`},
		{"a token for a key of a list", "prometheus: [{name: a, url: 'http://a', s3cret: }]\n",
			`sm.yaml:1: unknown key in prometheus[0], not shown as it may be a secret; remove it`},
		{
			"a long token for a key",
			"0f1e2d3c4b5a6978:\n",
			`sm.yaml:1: unknown key in the file, not shown as it may be a secret; remove it`,
		},
		{
			"a token below a key",
			"http: {webhook_token_file: {abc4ef: }}\n",
			"sm.yaml:1: http.webhook_token_file must be text, not a group of keys",
		},
		{"a token's key without its end", "http: {webhook_token: abc4ef}\n",
			`sm.yaml:1: unknown key in http, not shown as it may be a secret; did you mean "http.webhook_token_file"?`},
		{
			"a typo beside a token",
			"http: {allowed_host: []}\n",
			`sm.yaml:1: unknown key "http.allowed_host"; did you mean "http.allowed_hosts"?`,
		},
		{"a token in place of its file", "http: {webhook_token_file: abc4ef}\n",
			"sm.yaml:1: http.webhook_token_file must be an absolute path, or begin with ~/, not the text there, which is not shown as it may be a secret"},
		{"digits in place of its file", "http: {webhook_token_file: 48151623}\n",
			"sm.yaml:1: http.webhook_token_file must be text, not what is there, which is not shown as it may be a secret; put it in quotes"},
		{"a token for a group", "alertmanager: abc4ef\n",
			"sm.yaml:1: alertmanager must be a group of the keys urls, interval, host, http_config_file, not what is there, which is not shown as it may be a secret"},
		{"a token for a list", "prometheus: abc4ef\n",
			"sm.yaml:1: prometheus must be a list such as [{name: …, url: …, http_config_file: …}], not what is there, which is not shown as it may be a secret"},
		{"a token alone", "0f1e2d3c4b5a6978\n",
			"sm.yaml:1: the file must be keys with values, such as socket: PATH, not what is there, which is not shown as it may be a secret"},
		{
			"escapes in a key",
			"\"a\\nb\\e[31m\": 1\n",
			`sm.yaml:1: unknown key "a\nb\x1b[31m"; remove it, or use a known one: the nearest is "storm"`,
		},
		{
			"several",
			"lisen: []\nsoket: a\n",
			`sm.yaml:1: unknown key "lisen"; did you mean "listen"? (and 1 more to correct)`,
		},
		{
			"duplicate",
			"state: /a\nlog: {}\nstate: /b\n",
			`sm.yaml:3: key "state" stands at line 1 already; keep one of the two`,
		},
		{
			"duplicate below",
			"log:\n  level: info\n  level: warn\n",
			`sm.yaml:3: key "log.level" stands at line 2 already; keep one of the two`,
		},
		{"list for group", "log: [info]\n", "sm.yaml:1: log must be a group of the keys level, format, not a list"},
		{
			"text for group",
			"log: info\n",
			`sm.yaml:1: log must be a group of the keys level, format, not the text "info"`,
		},
		{"group for list", "windows: {model: m, tokens: 1}\n",
			"sm.yaml:1: windows must be a list such as [{model: …, tokens: …}], not a group of keys"},
		{
			"text for list",
			"listen: 127.0.0.1:1\n",
			`sm.yaml:1: listen must be a list such as [a, b], not the text "127.0.0.1:1"`,
		},
		{
			"list for file",
			"- a\n- b\n",
			"sm.yaml:1: the file must be keys with values, such as socket: PATH, not a list",
		},
		{
			"text for file",
			"hello\n",
			`sm.yaml:1: the file must be keys with values, such as socket: PATH, not the text "hello"`,
		},
		{
			"number for text",
			"channels: [{name: 2024, path: /a}]\n",
			`sm.yaml:1: channels[0].name must be text, not "2024"; put it in quotes`,
		},
		{
			"text for number",
			"storm:\n  count: many\n",
			`sm.yaml:2: storm.count must be a whole number, not the text "many"`,
		},
		{"fraction", "storm: {count: 1.5}\n", `sm.yaml:1: storm.count must be a whole number, not "1.5"`},
		{"octal", "context_monitor: {warning_percentage: 050}\n",
			`sm.yaml:1: context_monitor.warning_percentage must be a whole number, not "050"`},
		{
			"huge",
			"storm: {count: 99999999999999999999}\n",
			`sm.yaml:1: storm.count must be a whole number, not "99999999999999999999"`,
		},
		{
			"text for truth",
			"guard: {enabled: yes}\n",
			`sm.yaml:1: guard.enabled must be true or false, not the text "yes"`,
		},
		{
			"not a number",
			"guard: {overflow_threshold: .nan}\n",
			`sm.yaml:1: guard.overflow_threshold must be a number, not ".nan"`,
		},
		{
			"duration",
			"queue: {ttl: soon}\n",
			`sm.yaml:1: queue.ttl must be a duration such as 90, 3m or 1h30m, not the text "soon"`,
		},
		{
			"long duration",
			"queue: {ttl: 10000000000}\n",
			`sm.yaml:1: queue.ttl must be a duration such as 90, 3m or 1h30m, not "10000000000"`,
		},
		{"date for duration", "queue: {ttl: 2020-01-01}\n",
			`sm.yaml:1: queue.ttl must be a duration such as 90, 3m or 1h30m, not "2020-01-01"`},
		{"nothing", "state:\n", "sm.yaml:1: state must be text, not nothing"},
		{"bare tilde", "state: ~\n", "sm.yaml:1: state must be text, not nothing"},
		{"nothing in a list", "listen:\n  -\n", "sm.yaml:2: listen[0] must be text, not nothing"},
		{"tab", "log:\n\tlevel: info\n", "sm.yaml:2: indented with a tab; YAML takes spaces only"},
		{"unclosed bracket", "listen: [a\nstate: b\n",
			"sm.yaml: not valid YAML: line 1: did not find expected ',' or ']'; correct the indentation, quotes or brackets there"},
		{
			"deep",
			deep,
			"sm.yaml: not valid YAML: exceeded max depth of 10000; correct the indentation, quotes or brackets there",
		},
		{"NUL", "state: /a\n\x00\n", "sm.yaml:2: holds a NUL byte; save it as plain UTF-8 text"},
		{"Latin-1", "# caf\xe9\n", "sm.yaml:1: is not UTF-8; save it as plain UTF-8 text"},
		{"UTF-16", "\xff\xfes\x01", "sm.yaml:1: is not UTF-8; save it as plain UTF-8 text"},
		{
			"two documents",
			"state: /a\n---\nstate: /b\n",
			"sm.yaml:2: a second document begins; keep one and remove the line ---",
		},
		{"unknown anchor", "state: *a\n",
			"sm.yaml: not valid YAML: unknown anchor 'a' referenced; correct the indentation, quotes or brackets there"},
		{"an anchor in itself", "log: &a\n  level: *a\n",
			"sm.yaml:1: log.level must be text, not a group of keys"},
		{
			"merge key",
			"log: &l {level: info}\nhttp:\n  <<: *l\n",
			"sm.yaml:3: merge keys (<<) are not read; write the keys out",
		},
		{"list as key", "? [a, b]\n: c\n", "sm.yaml:1: a list is used as a key; write a plain word"},
		{"alias as key", "state: &a /x\n*a : 1\n", `sm.yaml:2: the text "/x" is used as a key; write a plain word`},
		{"foreign tag", "state: !!binary aGk=\n", `sm.yaml:1: state must be text, not "aGk="; put it in quotes`},
		{"relative path", "log: {level: info}\nstate: var/sm\n",
			`sm.yaml:2: state must be an absolute path, or begin with ~/, not "var/sm"`},
		{"out of bounds", "storm:\n  count: 0\n  turns: -1\n",
			"sm.yaml:2: storm.count must be at least 1, not 0; sm.yaml:3: storm.turns must be at least 0, not -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, tt.text, nil)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostileVariables(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, value, want string
	}{
		{
			"SM_METRICS_SESSION_TTL",
			"soon",
			`SM_METRICS_SESSION_TTL: metrics.session_ttl must be a duration such as 90, 3m or 1h30m, not the text "soon"`,
		},
		{"SM_STORM_COUNT", "3x", `SM_STORM_COUNT: storm.count must be a whole number, not the text "3x"`},
		{"SM_GUARD_ENABLED", "on", `SM_GUARD_ENABLED: guard.enabled must be true or false, not the text "on"`},
		{
			"SM_LISTEN",
			"0.0.0.0:80",
			`SM_LISTEN: listen[0] is "0.0.0.0:80", which is not a loopback address; use metrics.listen for scrapes from elsewhere`,
		},
		{
			"SM_HTTP_ALLOWED_UIDS",
			"0,me",
			`SM_HTTP_ALLOWED_UIDS: http.allowed_uids[1] must be a whole number, not the text "me"`,
		},
		{"SM_WINDOWS", "m=5", `SM_WINDOWS: windows must be a list such as [{model: …, tokens: …}], not the text "m=5"`},
		{
			"SM_WINDOWS",
			"[{model: m",
			`SM_WINDOWS: windows must be a list such as [{model: …, tokens: …}], and this is not valid YAML`,
		},
		{
			"SM_WINDOWS",
			`[{"model": "m", "token": 5}]`,
			`SM_WINDOWS: unknown key "windows[0].token"; did you mean "windows[0].tokens"?`,
		},
		{"SM_SOCKET", "rel", `SM_SOCKET: socket must be an absolute path, or begin with ~/, not "rel"`},
		{"SM_SOCKET", "/a\nb\x1b", `SM_SOCKET: socket holds a control character; give another path than "/a\nb\x1b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadText(t, "windows: [{model: m, tokens: 1}]\n", map[string]string{tt.name: tt.value})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An error must name the layer that decides, also where a weaker one made the same setting.
func TestOriginOfStrongestLayer(t *testing.T) {
	t.Parallel()
	const file = "listen: [127.0.0.1:1, 10.0.0.1:1]\nwindows: [{model: a, tokens: 0}]\n"
	_, err := loadText(
		t,
		file,
		map[string]string{"SM_WINDOWS": "[{model: b}]"},
		"--listen=127.0.0.1:1",
		"--listen=10.0.0.2:1",
	)
	want := `--listen: listen[1] is "10.0.0.2:1", which is not a loopback address; use metrics.listen for scrapes from elsewhere; ` +
		`SM_WINDOWS: windows[0].tokens must be at least 1, not 0`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// FuzzConfig holds the loader to its word: any text gives a configuration or an error of one printable line, and a
// configuration that is printed and read again stays the same.
func FuzzConfig(f *testing.F) {
	defaults, err := os.ReadFile("testdata/defaults.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(defaults, "127.0.0.1:1", "[{model: m, tokens: 1}]", "3m")
	f.Add(printed(f, changed()), "[a, b]", "- name: a", "1e9")
	f.Add([]byte("log: &a {level: *a}\n<<: *a\n? [x]\n"), "[", "{", "~")
	f.Add([]byte("storm: {count: 0x1F, within: -1.5}\nmessages: {warning: '{{if}}'}\n"), "", "!!set {}", "\x00")
	f.Add([]byte("---\nstate: |\n  ~/a\n...\n--- b"), ",,", "[[]]", "\xff")
	f.Fuzz(func(t *testing.T, text []byte, listen, windows, ttl string) {
		vars := map[string]string{"SM_LISTEN": listen, "SM_WINDOWS": windows, "SM_QUEUE_TTL": ttl}
		_, err := loadText(t, "", vars)
		checkLine(t, err)
		cfg, err := loadText(t, string(text), nil)
		checkLine(t, err)
		if err != nil {
			return
		}
		again, err := loadText(t, string(printed(t, cfg)), nil)
		if err != nil {
			t.Fatalf("printed configuration: %v\n%s", err, printed(t, cfg))
		}
		if diff := cmp.Diff(cfg, again); diff != "" {
			t.Errorf("printed and read again (-want +got):\n%s", diff)
		}
	})
}

func checkLine(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	line := err.Error()
	if line == "" || !bytes.Equal(bytes.ToValidUTF8([]byte(line), nil), []byte(line)) ||
		strings.ContainsFunc(line, func(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }) {
		t.Errorf("not one printable line: %q", line)
	}
}
