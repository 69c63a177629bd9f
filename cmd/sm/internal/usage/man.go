package usage

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// WriteMan writes a manual page for each command of a tree into a folder: sm.1, sm-status.1 and so on.
func WriteMan(cmd *cobra.Command, dir string) error {
	if cmd.Hidden {
		return nil
	}
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(page(cmd)), 0o644)
	}
	if err != nil {
		return fmt.Errorf(
			"write the manual pages: %w; name a folder that you may write to",
			err,
		)
	}
	for _, sub := range cmd.Commands() {
		if err := WriteMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(
		cmd.CommandPath(),
		" ",
		"-",
	)
}

// page is a command's manual page in roff.
func page(cmd *cobra.Command) string {
	var b strings.Builder
	name := pageName(cmd)
	cmd.InitDefaultHelpFlag()
	fmt.Fprintf(
		&b,
		".TH %q 1\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(name),
		roff(name),
		roff(cmd.Short),
	)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n%s\n", roff(cmd.UseLine()))
	fmt.Fprintf(
		&b,
		".SH DESCRIPTION\n%s\n",
		strings.ReplaceAll(roff(cmp.Or(cmd.Long, cmd.Short+".")), "\n\n", "\n.PP\n"),
	)
	flags := func(title string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&b, ".SH %s\n", title)
		set.VisitAll(func(f *pflag.Flag) {
			value, text := pflag.UnquoteUsage(f)
			fmt.Fprintf(
				&b,
				".TP\n%s\n%s\n",
				roff(strings.TrimSpace("--"+f.Name+" "+value)),
				roff(text),
			)
		})
	}
	flags("OPTIONS", cmd.NonInheritedFlags())
	flags("EVERYWHERE", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var also []string
	if cmd.HasParent() {
		also = append(also, pageName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			also = append(also, pageName(sub))
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", roff(strings.Join(also, "(1), ")))
	}
	return b.String()
}

// roff writes a text so that roff shows it as it stands.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
