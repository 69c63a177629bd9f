package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"sm/deploy"
)

// An item is a file of an archive or a package, by its path below the prefix that it is installed to.
type item struct {
	from string // on this machine
	to   string // with slashes
	mode os.FileMode
}

// shared are the files of the source tree that people start from: example configuration, rules, dashboards.
func shared() map[string]string {
	return map[string]string{
		"README.md":                  "share/doc/sm/README.md",
		"CHANGELOG.md":               "share/doc/sm/CHANGELOG.md",
		"LICENSE":                    "share/doc/sm/copyright",
		"deploy/config.example.yaml": "share/sm/config.example.yaml",
		"deploy/alertmanager":        "share/sm/alertmanager",
		"deploy/prometheus":          "share/sm/prometheus",
		"dashboards/prometheus":      "share/sm/rules",
		"dashboards/grafana":         "share/sm/grafana",
	}
}

// contents are the files that do not depend on the target. The program of this machine writes its own manual pages and
// completions.
func (r *release) contents(ctx context.Context, host string) ([]item, error) {
	var items []item
	for from, to := range shared() {
		more, err := itemsBelow(filepath.Join(r.root, filepath.FromSlash(from)), to)
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	man := filepath.Join(r.stage, "man")
	if err := runQuietly(exec.CommandContext(ctx, host, "man", man)); err != nil {
		return nil, err
	}
	pages, err := itemsBelow(man, "share/man/man1")
	if err != nil {
		return nil, err
	}
	items = append(items, pages...)
	for shell, to := range map[string]string{
		"bash": "share/bash-completion/completions/sm",
		"zsh":  "share/zsh/site-functions/_sm",
		"fish": "share/fish/vendor_completions.d/sm.fish",
	} {
		it, err := r.completion(ctx, host, shell, to)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	for name, text := range map[string]string{"sm.service": packagedUnit(deploy.ServiceUnit()), "sm.socket": packagedUnit(deploy.SocketUnit())} {
		unit := filepath.Join(r.stage, name)
		if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
			return nil, err
		}
		items = append(items, item{unit, "lib/systemd/user/" + name, 0o644})
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.to, b.to) })
	return items, nil
}

func (r *release) completion(ctx context.Context, host, shell, to string) (item, error) {
	text, err := exec.CommandContext(ctx, host, "completion", shell).Output()
	if err != nil {
		return item{}, fmt.Errorf("completion %s: %w", shell, err)
	}
	path := filepath.Join(r.stage, "completion."+shell)
	return item{path, to, 0o644}, os.WriteFile(path, text, 0o644)
}

// filesFor leaves out what a system has no use for: the unit where there is no systemd.
func filesFor(t target, items []item) []item {
	if t.os == "linux" {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(it item) bool { return strings.HasPrefix(it.to, "lib/systemd/") })
}

// packagedUnit is the unit for a program that stands where packages put it. Its head says nothing of copying files.
func packagedUnit(unit string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(unit, "%h/.local/bin/sm", "/usr/bin/sm")) {
		if !strings.HasPrefix(line, "#   cp ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// itemsBelow are a file, or all files of a folder but tests.
func itemsBelow(path, to string) ([]item, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []item{{path, to, 0o644}}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var items []item
	for _, e := range entries {
		if strings.Contains(e.Name(), "_test.") {
			continue
		}
		more, err := itemsBelow(filepath.Join(path, e.Name()), to+"/"+e.Name())
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return items, nil
}
