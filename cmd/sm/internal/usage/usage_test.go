package usage

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func tree() *cobra.Command {
	root := &cobra.Command{
		Use:               "sm",
		Short:             "Watch",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	run := func(*cobra.Command, []string) error { return nil }
	send := &cobra.Command{
		Use:     "send [--loud] ID TEXT|-",
		Short:   "Send a message",
		Long:    "Send it.\n\n.hidden no\\more",
		Example: "  sm send a b",
		RunE:    run,
	}
	send.Flags().Bool("loud", false, "say it loudly")
	send.Flags().Bool("shy", false, "say it quietly")
	send.MarkFlagsMutuallyExclusive("loud", "shy")
	send.Flags().Int("times", 0, "say it `N` times")
	root.AddCommand(send, &cobra.Command{Use: "secret", Hidden: true, RunE: run})
	list := &cobra.Command{
		Use:    "list",
		Hidden: true,
		RunE:   run,
	}
	list.AddCommand(&cobra.Command{Use: "cancel ID", RunE: run})
	parent := &cobra.Command{Use: "parent bear|feed"}
	parent.AddCommand(&cobra.Command{Use: "feed", RunE: run}, &cobra.Command{Use: "bear", RunE: run})
	root.AddCommand(list, parent)
	root.SetFlagErrorFunc(FlagError)
	Explain(root, nil)
	return root
}

// TestErrors tests that errors about missing, superfluous or unknown arguments use the names
// of the help.
func TestErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"send":                  "ID and TEXT are missing: sm send [--loud] ID TEXT|-",
		"send a":                "TEXT is missing: sm send [--loud] ID TEXT|-",
		"send a b c":            `"c" is one argument too many: sm send [--loud] ID TEXT|-`,
		"send --lod a b":        "unknown flag: --lod (did you mean --loud?)",
		"send --luod a b":       "unknown flag: --luod (did you mean --loud?)",
		"list cnacel x":         `unknown command "cnacel" (did you mean "cancel"?)`,
		"parent":                "bear|feed is missing: sm parent bear|feed",
		"parent x":              `unknown command "x": sm parent bear|feed`,
		"list":                  "",
		"send --colour a b":     "unknown flag: --colour",
		"send --times x":        `--times "x": give a whole number`,
		"send --shy --loud a b": "--loud and --shy exclude each other: give one of them",
		"send a b":              "",
	} {
		root := tree()
		root.SetArgs(strings.Fields(args))
		err := root.Execute()
		if err == nil {
			err = errors.New("")
		}
		err = Plain(err)
		if err.Error() != want {
			t.Errorf("%s: got %q, want %q", args, err, want)
		}
	}
}
