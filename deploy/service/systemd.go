package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"

	"sm/deploy"
)

// systemd is the user's service manager: systemd.service(5), systemd.socket(5).
type systemd struct{}

func (systemd) files(o Options) []file {
	dir := filepath.Join(o.Config, "systemd", "user")
	return []file{
		{filepath.Join(dir, "sm.socket"), socketUnit(o)},
		{filepath.Join(dir, "sm.service"), serviceUnit(o)},
	}
}

// ready refuses where an observer runs that is not the service's: systemd would take its socket's place.
func (systemd) ready(ctx context.Context, o Options) error {
	c, err := new(net.Dialer).DialContext(ctx, "unix", o.Socket)
	if err != nil {
		return nil
	}
	_ = c.Close() // it was only tried
	if out, _ := o.Run(ctx, "systemctl", "--user", "is-active", "sm.socket"); firstLine(out) == "active" {
		return nil
	}
	return fmt.Errorf("an observer answers at %s already: stop it, then try again", o.Socket)
}

func (systemd) start(_ Options, changed bool) [][]string {
	if !changed {
		return [][]string{{"systemctl", "--user", "enable", "--now", "sm.socket", "sm.service"}}
	}
	return [][]string{
		{"systemctl", "--user", "daemon-reload"},
		{"systemctl", "--user", "enable", "sm.socket", "sm.service"},
		// The socket first: while its service runs it cannot be opened anew.
		{"systemctl", "--user", "stop", "sm.service", "sm.socket"},
		{"systemctl", "--user", "start", "sm.socket", "sm.service"},
	}
}

func (systemd) stop(Options) [][]string {
	return [][]string{{"systemctl", "--user", "disable", "--now", "sm.socket", "sm.service"}}
}

func (systemd) forget(Options) [][]string {
	return [][]string{{"systemctl", "--user", "daemon-reload"}}
}

// state asks for what is enabled and what runs; systemctl's own exit code says the same and is no error here.
func (systemd) state(ctx context.Context, o Options) (string, error) {
	var lines []string
	for _, unit := range []string{"sm.socket", "sm.service"} {
		enabled, err1 := o.Run(ctx, "systemctl", "--user", "is-enabled", unit)
		active, err2 := o.Run(ctx, "systemctl", "--user", "is-active", unit)
		var exit *exec.ExitError
		for _, err := range []error{err1, err2} {
			if err != nil && !errors.As(err, &exit) {
				return "", fmt.Errorf("systemctl: %w; is systemd there?", err)
			}
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", unit, firstLine(enabled), firstLine(active)))
	}
	return strings.Join(lines, "\n"), nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line == "" || strings.HasPrefix(line, "Failed") { // to get the state of what is not there
		return "unknown"
	}
	return line
}

// serviceUnit is the unit that packages have, for this program and with its sockets.
func serviceUnit(o Options) string {
	return "# " + mark + "\n" + strings.Replace(strip(deploy.ServiceUnit()), "ExecStart=%h/.local/bin/sm observe", "ExecStart="+o.commandLine(), 1)
}

// socketUnit is the packages' unit with the addresses of this configuration.
func socketUnit(o Options) string {
	var b strings.Builder
	b.WriteString("# " + mark + "\n")
	for line := range strings.Lines(strip(deploy.SocketUnit())) {
		if strings.HasPrefix(line, "ListenStream=") {
			continue
		}
		b.WriteString(line)
		if line == "[Socket]\n" {
			for _, address := range append([]string{o.Socket}, o.Listen...) {
				b.WriteString("ListenStream=" + strings.ReplaceAll(address, "%", "%%") + "\n")
			}
		}
	}
	return b.String()
}

// strip leaves out the head of a unit: it says how to install it by hand.
func strip(unit string) string {
	_, rest, _ := strings.Cut(unit, "[Unit]\n")
	return "[Unit]\n" + rest
}

// commandLine is how the service starts sm.
func (o Options) commandLine() string {
	words := []string{quote(o.Program)}
	for _, arg := range append(o.Args[:len(o.Args):len(o.Args)], "observe") {
		words = append(words, quote(arg))
	}
	return strings.Join(words, " ")
}

// quote makes a path one word of a command line: systemd.service(5), "Command lines", and systemd.unit(5), "Specifiers".
func quote(path string) string {
	path = strings.NewReplacer("%", "%%", "$", "$$").Replace(path)
	if !strings.ContainsAny(path, " \t'\"\\;") {
		return path
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
