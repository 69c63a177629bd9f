package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"sm/observer/api"
)

func newOpenCommand(env *environ) *cobra.Command {
	var printOnly bool
	cmd := &cobra.Command{
		Use:   "open [ID]",
		Short: "Open the page in your browser",
		Long: "Open the observer's page with an address that is valid once, for a minute. The browser gets a cookie for 12 hours, so\n" +
			"it also works where the system cannot identify the browser's user: on macOS, in containers, through a forwarded\n" +
			"port. With ID the page shows that agent. If no browser can be started, the address is printed.",
		ValidArgsFunction: completeAgents(env),
		Example:           "  sm open\n  sm open web\n  sm open --print    # only the address, for a browser on another machine behind 'ssh -L 8420:127.0.0.1:8420'",
		Args:              cobra.MaximumNArgs(1),
		RunE: env.asking(func(cmd *cobra.Command, client *api.Client, args []string) (err error) {
			var about api.Session
			if len(args) > 0 {
				if about, err = client.Session(cmd.Context(), args[0]); err != nil {
					return statusError(err, args[0])
				}
			}
			page, err := client.OpenPage(cmd.Context())
			if err != nil {
				return statusError(err)
			}
			address := page.URL
			if about.ID != "" {
				address = page.At(about.ID)
			}
			if !printOnly && env.browse(cmd.Context(), address) == nil {
				return nil
			}
			_, err = fmt.Fprintln(env.Stdout, address)
			return err
		}),
	}
	cmd.Flags().BoolVar(&printOnly, "print", false, "print the address and start no browser")
	return cmd
}

// errNoBrowser means that no browser was found.
var errNoBrowser = errors.New("no browser")

// browse starts the user's browser: the program in BROWSER, else what the desktop has for it.
func (env *environ) browse(ctx context.Context, address string) error {
	program, _ := env.LookupEnv("BROWSER")
	if program == "" {
		program = "xdg-open"
		display, _ := env.LookupEnv("DISPLAY")
		wayland, _ := env.LookupEnv("WAYLAND_DISPLAY")
		if runtime.GOOS == "darwin" {
			program = "open"
		} else if display == "" && wayland == "" {
			return errNoBrowser
		}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return errNoBrowser
	}
	return exec.CommandContext(context.WithoutCancel(ctx), path, address).Start()
}
