package supervise

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAgain(t *testing.T) {
	for _, c := range []struct{ from, want string }{
		{"claude", "claude"},
		{"claude --model opus Fix_it", "claude --model opus"},
		{"claude Fix_it --model opus", "claude --model opus"},
		{"claude --verbose -- --model opus", "claude --verbose"},
		{"claude --resume", "claude"},
		{"claude --resume --verbose", "claude --verbose"},
		{"claude --resume=abc Fix_it", "claude"},
		{"claude -rabc", "claude"},
		{"claude -cd", "claude -d"},
		{"claude -cr abc", "claude"},
		{"claude --session-id 5f0e --model opus", "claude --model opus"},
		{"claude --session-id -5f0e", "claude"},
		{"claude --from-pr 12 --teleport x --ide", "claude --ide"},
		{
			"claude --resume abc --resume-session-at m1 --rewind-files u1 --reply-on-resume",
			"claude",
		},
		{"claude --prefill later --ide", "claude --ide"},
		{"claude -n seat Fix_it", "claude -n seat"},
		{"claude -d api Fix_it", "claude -d api"},
		{"claude --worktree tree Fix_it", "claude --worktree tree"},
		{"claude -wtree Fix_it", "claude -wtree"},
		{
			"claude --allowedTools Bash Read Fix_it",
			"claude --allowedTools Bash Read Fix_it",
		}, // for the client it is a tool
		{"claude --allowedTools Bash Read -- Fix_it", "claude --allowedTools Bash Read"},
		{"claude --add-dir /a /b --ide Fix_it", "claude --add-dir /a /b --ide"},
		{"claude --new-flag value Fix_it", "claude --new-flag value"},
		{"claude --new-flag=value Fix_it", "claude --new-flag=value"},
		{"claude -zvalue Fix_it", "claude -zvalue"},
		{"claude - Fix_it", "claude"},
		{"/usr/bin/claude -c Fix_it", "/usr/bin/claude"},
		{"env A=b HOME=/home/claude claude -c Fix_it", "env A=b HOME=/home/claude claude"},
		{
			"npx -y @anthropic-ai/claude-code@2.1.197 -c Fix_it",
			"npx -y @anthropic-ai/claude-code@2.1.197",
		},
		{"node --inspect cli.js --resume abc Fix_it", "node --inspect cli.js"},
		{"bash ./client.sh -c Fix_it", "bash ./client.sh"},
	} {
		from := words(c.from)
		got, err := Claude().Again(from, "Read it.")
		if diff := cmp.Diff(append(words(c.want), "--", "Read it."), got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.from, err, diff)
		}
		if diff := cmp.Diff(words(c.from), from); diff != "" {
			t.Errorf("%s: changed its input (-before +after):\n%s", c.from, diff)
		}
	}
}

func words(text string) []string { return strings.Fields(text) }

func TestAgainRefuses(t *testing.T) {
	for _, c := range []struct{ from, want string }{
		{"", "there is no client; give one"},
		{"claude -p Fix_it", printsOnly},
		{"claude -cp Fix_it", printsOnly},
		{"claude --bg", EndsAtOnce},
		{"claude -h", EndsAtOnce},
		{"claude mcp list", EndsAtOnce},
		{"claude --remote", RunsAfar},
		{"claude --worktree", namelessTree},
		{"claude --worktree= Fix_it", namelessTree},
		{"claude --ide --model", "--model has no value; give it one"},
		{"sh -c claude", startsInside},
		{"bash", unknownWords},
		{"node --version", unknownWords},
	} {
		got, err := Claude().Again(words(c.from), "Read it.")
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.from, got, err, c.want)
		}
	}
	// A prompt that contains such a word is allowed.
	for _, from := range []string{
		"claude -- -p",
		"claude --append-system-prompt -p",
		"claude --model update",
	} {
		if _, err := Claude().Again(words(from), "Read it."); err != nil {
			t.Errorf("%s: %v", from, err)
		}
	}
}

func TestUnknownRefuses(t *testing.T) {
	got, err := Unknown("codex")([]string{"codex"}, "Go on.")
	if want := `clients of provider "codex" are not started again; only claude's are`; err == nil ||
		err.Error() != want {
		t.Errorf("got %q, %v", got, err)
	}
}
