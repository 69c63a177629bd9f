package codexcli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAgain tests that a fresh thread gets the same settings, without arguments that would
// resume the old one.
func TestAgain(t *testing.T) {
	t.Parallel()
	for argv, want := range map[string]string{
		"codex --no-daemon":                                                 "codex --no-daemon -- PROMPT",
		"/usr/bin/codex -m gpt-6 --no-daemon begin":                         "/usr/bin/codex -m gpt-6 --no-daemon -- PROMPT",
		"codex --no-daemon resume 01a200a2-c691-7de0-a325-4ece90591c2c":     "codex --no-daemon -- PROMPT",
		"codex resume --last --all -c a=b --no-daemon":                      "codex -c a=b --no-daemon -- PROMPT",
		"codex fork -C /work --no-daemon --add-dir /more begin":             "codex -C /work --no-daemon --add-dir /more -- PROMPT",
		"codex --no-daemon -i a.png b.png --search -- old":                  "codex --no-daemon --search -- PROMPT",
		"env A=b codex --no-daemon --sandbox read-only -a never --enable x": "env A=b codex --no-daemon --sandbox read-only -a never --enable x -- PROMPT",
		"npx @openai/codex@0.169.0 --no-daemon --model=gpt-6":               "npx @openai/codex@0.169.0 --no-daemon --model=gpt-6 -- PROMPT",
		"codex":                               "error: its threads live on in Codex's daemon; start it with codex --no-daemon",
		"codex exec --no-daemon x":            "error: this client has no conversation to go on with; start one without it",
		"codex --no-daemon --worktree":        "error: a worktree would be another one, and the work would stay in the old; start the client in a worktree, without --worktree",
		"codex --no-daemon --remote ws://a:1": "error: this client's session does not run here; start one that does",
		"codex --no-daemon --model":           "error: --model has no value; give it one",
		"sh -c codex":                         "error: the client's own words are inside a command for a shell; give them to sm run as they are",
	} {
		got, err := Arguments().Again(strings.Fields(argv), "PROMPT")
		said := strings.Join(got, " ")
		if err != nil {
			said = "error: " + err.Error()
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("%s (-want +got):\n%s", argv, diff)
		}
	}
}

func TestStarts(t *testing.T) {
	t.Parallel()
	for argv, want := range map[string]bool{
		"codex": true, "/opt/bin/codex --no-daemon": true, "env A=codex codex": true, "npx @openai/codex": true,
		"claude": false, "claude codex": false, "env A=codex claude": false, "": false, "node /x/codex": true,
	} {
		if got := Arguments().Starts(strings.Fields(argv)); got != want {
			t.Errorf("%q: got %v, want %v", argv, got, want)
		}
	}
}
