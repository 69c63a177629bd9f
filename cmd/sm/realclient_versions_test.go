//go:build realclient

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sm/transcript"
	"sm/transcript/claude"
)

// hooked returns the events that the settings have hooks for.
func (r *clientRun) hooked() (events []string) {
	r.t.Helper()
	text, err := os.ReadFile(r.home.home + "/.claude/settings.json")
	var all struct {
		Hooks map[string]json.RawMessage `json:"hooks"`
	}
	if err = errors.Join(err, json.Unmarshal(text, &all)); err != nil {
		r.t.Fatal(err)
	}
	for event := range all.Hooks {
		events = append(events, event)
	}
	slices.Sort(events)
	return events
}

// TestRealClientVersionsAccepted tests that the client starts with the settings of sm
// install, calls each hook in them, shows the status line, and that its agent gets the notice
// once.
func TestRealClientVersionsAccepted(t *testing.T) {
	program := buildProgram(t, t.TempDir())
	for _, version := range []string{
		newestClient,
		"2.1.300",
		"2.1.225",
		"2.1.175",
		"2.1.150",
		"2.1.139",
		"2.1.120",
	} {
		t.Run(version, func(t *testing.T) {
			r := newClientRun(t, installClient(t, "", version), program)
			r.stub.spare = true
			r.sm.vars = []string{"PATH=" + r.home.dir} // without tmux, messages arrive by hooks only
			r.install("--guard")
			if events := r.hooked(); len(events) != 9 {
				t.Errorf("hooks for %q", events)
			}
			r.sm.start()
			r.home.start() // fails where a dialog hides the prompt
			r.stub.resize(20_000)
			eventually(t, "the status line is there", func() string {
				if screen := r.home.screen(); strings.Contains(screen, "Settings Error") ||
					!strings.Contains(screen, "% ctx") {
					return "the screen:\n" + screen
				}
				return ""
			})
			// The context grows beyond half of the window, with some tool calls that carry
			// the notice.
			r.stub.script(modelStep{
				grow:  90_000,
				tools: 1,
			}, modelStep{
				grow:  100,
				tools: 1,
				bash:  "sleep 1",
			}, modelStep{
				grow:  100,
				tools: 1,
			}, modelStep{
				grow: 100,
			})
			r.home.enter("Go on.")
			r.sm.called("Stop", 1)
			eventually(
				t,
				"the agent gets the notice",
				func() string { return r.wrongWarnings(1) },
			)

			r.stub.script(modelStep{
				grow:  100,
				other: "Write",
				input: map[string]string{"file_path": r.home.project + "/x", "content": "x"},
			})
			r.home.enter("Write.")
			r.sm.called("Notification", 1) // the client asks for permission
			r.home.do("", "send-keys", "-t", "agent", "Escape")
			eventually(t, "the prompt is back", func() string {
				if input, ok := r.home.input(); !ok || strings.Contains(input, "1.") {
					return "no prompt"
				}
				return ""
			})
			r.home.do("", "send-keys", "-t", "agent", "C-u")
			r.stub.forget()
			r.home.enter("/compact")
			r.sm.called("PostCompact", 1)
			eventually(t, "the prompt is back", func() string {
				if _, ok := r.home.input(); !ok {
					return "no prompt"
				}
				return ""
			})
			r.home.quit()
			for _, event := range append(r.hooked(), "StatusLine") {
				r.sm.called(event, 1)
			}
			if wrong := r.wrongWarnings(1); wrong != "" {
				t.Error(wrong)
			}
			for _, path := range transcripts(t, r.home.projects) {
				if text, err := os.ReadFile(path); err != nil ||
					bytes.Contains(text, []byte("hook_non_blocking_error")) ||
					bytes.Contains(text, []byte("Hook JSON output validation failed")) {
					t.Errorf("%s: a hook failed, %v", path, err)
				}
			}
			if version == newestClient {
				knownNames(t, r.home.projects)
			}
		})
	}
}

// newestClient is the newest version of the client that sm is tested with.
const newestClient = "2.1.330"

// knownNames fails if a transcript has an unknown record, subtype or usage member.
func knownNames(t *testing.T, projects string) {
	t.Helper()
	for _, path := range transcripts(t, projects) {
		text := readFile(t, path)
		f := claude.NewFold("x", false)
		for line := range bytes.Lines(text) {
			_, _ = f.Line(
				line,
				len(line),
				&transcript.Entry{},
			) // bad lines are counted elsewhere
		}
		for _, u := range f.Take().Unknown {
			t.Errorf(
				"%s: unknown %s %q, %d times",
				filepath.Base(path),
				u.Kind,
				u.Name,
				u.Count,
			)
		}
	}
}

// wrongWarnings compares the number of warnings that the transcripts show as received with
// the expected one.
func (r *clientRun) wrongWarnings(want int) string {
	n := 0
	for _, path := range transcripts(r.t, r.home.projects) {
		text, err := os.ReadFile(path)
		if err != nil {
			return err.Error()
		}
		for line := range bytes.Lines(text) {
			if bytes.Contains(line, []byte(`"hook_additional_context"`)) &&
				bytes.Contains(line, []byte("[sm context] Context at ")) {
				n++
			}
		}
	}
	if n != want {
		return fmt.Sprintf("got %d warnings, want %d", n, want)
	}
	return ""
}
