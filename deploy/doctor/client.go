package doctor

import (
	"context"
	"path/filepath"

	"sm/deploy/install"
)

// client checks the client in the PATH and those that run.
func (d *doctor) client(ctx context.Context) {
	switch c, ok, err := install.ClientInPath(ctx, d.Path, d.Environ); {
	case err != nil:
		d.note("client", "run claude --version", "%v", err)
	case ok:
		d.clients = append(d.clients, c)
	}
	for _, dir := range d.Projects { // the clock reports that there are none
		d.clients = append(d.clients, install.RunningClients(filepath.Dir(dir))...)
	}
	for _, dir := range d.Projects {
		if c, ok := install.TranscribedClient(filepath.Dir(dir)); ok && len(d.clients) == 0 {
			d.clients = append(d.clients, c)
		}
	}
	if len(d.clients) == 0 {
		d.note("client", "install it, or put claude into the PATH",
			"no claude in the PATH, none is running, and none has left a transcript")
	}
	for i, c := range d.clients {
		d.memoryOf(c)
		if !install.Older(c.Version, install.OldestClient) {
			if i == 0 {
				d.ok("client", "%s", c)
			}
			continue
		}
		remedy := "run claude update"
		if c.PID != 0 {
			remedy = "end it, and start it anew after claude update"
		}
		d.broken("client", remedy, "%s: hooks do not work before %s", c, install.OldestClient)
	}
}

// withoutArgs returns a client that runs hooks by a shell only.
func (d *doctor) withoutArgs() (c install.Client, ok bool) {
	for _, c := range d.clients {
		if !install.TakesArgs(c.Version) && !install.Older(c.Version, install.OldestClient) {
			return c, true
		}
	}
	return c, false
}
