package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// codexStates are the events for which sm install writes hooks, as Codex's config.toml calls them.
func codexStates() []string {
	return []string{"session_start", "session_end", "user_prompt_submit", "post_tool_use", "post_model_request", "permission_request", "stop", "interrupt",
		"subagent_start", "subagent_stop", "pre_compact", "post_compact"}
}

// trust is what Codex writes down when the hooks of an installation are trusted.
func (c *clinic) trust() string {
	var b strings.Builder
	b.WriteString("model = \"gpt-6-sol\"\n\n[features]\nother = true\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"mine\"\n\n[hooks.state]\n")
	for _, event := range codexStates() {
		timeout := 5
		if event == "session_end" || event == "interrupt" {
			timeout = 1
		}
		sum := sha256.Sum256(fmt.Appendf(
			nil,
			`{"event_name":%q,"hooks":[{"async":false,"command":%q,"timeout":%d,"type":"command"}]}`,
			event,
			c.program+" hook --client codex",
			timeout,
		))
		fmt.Fprintf(
			&b,
			"\n[hooks.state.\"%s/.codex/hooks.json:%s:0:0\"]\ntrusted_hash = \"sha256:%x\"\n",
			c.home,
			event,
			sum,
		)
	}
	return b.String()
}

func (c *clinic) remove(path string) {
	c.t.Helper()
	if err := os.Remove(path); err != nil {
		c.t.Fatal(err)
	}
}

// TestDoctorOfCodex: whether Codex's hooks are there, and whether it runs them.
func TestDoctorOfCodex(t *testing.T) {
	t.Parallel()
	const (
		check = "codex hooks"
		asks  = "start codex and choose \"Trust all and continue\", or type /hooks and t"
		all   = "SessionStart, SessionEnd, UserPromptSubmit, PostToolUse, PostModelRequest, PermissionRequest, Stop, Interrupt, SubagentStart, SubagentStop, PreCompact, PostCompact"
	)
	for _, tt := range []struct {
		name string
		harm func(c *clinic, hooks, config string)
		want []finding
	}{
		{
			"all is well",
			func(*clinic, string, string) {},
			[]finding{{check, healthy, "installed for 12 events, and trusted", ""}},
		},
		{"no Codex", func(c *clinic, _, _ string) { c.vars["CODEX_HOME"] = c.home + "/nowhere" }, nil},
		{"none installed", func(c *clinic, _, _ string) { c.done("uninstall", "--codex") },
			[]finding{{
				check,
				noted,
				"not installed in ~/.codex/hooks.json; Codex's agents are not warned",
				"run sm install --codex",
			}}},
		{"one is missing", func(c *clinic, hooks, _ string) {
			c.write(hooks, strings.Replace(c.read(hooks), `"Interrupt"`, `"Other"`, 1), 0o600)
		}, []finding{{check, broken, "~/.codex/hooks.json has no hook for Interrupt", "run sm install --codex"}}},
		{"nobody was asked", func(c *clinic, _, config string) { c.write(config, "", 0o600) },
			[]finding{{
				check,
				broken,
				"Codex does not run 12 of 12, which its user has not trusted as they are: " + all,
				asks,
			}}},
		{"no configuration", func(c *clinic, _, config string) { c.remove(config) },
			[]finding{{
				check,
				broken,
				"Codex does not run 12 of 12, which its user has not trusted as they are: " + all,
				asks,
			}}},
		{"one has changed", func(c *clinic, hooks, _ string) {
			c.write(hooks, strings.Replace(c.read(hooks), `"timeout": 5`, `"timeout": 6`, 1), 0o600)
		}, []finding{{
			check,
			broken,
			"Codex does not run 1 of 12, which its user has not trusted as they are: SessionStart",
			asks,
		}}},
		{"one is switched off", func(c *clinic, _, config string) {
			c.write(
				config,
				strings.Replace(c.read(config), ":stop:0:0\"]\n", ":stop:0:0\"]\nenabled = false\n", 1),
				0o600,
			)
		}, []finding{{
			check,
			broken,
			"~/.codex/config.toml has switched off those for Stop",
			"switch them on in codex, with /hooks",
		}}},
		{"all are switched off", func(c *clinic, _, config string) {
			c.write(config, strings.Replace(c.read(config), "other = true", "hooks = false", 1), 0o600)
		}, []finding{{check, broken, "~/.codex/config.toml turns all hooks off", "remove hooks = false there"}}},
		{"a broken configuration", func(c *clinic, _, config string) { c.write(config, "a = \n", 0o600) },
			[]finding{{
				check,
				noted,
				"installed; whether they are trusted cannot be read from ~/.codex/config.toml: line 1 is not as Codex has it",
				"correct that file",
			}}},
		{"a value of another kind", func(c *clinic, _, config string) { c.write(config, "\nhooks = 5\n", 0o600) },
			[]finding{{
				check,
				noted,
				"installed; whether they are trusted cannot be read from ~/.codex/config.toml: line 2 is not as Codex has it",
				"correct that file",
			}}},
		{"broken hooks", func(c *clinic, hooks, _ string) { c.write(hooks, "{,}", 0o600) },
			[]finding{{
				check,
				broken,
				"line 1: invalid character ',' looking for beginning of object key string; correct the file, it is untouched (~/.codex/hooks.json)",
				"correct the file; Codex ignores all of it",
			}}},
		{"a hook of others that Codex does not know", func(c *clinic, hooks, _ string) {
			c.write(
				hooks,
				strings.Replace(
					c.read(hooks),
					`"hooks": {`,
					`"hooks": {"Other": [{"hooks": [{"type": "http", "url": "http://localhost"}]}],`,
					1,
				),
				0o600,
			)
		}, []finding{
			{
				check,
				broken,
				"Codex ignores all of ~/.codex/hooks.json because of a hook of type http for Other",
				"remove that hook",
			},
			{check, healthy, "installed for 12 events, and trusted", ""}}},
		{"a program that has gone", func(c *clinic, _, _ string) { c.remove(c.program) }, []finding{
			{check, healthy, "installed for 12 events, and trusted", ""},
			{
				check,
				broken,
				"they call ~/bin/sm, which does not exist or is not executable",
				"run sm install with an sm that stays where it is",
			}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClinic(t)
			hooks := c.home + "/.codex/hooks.json"
			config := c.home + "/.codex/config.toml"
			c.done("install", "--codex")
			c.write(config, c.trust(), 0o600)
			tt.harm(c, hooks, config)
			got := c.findings(check)
			for i := range got {
				got[i].Text, _, _ = strings.Cut(got[i].Text, "\n")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
