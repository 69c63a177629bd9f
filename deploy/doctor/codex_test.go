package doctor

import (
	"os"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"sm/deploy/install"
	"sm/transcript/claude/hook"
)

// TestCodexTrust tests that keys and hashes of hooks are those of client 0.169.0 after its
// user trusted them.
func TestCodexTrust(t *testing.T) {
	t.Parallel()
	read := func(name string) []byte {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var c codexConfig
	if err := toml.Unmarshal(read("codex-trusted.toml"), &c); err != nil {
		t.Fatal(err)
	}
	e, err := install.Options{}.Open("testdata/codex-hooks.json")
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := ownHooks(
		[]*install.Editor{e},
		hook.Stop,
		hook.PreCompact,
		hook.PostToolUse,
		hook.SessionStart,
		hook.PostModelRequest,
		hook.SessionEnd,
		hook.Interrupt,
	)
	for _, h := range own {
		key := codexKey(h, "/home/dev/.codex/hooks.json")
		if hash := c.Hooks.State[key].Hash; !trusted(h, hash) || trusted(h, hash+"0") ||
			trusted(h, "") {
			t.Errorf("%s: trusted as %q: %v", key, hash, trusted(h, hash))
		}
		other := h
		other.Event = hook.UserPromptSubmit
		if trusted(other, c.Hooks.State[key].Hash) {
			t.Errorf("%s: trusted for another event", key)
		}
	}
	if len(own) != 7 {
		t.Errorf("got %d hooks of sm", len(own))
	}
}
