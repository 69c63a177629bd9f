//go:build realclient

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRealClientPlugin tests that the real client accepts the plugin, installs it by `sm
// install --plugin`, calls its hooks, and removes it again.
func TestRealClientPlugin(t *testing.T) {
	stub := newModelStub(t)
	stub.spare = true
	h := newClientHome(t, stub)
	program := buildProgram(t, h.dir)
	o := h.watched(program)
	run := func(program string, args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		cmd := grouped(ctx, program, args...)
		cmd.Dir = h.project
		cmd.Env = append(
			h.environ(),
			"PATH="+filepath.Dir(h.client)+":/usr/bin:/bin",
			"SM_SOCKET="+o.socket(),
		)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
		return string(out)
	}
	root, err := filepath.Abs("../../deploy/plugin")
	noErrors(t, err)
	for _, dir := range []string{root, root + "/session-monitor"} {
		t.Log(run(h.client, "plugin", "validate", "--strict", dir))
	}

	o.start()
	hooked := func(event string) string {
		return fmt.Sprintf(
			"sm_hook_events_total{event=%q}",
			event,
		)
	}
	for _, c := range []struct {
		args   []string
		plugin bool
		hooks  float64 // of each event of one prompt
	}{
		{[]string{"install", "--plugin"}, true, 1},
		{[]string{"install", "--plugin"}, true, 1},
		{[]string{"install"}, false, 1},
		{[]string{"install", "--plugin", "--guard"}, true, 1},
		{[]string{"uninstall"}, false, 0},
	} {
		t.Logf("sm %q\n%s", c.args, run(program, c.args...))
		if list := run(
			h.client,
			"plugin",
			"list",
			"--json",
		); strings.Contains(
			list,
			`"session-monitor@sm"`,
		) != c.plugin {
			t.Errorf("sm %q: the client has %s", c.args, list)
		}
		before := o.series()
		h.headless()
		after := o.series()
		for _, event := range []string{
			"SessionStart",
			"UserPromptSubmit",
			"Stop",
			"SessionEnd",
		} {
			if got := after[hooked(event)] - before[hooked(event)]; got != c.hooks {
				t.Errorf("sm %q: %v times %s, want %v", c.args, got, event, c.hooks)
			}
		}
	}
	text, err := os.ReadFile(h.home + "/.claude/settings.json")
	if err != nil || strings.Contains(string(text), program) {
		t.Errorf("left behind: %s, %v", text, err)
	}
}
