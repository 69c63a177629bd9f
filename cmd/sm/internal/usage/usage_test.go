package usage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
	send.Flags().Int("times", 0, "say it `N` times")
	root.AddCommand(send, &cobra.Command{Use: "secret", Hidden: true, RunE: run})
	list := &cobra.Command{
		Use:    "list",
		Hidden: true,
		RunE:   run,
	}
	list.AddCommand(&cobra.Command{Use: "cancel ID", RunE: run})
	root.AddCommand(list)
	root.SetFlagErrorFunc(FlagError)
	Explain(root)
	return root
}

// TestErrors: what is missing, too much or unknown has the name that the help gives it.
func TestErrors(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"send":              "ID and TEXT are missing: sm send [--loud] ID TEXT|-",
		"send a":            "TEXT is missing: sm send [--loud] ID TEXT|-",
		"send a b c":        `"c" is one argument too many: sm send [--loud] ID TEXT|-`,
		"send --lod a b":    "--lod: did you mean --loud?",
		"send --luod a b":   "--luod: did you mean --loud?",
		"list cnacel x":     `unknown command "sm list cnacel" (did you mean "cancel"?)`,
		"list everything":   `"everything" is one argument too many: sm list`,
		"list":              "",
		"send --colour a b": "unknown flag: --colour; see 'sm --help'",
		"send --times x":    `--times "x": give a whole number; see 'sm --help'`,
		"send a b":          "",
	} {
		root := tree()
		root.SetArgs(strings.Fields(args))
		err := root.Execute()
		if err == nil {
			err = errors.New("")
		}
		if err.Error() != want {
			t.Errorf("%s: %q, want %q", args, err, want)
		}
	}
}

// TestMan: a page for each command that is not hidden, in which roff reads
// nothing that is not meant for it.
func TestMan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := WriteMan(tree(), dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(pages) != 2 {
		t.Fatalf("%v, %v", pages, err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "sm-send.1"))
	if err != nil {
		t.Fatal(err)
	}
	want := `.TH "SM-SEND" 1
.SH NAME
sm\-send \- Send a message
.SH SYNOPSIS
sm send [\-\-loud] ID TEXT|\-
.SH DESCRIPTION
Send it.
.PP
\&.hidden no\emore
.SH OPTIONS
.nf
  \-h, \-\-help      help for send
      \-\-loud      say it loudly
      \-\-times N   say it N times
.fi
.SH EXAMPLES
.nf
  sm send a b
.fi
.SH SEE ALSO
sm(1)
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := WriteMan(
		tree(),
		pages[0],
	); err == nil ||
		!strings.Contains(err.Error(), "name a folder") {
		t.Errorf("a file: %v", err)
	}
}
