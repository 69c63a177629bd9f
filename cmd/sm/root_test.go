package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
)

type outcome struct {
	Code   int
	Out    string
	ErrOut string
}

func execute(t *testing.T, vars map[string]string, args ...string) outcome {
	t.Helper()
	env := testEnv(vars)
	code := env.execute(t.Context(), args)
	return outcome{code, env.Stdout.(*bytes.Buffer).String(), env.Stderr.(*bytes.Buffer).String()}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good := filepath.Join(dir, "good.yaml")
	bad := filepath.Join(dir, "bad.yaml")
	for name, text := range map[string]string{good: "state: ~/s\n", bad: "lisen: []\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		args []string
		want outcome
	}{
		{"unknown command", []string{"bogus"}, outcome{2, "", "sm: unknown command \"bogus\"; see 'sm --help'\n"}},
		{
			"near command",
			[]string{"versoin"},
			outcome{2, "", "sm: unknown command \"versoin\" (did you mean \"version\"?); see 'sm --help'\n"},
		},
		{
			"beginning of three",
			[]string{"stat"},
			outcome{2, "", "sm: unknown command \"stat\" (did you mean \"status\"?); see 'sm --help'\n"},
		},
		{"beginning of many", []string{"re"}, outcome{2, "", "sm: unknown command \"re\"; see 'sm --help'\n"}},
		{
			"nearest of two",
			[]string{"stauts"},
			outcome{2, "", "sm: unknown command \"stauts\" (did you mean \"status\"?); see 'sm --help'\n"},
		},
		{
			"unknown command with flags",
			[]string{"bogus", "--x"},
			outcome{2, "", "sm: unknown command \"bogus\"; see 'sm --help'\n"},
		},
		{
			"hostile command",
			[]string{"a\nb\x1b[2J"},
			outcome{2, "", "sm: unknown command \"a\\nb\\x1b[2J\"; see 'sm --help'\n"},
		},
		{"unknown flag", []string{"--bogus"}, outcome{2, "", "sm: unknown flag: --bogus; see 'sm --help'\n"}},
		{
			"unknown flag of a command",
			[]string{"version", "--bogus"},
			outcome{2, "", "sm: unknown flag: --bogus; see 'sm --help'\n"},
		},
		{
			"flag without value",
			[]string{"version", "--config"},
			outcome{2, "", "sm: flag needs an argument: --config; see 'sm --help'\n"},
		},
		{
			"too many arguments",
			[]string{"check-config", "a", "b"},
			outcome{2, "", "sm: \"b\" is one argument too many: sm check-config [FILE]; see 'sm --help'\n"},
		},
		{
			"no client",
			[]string{"status", "--client", "gemini"},
			outcome{2, "", "sm: --client: no client \"gemini\"; give one of claude, codex; see 'sm --help'\n"},
		},
		{
			"an empty client",
			[]string{"status", "--client", ""},
			outcome{2, "", "sm: --client is empty; see 'sm --help'\n"},
		},
		{
			"an empty name of a page",
			[]string{"report", "--html", ""},
			outcome{2, "", "sm: --html is empty; see 'sm --help'\n"},
		},
		{"near flag", []string{"status", "--jsn"}, outcome{2, "", "sm: --jsn: did you mean --json?\n"}},
		{
			"nothing to send",
			[]string{"send"},
			outcome{2, "", "sm: ID and TEXT are missing: sm send [--important|--urgent] ID TEXT|-; see 'sm --help'\n"},
		},
		{
			"no text to send",
			[]string{"send", "web"},
			outcome{2, "", "sm: TEXT is missing: sm send [--important|--urgent] ID TEXT|-; see 'sm --help'\n"},
		},
		{
			"no reminder",
			[]string{"remind", "web", "--in", "1m"},
			outcome{
				2,
				"",
				"sm: TEXT is missing: sm remind ID (--in TIME | [--soft TIME] [--hard TIME]) TEXT|-; see 'sm --help'\n",
			},
		},
		{
			"no transcript",
			[]string{"scan", good},
			outcome{
				2,
				"",
				"sm: \"" + good + "\" is no transcript: give a .jsonl file of a client, or a folder with such files; see 'sm --help'\n",
			},
		},
		{
			"unknown topic",
			[]string{"help", "bogus"},
			outcome{2, "", "sm: unknown command \"bogus\"; see 'sm --help'\n"},
		},
		{"good file", []string{"check-config", good}, outcome{0, good + ": ok\n", ""}},
		{"good file by flag", []string{"--config", good, "check-config"}, outcome{0, good + ": ok\n", ""}},
		{
			"two files",
			[]string{"--config", good, "check-config", bad},
			outcome{2, "", "sm: give FILE or --config, not both; see 'sm --help'\n"},
		},
		{
			"no name",
			[]string{"check-config", "--config="},
			outcome{2, "", "sm: --config is empty: give it a file; see 'sm --help'\n"},
		},
		{
			"bad file",
			[]string{"check-config", bad},
			outcome{1, "", "sm: " + bad + ":1: unknown key \"lisen\"; did you mean \"listen\"?\n"},
		},
		{
			"missing file",
			[]string{"check-config", dir + "/no"},
			outcome{1, "", "sm: " + dir + "/no: no such file or directory; give the name of an existing file\n"},
		},
		{
			"default place",
			[]string{"check-config"},
			outcome{0, "/home/u/.config/sm/config.yaml: not there; the defaults are ok\n", ""},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, execute(t, nil, tt.args...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--help"}, {"help"}, {"help", "check-config"}, {"check-config", "-h"}} {
		got := execute(t, nil, args...)
		if got.Code != 0 || got.ErrOut != "" || !strings.Contains(got.Out, "Usage:\n") {
			t.Errorf("sm %q: %+v", args, got)
		}
	}
}

// Each command that people call shows how, and has a manual page.
func TestExamplesAndPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := execute(t, nil, "man", dir); got != (outcome{}) {
		t.Fatalf("%+v", got)
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		switch {
		case cmd.Hidden || strings.Contains(cmd.Short, "called by the client"):
		case cmd.Example == "":
			t.Errorf("%s has no example", cmd.CommandPath())
		case err != nil || !strings.Contains(string(page), "\n.SH EXAMPLES\n.nf\n  "):
			t.Errorf("%s: %v\n%s", cmd.CommandPath(), err, page)
		}
		for _, sub := range cmd.Commands() {
			look(sub)
		}
	}
	look(newRootCommand(testEnv(nil)))
}

// A flag says the same as the command.
func TestVersionFlag(t *testing.T) {
	t.Parallel()
	if flag, command := execute(t, nil, "--version"), execute(t, nil, "version"); flag != command || flag.Code != 0 {
		t.Errorf("%+v, and the command %+v", flag, command)
	}
}

// An old client runs the bare sm as a hook: its answer would go to the agent, and code 2 would refuse the agent's prompt.
func TestBareCommandOnAPipe(t *testing.T) {
	t.Parallel()
	if got := execute(t, nil); got != (outcome{}) {
		t.Errorf("sm: %+v", got)
	}
	for _, args := range [][]string{{"bogus"}, {"bogus", "hook"}, {"--bogus"}, {"help", "bogus"}} {
		if got := execute(t, nil, args...); got.Code != 2 || got.Out != "" || strings.Count(got.ErrOut, "\n") != 1 {
			t.Errorf("sm %q: %+v", args, got)
		}
	}
}

func TestCheckConfigPrint(t *testing.T) {
	t.Parallel()
	got := execute(
		t,
		map[string]string{"SM_STATE": "/s", "SM_LISTEN": "127.0.0.1:1"},
		"check-config",
		"--print",
		"--socket",
		"/x.sock",
	)
	want := config.Default()
	want.State = "/s"
	want.Listen = []string{"127.0.0.1:1"}
	want.Socket = "/x.sock"
	if diff := cmp.Diff(outcome{Out: string(printed(t, want))}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStrayVariables(t *testing.T) {
	t.Parallel()
	got := execute(
		t,
		map[string]string{"SM_LOGLEVEL": "debug", "SM_PARENT_ID": "a", "SM_X\x1b": "b", "OTHER": "c"},
		"check-config",
	)
	want := "sm: warning: variable SM_LOGLEVEL sets nothing; the nearest known one is SM_LOG_LEVEL\n" +
		"sm: warning: variable SM_X? sets nothing; the nearest known one is SM_NAME\n"
	if got.Code != 0 || got.ErrOut != want {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func TestRunVersion(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	code := run(t.Context(), []string{"version"}, strings.NewReader(""), &out, &errOut)
	if code != 0 || errOut.Len() > 0 ||
		!regexp.MustCompile(`^sm \S+ \(go1\.\S+, \w+/\w+, .+\)\n$`).MatchString(out.String()) {
		t.Errorf("code %d, out %q, err %q", code, &out, &errOut)
	}
}

// Only cobra's own errors are about usage; those of a command are failures unless they say otherwise.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"done", t.Context(), nil, "<nil>"},
		{"failed", t.Context(), errors.New("refused"), "1 refused"},
		{"wrong usage", t.Context(), usagef("no %s", "ID"), "2 no ID; see 'sm --help'"},
		{"absent, wrapped", t.Context(), fmt.Errorf("ask: %w", absentf("no observer")), "2 ask: no observer"},
		{"silent", t.Context(), &exitError{code: 1}, "1 exit code 1"},
		{
			"cancelled",
			cancelled,
			fmt.Errorf("read: %w", context.Canceled),
			"1 interrupted; run it again for a whole answer",
		},
		{"cancelled by somebody else", t.Context(), context.Canceled, "1 context canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := &cobra.Command{
				Use:           "x",
				RunE:          func(*cobra.Command, []string) error { return tt.err },
				SilenceErrors: true,
				SilenceUsage:  true,
			}
			codeErrors(cmd)
			cmd.SetArgs([]string{})
			err := cmd.ExecuteContext(tt.ctx)
			got := fmt.Sprint(err)
			if exit, ok := errors.AsType[*exitError](err); ok {
				got = fmt.Sprint(exit.code, " ", err)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
