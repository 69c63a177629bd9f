package main

import (
	"os"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"sm/cmd/sm/internal/config"
	"sm/deploy/doctor"
	"sm/deploy/install"
	"sm/observer/api"
)

func newBugreportCommand(env *environ) *cobra.Command {
	return command(`bugreport
Print a report to paste into an issue

Print versions, the findings of 'sm doctor', the changed settings, and counts of the observer if one answers. The
report has no text, title, name, address or path.

$ sm bugreport
`, nil, func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		cfg, err := env.config(cmd)
		if err != nil {
			cfg = config.Default()
		}
		o, _ := doctorOptions(cfg, env) // the findings include an error about sockets
		o.Anonymous = true
		small, _, _ := install.Small(ctx, o.Program, o.Version, o.Environ)
		client := api.NewClient(o.Sockets)
		all, _ := client.Sessions(ctx) // the findings include the error
		metrics, _ := client.Metrics(ctx)
		// The observer's own metrics other than 0, whose labels are fixed words.
		counts := regexp.MustCompile(`(?m)^(sm_|agent_compactions_total|process_(res|start))[^ /]* [1-9].*`)
		kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // its suffix may contain a name
		return env.printer().Print("bugreport", map[string]any{
			"version":  o.Version,
			"small":    small,
			"kernel":   regexp.MustCompile(`^[0-9.]*`).FindString(string(kernel)),
			"findings": doctor.Examine(ctx, o),
			"broken":   err,
			"settings": cfg.Changed(),
			"sessions": all.Sessions,
			"now":      time.Now().Unix(),
			"metrics":  counts.FindAllString(string(metrics), -1),
		})
	})
}
