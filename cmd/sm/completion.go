package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// bashWords stands in for the function of the package bash-completion that the script for bash
// calls.
const bashWords = `declare -F _get_comp_words_by_ref >/dev/null || _get_comp_words_by_ref() {
    cword=$COMP_CWORD
    words=("${COMP_WORDS[@]}")
    cur=${words[cword]}
    prev=${words[cword-1]}
}
`

func newCompletionCommand(env *environ) *cobra.Command {
	return command(`completion bash|zsh|fish
Print the script with which a shell completes commands, flags and agents

'make install' and the packages put the scripts where the shells look for them.

$ source <(sm completion bash)       # in ~/.bashrc
$ source <(sm completion zsh)        # in ~/.zshrc
$ sm completion fish | source        # in ~/.config/fish/config.fish
`, nil, func(cmd *cobra.Command, args []string) error {
		root := cmd.Root()
		switch args[0] {
		case "bash":
			fmt.Fprint(env.Stdout, bashWords)
			return root.GenBashCompletionV2(env.Stdout, true)
		case "zsh":
			return root.GenZshCompletion(env.Stdout)
		case "fish":
			return root.GenFishCompletion(env.Stdout, true)
		}
		return usagef("no completion for %s: give bash, zsh or fish", quote(args[0]))
	})
}
