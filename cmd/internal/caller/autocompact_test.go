package caller

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript/claude/hook"
)

// TestAutoCompactOfHook tests that a hook reports the settings of its client, from variables,
// user, project and folder.
func TestAutoCompactOfHook(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vars  map[string]string
		files map[string]string // under the home, or under "project"
		want  hook.AutoCompact
	}{
		"nothing": {},
		"variables": {
			vars: map[string]string{
				"CLAUDE_CODE_AUTO_COMPACT_WINDOW":     "100000",
				"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE":     "50",
				"CLAUDE_CODE_MAX_OUTPUT_TOKENS":       "8000",
				"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "150000",
			},
			want: hook.AutoCompact{
				Window:  "100000",
				Percent: "50",
				Output:  "8000",
				IdleMin: "150000",
			},
		},
		"long": {
			vars: map[string]string{"CLAUDE_CODE_AUTO_COMPACT_WINDOW": strings.Repeat(
				"1",
				33,
			)},
		},
		"off": {
			vars: map[string]string{"DISABLE_AUTO_COMPACT": " Yes "},
			want: hook.AutoCompact{Off: true},
		},
		"all off": {
			vars: map[string]string{"DISABLE_COMPACT": "1"},
			want: hook.AutoCompact{Off: true},
		},
		"not off": {
			vars: map[string]string{"DISABLE_AUTO_COMPACT": "0", "DISABLE_COMPACT": "false"},
		},
		"user": {
			files: map[string]string{".claude/settings.json": `{"autoCompactWindow":120000}`},
			want:  hook.AutoCompact{Setting: 120_000},
		},
		"broken file": {
			files: map[string]string{".claude/settings.json": `{"autoCompactWindow":120000`},
		},
		"project before user": {
			files: map[string]string{
				".claude/settings.json":         `{"autoCompactWindow":120000,"autoCompactEnabled":false}`,
				"project/.claude/settings.json": `{"autoCompactWindow":130000}`,
			},
			want: hook.AutoCompact{Setting: 130_000, Off: true},
		},
		"folder before project": {
			files: map[string]string{
				"project/.claude/settings.json":       `{"autoCompactWindow":130000}`,
				"project/.claude/settings.local.json": `{"autoCompactWindow":140000}`,
			},
			want: hook.AutoCompact{Setting: 140_000},
		},
		"another directory": {
			vars: map[string]string{"CLAUDE_CONFIG_DIR": "HOME/other"},
			files: map[string]string{
				".claude/settings.json": `{"autoCompactWindow":120000}`,
				"other/settings.json":   `{"autoCompactWindow":150000}`,
			},
			want: hook.AutoCompact{Setting: 150_000},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			vars := map[string]string{
				"HOME":               home,
				"CLAUDE_PROJECT_DIR": filepath.Join(home, "project"),
				"CLAUDE_PID":         "2000000000",
			}
			for key, value := range test.vars {
				vars[key] = strings.Replace(value, "HOME", home, 1)
			}
			for path, text := range test.files {
				path = filepath.Join(home, path)
				noError(t, os.MkdirAll(filepath.Dir(path), 0o700))
				noError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			if diff := cmp.Diff(
				test.want,
				testCaller(vars).Origin(time.Now()).AutoCompact,
			); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAutoCompactOfPipe tests that a hook does not wait for settings that are a pipe.
func TestAutoCompactOfPipe(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	noError(t, os.Mkdir(filepath.Join(home, ".claude"), 0o700))
	noError(t, syscall.Mkfifo(filepath.Join(home, ".claude", "settings.json"), 0o600))
	if got := testCaller(map[string]string{"HOME": home}).autoCompact(""); !cmp.Equal(
		got,
		hook.AutoCompact{},
	) {
		t.Errorf("got %+v", got)
	}
}
