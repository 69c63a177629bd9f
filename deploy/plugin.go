// Package deploy contains files to install: a plugin for the client, units for
// systemd, an example configuration, templates of packages, and files for
// Prometheus, its agent mode, Alertmanager and a compose stack.
//
// Invariants: a test loads each file with its tool, or parses it in the same way;
// the plugin has the hooks of `sm install`; the example configuration has the
// defaults.
//
// It installs nothing itself. Addresses in the files are loopback or examples.
package deploy

import (
	"embed"
	"io/fs"
)

//go:embed all:plugin
var embedded embed.FS

// ServiceUnit is the systemd unit of the observer, for a program in
// ~/.local/bin.
//
//go:embed systemd/sm.service
var ServiceUnit string

// SocketUnit is the systemd unit of the observer's addresses, for the default
// configuration.
//
//go:embed systemd/sm.socket
var SocketUnit string

// Plugin returns the folder of a local marketplace, called Marketplace, with
// one plugin.
func Plugin() fs.FS {
	dir, err := fs.Sub(embedded, "plugin")
	if err != nil {
		panic(err) // the name is not a valid path
	}
	return dir
}

// The names of the plugin in the client: its marketplace, its own name and id,
// and its file of hooks, relative to the marketplace's folder and to its own.
const (
	Marketplace     = "sm"
	PluginName      = "session-monitor"
	PluginID        = PluginName + "@" + Marketplace
	PluginHooks     = PluginName + "/" + PluginHooksFile
	PluginHooksFile = "hooks/hooks.json"
)
