// Package deploy holds what people install: a plugin for the client, units for
// systemd, an example configuration, templates of packages, and files for
// Prometheus, its agent mode, Alertmanager and a compose stack.
//
// Invariants: each file is loaded by the tool that it is for, or read as that
// tool would read it, in a test; the plugin has the hooks that `sm install`
// has; the example configuration has the defaults.
//
// It installs nothing by itself, and names no machine: addresses are loopback,
// or examples.
package deploy

import (
	"embed"
	"io/fs"
)

//go:embed all:plugin
var embedded embed.FS

// ServiceUnit is the systemd unit of the observer, for a program in ~/.local/bin.
//
//go:embed systemd/sm.service
var ServiceUnit string

// SocketUnit is the systemd unit of the observer's addresses, for a
// configuration that sets none.
//
//go:embed systemd/sm.socket
var SocketUnit string

// Plugin is the folder of a local marketplace, called Marketplace, with one plugin in it.
func Plugin() fs.FS {
	dir, err := fs.Sub(embedded, "plugin")
	if err != nil {
		panic(err) // the name is no path
	}
	return dir
}

// The names that the client uses for the plugin: its marketplace, its own, and
// the file that has its hooks, in the marketplace's folder and in its own.
const (
	Marketplace     = "sm"
	PluginName      = "session-monitor"
	PluginID        = PluginName + "@" + Marketplace
	PluginHooks     = PluginName + "/" + PluginHooksFile
	PluginHooksFile = "hooks/hooks.json"
)
