package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sm/deploy"
)

// systemd returns the user's service manager on Linux, see systemd.service(5)
// and systemd.socket(5).
func systemd(o Options) manager {
	dir := filepath.Join(o.Config, "systemd", "user")
	control := func(args ...string) []string {
		return append([]string{"systemctl", "--user"}, args...)
	}
	reload := control("daemon-reload")
	return manager{
		files: []file{
			{path: filepath.Join(dir, "sm.socket"), text: socketUnit(o)},
			{path: filepath.Join(dir, "sm.service"), text: serviceUnit(o)},
		},
		start: [][]string{control("enable", "--now", "sm.socket", "sm.service")},
		restart: [][]string{
			reload,
			control("enable", "sm.socket", "sm.service"),
			// The socket cannot be opened again while its service runs.
			control("stop", "sm.service", "sm.socket"),
			control("start", "sm.socket", "sm.service"),
		},
		stop:    [][]string{control("disable", "--now", "sm.socket", "sm.service")},
		removed: [][]string{reload},
		state:   o.unitStates,
	}
}

// noOtherObserver returns an error if an observer runs that is not the
// service's: systemd would replace its socket.
func (o Options) noOtherObserver(ctx context.Context) error {
	c, err := new(net.Dialer).DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return nil
	}
	_ = c.Close() // nothing was sent
	out, _ := o.Run(ctx, "systemctl", "--user", "is-active", "sm.socket")
	if firstLine(out) == "active" {
		return nil
	}
	return fmt.Errorf("an observer answers at %s already: stop it, then try again", o.Socket)
}

// unitStates returns which units are enabled and active. The exit code of
// systemctl depends on that, so it is not an error.
func (o Options) unitStates(ctx context.Context) (string, error) {
	var lines []string
	for _, unit := range []string{"sm.socket", "sm.service"} {
		var states []string
		for _, question := range []string{"is-enabled", "is-active"} {
			out, err := o.Run(ctx, "systemctl", "--user", question, unit)
			if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
				return "", fmt.Errorf("systemctl: %w; is systemd there?", err)
			}
			states = append(states, firstLine(out))
		}
		lines = append(lines, unit+": "+strings.Join(states, ", "))
	}
	return strings.Join(lines, "\n"), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line == "" ||
		strings.HasPrefix(line, "Failed") { // there is no such unit
		return "unknown"
	}
	return line
}

// serviceUnit returns the packages' service unit, changed to run this program.
func serviceUnit(o Options) string {
	words := []string{quote(o.Program)}
	for _, arg := range o.Args {
		words = append(words, quote(arg))
	}
	unit := strings.Replace(strip(deploy.ServiceUnit), "ExecStart=%h/.local/bin/sm observe",
		"ExecStart="+strings.Join(append(words, "observe"), " "), 1)
	return "# " + mark + "\n" + unit
}

// socketUnit returns the packages' socket unit, changed to the addresses of
// this configuration.
func socketUnit(o Options) string {
	listen := "[Socket]\n"
	for _, address := range append([]string{o.Socket}, o.Listen...) {
		listen += "ListenStream=" + strings.ReplaceAll(address, "%", "%%") + "\n"
	}
	unit := strip(deploy.SocketUnit)
	unit = regexp.MustCompile(`(?m)^ListenStream=.*\n`).ReplaceAllString(unit, "")
	return "# " + mark + "\n" + strings.Replace(unit, "[Socket]\n", listen, 1)
}

// strip removes the head of a unit, which explains how to install it by hand.
func strip(unit string) string {
	_, rest, _ := strings.Cut(unit, "[Unit]\n")
	return "[Unit]\n" + rest
}

// quote quotes a word of a command line: systemd.service(5), "Command lines", and
// systemd.unit(5), "Specifiers".
func quote(path string) string {
	path = strings.NewReplacer("%", "%%", "$", "$$").Replace(path)
	if !strings.ContainsAny(path, " \t'\"\\;") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
