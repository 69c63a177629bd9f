package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sm/deploy"
)

// pluginClientName calls this binary as a client that can only install plugins. It behaves
// and stores its files as the real one was observed to do.
const pluginClientName = "sm-plugin-client"

func pluginClient() {
	c := &clientPlugins{dir: filepath.Join(os.Getenv("HOME"), ".claude")}
	if err := c.run(os.Args[1:]); err != nil {
		fmt.Println("working on it…\n" + err.Error())
		os.Exit(1)
	}
}

type clientPlugins struct{ dir string }

func (c *clientPlugins) run(args []string) error {
	if err := c.note(args); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(
		c.dir,
		"refuses "+strings.Join(args[:2], " "),
	)); err == nil {
		return errors.New("✘ Failed: not today")
	}
	var settings map[string]any
	if err := c.load("settings.json", &settings); err != nil {
		return err
	}
	enabled := member(settings, "enabledPlugins")
	known := member(settings, "extraKnownMarketplaces")
	installed := map[string]any{}
	dir := ""
	if m, ok := known[deploy.Marketplace].(map[string]any); ok {
		dir = fmt.Sprint(m["source"].(map[string]any)["path"])
	}
	cached := filepath.Join(c.dir, "plugins", "cache", "copy")
	switch line := strings.Join(args, " "); {
	case strings.HasPrefix(line, "plugin marketplace add "):
		known[deploy.Marketplace] = map[string]any{"source": map[string]any{
			"source": "directory",
			"path":   args[3],
		}}
	case line == "plugin marketplace remove sm" && dir != "":
		delete(known, deploy.Marketplace)
	case line == "plugin install session-monitor@sm --scope user" && dir != "":
		if _, again := enabled[deploy.PluginID]; !again {
			if err := errors.Join(
				os.RemoveAll(cached),
				os.CopyFS(cached, os.DirFS(filepath.Join(dir, deploy.PluginName))),
			); err != nil {
				return err
			}
		}
		enabled[deploy.PluginID] = true
		installed[deploy.PluginID] = []any{map[string]any{"installPath": cached}}
	case line == "plugin uninstall session-monitor@sm --scope user" &&
		enabled[deploy.PluginID] != nil:
		delete(enabled, deploy.PluginID)
	default:
		return fmt.Errorf("✘ Failed: %s", line)
	}
	return errors.Join(
		c.save("settings.json", settings),
		c.save("plugins/installed_plugins.json", map[string]any{"plugins": installed}),
	)
}

func member(object map[string]any, name string) map[string]any {
	m, ok := object[name].(map[string]any)
	if !ok {
		m = map[string]any{}
		object[name] = m
	}
	return m
}

// note records the arguments of a call of the client.
func (c *clientPlugins) note(args []string) error {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(
		filepath.Join(c.dir, "calls"),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY,
		0o600,
	)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, strings.Join(args, " "))
	return errors.Join(err, f.Close())
}

func (c *clientPlugins) load(name string, v *map[string]any) error {
	*v = map[string]any{}
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, json.Unmarshal(text, v))
}

func (c *clientPlugins) save(name string, v map[string]any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	path := filepath.Join(c.dir, name)
	return errors.Join(
		err,
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, text, 0o600),
	)
}

// newPluginRig returns a home whose PATH has this client.
func newPluginRig(t *testing.T) *installRig {
	t.Helper()
	client, err := exec.LookPath(pluginClientName)
	noErrors(t, err)
	r := newInstallRig(t)
	r.write(
		r.home+"/path/claude",
		fmt.Sprintf(
			"#!/bin/sh\ncase $1 in --version) echo '2.1.330 (Claude Code)';; *) exec '%s' \"$@\";; esac\n",
			client,
		),
		0o700,
	)
	return r
}
