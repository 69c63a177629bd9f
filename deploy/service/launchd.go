package service

import (
	"context"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
)

// launchd is macOS's service manager: launchd.plist(5), launchctl(1). Nothing of it was tried on a Mac.
type launchd struct{}

const agentLabel = "local.sm.observe"

func (launchd) files(o Options) []file {
	return []file{{filepath.Join(o.Home, "Library", "LaunchAgents", agentLabel+".plist"), plist(o)}}
}

func domain(uid int) string { return fmt.Sprintf("gui/%d", uid) }

func (launchd) ready(context.Context, Options) error { return nil }

// start loads the agent anew when its file has changed: launchd has read the old one.
func (l launchd) start(o Options, changed bool) [][]string {
	agent, path := domain(o.UID)+"/"+agentLabel, l.files(o)[0].path
	if !changed {
		return [][]string{{"-launchctl", "bootstrap", domain(o.UID), path}, {"launchctl", "kickstart", agent}}
	}
	return [][]string{{"-launchctl", "bootout", agent}, {"launchctl", "enable", agent}, {"launchctl", "bootstrap", domain(o.UID), path}}
}

func (launchd) stop(o Options) [][]string {
	return [][]string{{"-launchctl", "bootout", domain(o.UID) + "/" + agentLabel}}
}

func (launchd) forget(Options) [][]string { return nil }

func (launchd) state(ctx context.Context, o Options) (string, error) {
	out, err := o.Run(ctx, "launchctl", "print", domain(o.UID)+"/"+agentLabel)
	if err != nil {
		return agentLabel + ": not loaded", nil
	}
	for line := range strings.Lines(out) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " = "); ok && key == "state" {
			return agentLabel + ": " + value, nil
		}
	}
	return agentLabel + ": loaded", nil
}

// plist is the agent's file. A start that fails is tried again by launchd, an orderly end is not.
func plist(o Options) string {
	text := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
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
