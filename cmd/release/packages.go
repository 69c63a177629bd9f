package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"
)

// nfpmModule is what makes the Debian and RPM packages; later versions need a module that the public proxy refuses.
const nfpmModule = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// packages makes the Debian and the RPM package of a target.
func (r *release) packages(ctx context.Context, t target, items []item) error {
	text, err := packageConfig(r.root, r.build, t, items)
	if err != nil {
		return err
	}
	config := filepath.Join(r.stage, "nfpm-"+t.arch+".yaml")
	if err := os.WriteFile(config, text, 0o644); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		args := append(r.nfpm[1:len(r.nfpm):len(r.nfpm)], "package", "--config", config, "--packager", kind,
			"--target", filepath.Join(r.out, r.name(t)+"."+kind))
		cmd := exec.CommandContext(ctx, r.nfpm[0], args...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.build.time.Unix()), "GOFLAGS=-mod=mod")
		if err := runQuietly(cmd); err != nil {
			return err
		}
	}
	return nil
}

// packageConfig fills in nfpm's configuration.
func packageConfig(root string, b build, t target, items []item) ([]byte, error) {
	type content struct{ From, To, Mode string }
	values := struct {
		Version, Arch, Time string
		Folders             []string
		Contents            []content
	}{Version: b.plain(), Arch: t.arch, Time: b.time.Format(time.RFC3339), Folders: folders(items)}
	for _, it := range items {
		values.Contents = append(values.Contents, content{it.from, "/usr/" + it.to, fmt.Sprintf("0%o", it.mode)})
	}
	return fill(root, "nfpm.yaml", values)
}

// folders are those that a package has to own, parents first: rpm removes no others. The system's own, as /usr/bin, are left
// out. Folders of completions are owned by the packages of shells too, which rpm allows.
func folders(items []item) []string {
	found := map[string]bool{}
	for _, it := range items {
		for dir := path.Dir(it.to); strings.Count(dir, "/") > 0; dir = path.Dir(dir) {
			if dir != "share/doc" && strings.HasPrefix(dir, "share/") && !strings.HasPrefix(dir, "share/man") {
				found["/usr/"+dir] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// fill executes one of the templates in deploy/release.
func fill(root, name string, values any) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "release", name))
	if err != nil {
		return nil, err
	}
	tmpl, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, values)
	return out.Bytes(), err
}

// writeFormula writes the Homebrew formula, when it is known where the archives will be.
func (r *release) writeFormula() error {
	if r.base == "" {
		return nil
	}
	type archive struct{ URL, Sum string }
	values := map[string]any{"Version": r.build.plain()}
	for _, t := range targets() {
		file := r.name(t) + ".tar.gz"
		sum, err := sha256Of(filepath.Join(r.out, file))
		if err != nil {
			return err
		}
		values[strings.ToUpper(t.os[:1])+t.os[1:]+strings.ToUpper(t.arch[:1])+t.arch[1:]] = archive{strings.TrimSuffix(r.base, "/") + "/" + file, sum}
	}
	text, err := fill(r.root, "sm.rb", values)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "sm.rb"), text, 0o644)
}
