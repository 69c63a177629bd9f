package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// bashWords redefines a function of cobra's script for bash. The script calls
// it if the package bash-completion is not loaded, but cobra's definition needs
// that package.
const bashWords = `
__sm_init_completion()
{
    cword=$COMP_CWORD
    words=("${COMP_WORDS[@]}")
    cur=${words[cword]}
    prev=${words[cword-1]}
}
`

func newCompletionCommand(env *environ) *cobra.Command {
	cmd := command(`completion bash|zsh|fish
Print the script with which a shell completes commands, flags and agents

'make install' and the packages put the scripts where the shells look for them.

$ source <(sm completion bash)       # in ~/.bashrc
$ source <(sm completion zsh)        # in ~/.zshrc
$ sm completion fish | source        # in ~/.config/fish/config.fish
`, nil, func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			err := root.GenBashCompletionV2(env.Stdout, true)
			fmt.Fprint(env.Stdout, bashWords)
			return err
		case "zsh":
			return root.GenZshCompletion(env.Stdout)
		case "fish":
			return root.GenFishCompletion(env.Stdout, true)
		}
		return usagef("no completion for %s: give bash, zsh or fish", quote(args[0]))
	})
	cmd.ValidArgs = []string{"bash", "zsh", "fish"}
	return cmd
}
