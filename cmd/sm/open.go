package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"sm/observer/api"
)

func newOpenCommand(env *environ) *cobra.Command {
	printOnly := false
	return command(`open [ID]
Open the page in your browser

Open the observer's page with an address that is valid once, for a minute. The browser gets a cookie for 12 hours, so
it also works where the system cannot identify the browser's user: on macOS, in containers, through a forwarded
port. With ID the page shows that agent. If no browser can be started, the address is printed.

$ sm open
$ sm open web
$ sm open --print    # only the address, for a browser on another machine behind 'ssh -L 8420:127.0.0.1:8420'

--print print the address and start no browser
`, flags{
		"print": &printOnly,
	}, env.asking(func(ctx context.Context, client *api.Client, args []string) error {
		page, err := client.OpenPage(ctx)
		if err != nil {
			return err
		}
		address := page.URL
		if len(args) > 0 {
			s, err := client.Session(ctx, args[0])
			if err != nil {
				return err
			}
			address = page.At(s.ID)
		}
		if !printOnly && env.browse(ctx, address) == nil {
			return nil
		}
		return env.print("%s", address)
	}))
}

// browse starts the user's browser: the program in BROWSER, else that of the desktop.
func (env *environ) browse(ctx context.Context, address string) error {
	program := env.Get("BROWSER")
	if program == "" {
		program = "xdg-open"
		if runtime.GOOS == "darwin" {
			program = "open"
		} else if env.Get("DISPLAY") == "" && env.Get("WAYLAND_DISPLAY") == "" {
			return errors.New("no desktop")
		}
	}
	return exec.CommandContext(context.WithoutCancel(ctx), program, address).Start()
}
