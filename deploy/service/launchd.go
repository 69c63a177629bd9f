package service

import (
	"context"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
)

const agentLabel = "local.sm.observe"

// launchd returns the service manager of macOS, see launchd.plist(5) and
// launchctl(1). It was not tested on a Mac.
func launchd(o Options) manager {
	path := filepath.Join(o.Home, "Library", "LaunchAgents", agentLabel+".plist")
	domain := fmt.Sprintf("gui/%d", o.UID)
	agent := domain + "/" + agentLabel
	return manager{
		files: []file{{path: path, text: plist(o)}},
		start: [][]string{
			{"-launchctl", "bootstrap", domain, path},
			{"launchctl", "kickstart", agent},
		},
		// launchd has loaded the old file.
		restart: [][]string{
			{"-launchctl", "bootout", agent},
			{"launchctl", "enable", agent},
			{"launchctl", "bootstrap", domain, path},
		},
		stop: [][]string{{"-launchctl", "bootout", agent}},
		state: func(ctx context.Context) (string, error) {
			out, err := o.Run(ctx, "launchctl", "print", agent)
			if err != nil {
				return agentLabel + ": not loaded", nil
			}
			for line := range strings.Lines(out) {
				if key, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok &&
					key == "state" {
					return agentLabel + ": " + value, nil
				}
			}
			return agentLabel + ": loaded", nil
		},
	}
}

// plist returns the text of the agent's file. launchd restarts an agent after a
// failure, but not after an exit with code 0.
func plist(o Options) string {
	text := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
		return b.String()
	}
	var args strings.Builder
	for _, arg := range o.Args {
		args.WriteString("		<string>" + text(arg) + "</string>\n")
	}
	return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + mark + ` -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + agentLabel + `</string>
	<key>ProgramArguments</key>
	<array>
		<string>` + text(o.Program) + `</string>
` + args.String() + `		<string>observe</string>
	</array>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>ProcessType</key>
	<string>Background</string>
	<key>Umask</key>
	<integer>63</integer>
	<key>StandardErrorPath</key>
	<string>` + text(filepath.Join(o.Home, "Library", "Logs", "sm.log")) + `</string>
</dict>
</plist>
`
}
