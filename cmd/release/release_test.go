package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"sm/deploy"
)

func moment() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC) }

func someBuild() build {
	return build{version: "v1.2.3", commit: "0123456789abcdef", time: moment(), goVer: "go1.26.8", deps: []*debug.Module{
		{Path: "example.org/a_b/c", Version: "v1.0.0"},
		{Path: "example.org/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/new", Version: "v2.0.0"}},
	}}
}

func TestBuildOf(t *testing.T) {
	t.Parallel()
	settings := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2026-03-04T05:06:07Z"}, {Key: "vcs.modified", Value: modified}}
	}
	for version, want := range map[string]string{
		"v1.2.3": "", "v1.0.0-rc.1": "", "v0.1.1-0.20260304050607-0123456789ab": "the commit has no tag",
	} {
		b, err := buildOf(&debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings("false")})
		if err != nil || b.unfit() != want || !b.time.Equal(moment()) {
			t.Errorf("%s: %+v, unfit %q, want %q; %v", version, b, b.unfit(), want, err)
		}
	}
	b, err := buildOf(&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: settings("true")})
	if err != nil || !strings.Contains(b.unfit(), "not committed") {
		t.Errorf("dirty: unfit %q, %v", b.unfit(), err)
	}
	if _, err := buildOf(&debug.BuildInfo{}); err == nil {
		t.Error("a program without a commit is taken")
	}
}

// TestArchive: what is packed twice has the same bytes, whatever the files' own times, modes and owners are.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) item {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("text of "+name), mode); err != nil {
			t.Fatal(err)
		}
		return item{path, "share/" + name, 0o644}
	}
	items := []item{write("a", 0o600), write("b", 0o755)}
	items[1].mode = 0o755
	sums := map[string]bool{}
	var last string
	for _, name := range []string{"1.tar.gz", "2.tar.gz"} {
		last = filepath.Join(dir, name)
		if err := writeArchive(last, "sm_1", items, moment()); err != nil {
			t.Fatal(err)
		}
		sum, err := sha256Of(last)
		if err != nil {
			t.Fatal(err)
		}
		sums[sum] = true
		if err := os.Chtimes(items[0].from, moment(), moment()); err != nil {
			t.Fatal(err)
		}
	}
	if len(sums) != 1 {
		t.Error("the same files gave different archives")
	}
	want := map[string]string{"sm_1/share/a": "-rw-r--r-- 2026-03-04T05:06:07Z text of a", "sm_1/share/b": "-rwxr-xr-x 2026-03-04T05:06:07Z text of b"}
	if diff := cmp.Diff(want, unpacked(t, last)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got[h.Name] = h.FileInfo().Mode().String() + " " + h.ModTime.UTC().Format(time.RFC3339) + " " + string(text)
	}
}

func TestBill(t *testing.T) {
	t.Parallel()
	small := someBuild()
	small.deps = small.deps[:1]
	d := billOf("sm_1.2.3_linux_amd64", []part{{"sm", someBuild(), "5u"}, {"sm-hook", small, "6v"}})
	var got []string
	ids := map[string]bool{}
	for _, p := range d.Packages {
		ids[p.ID] = true
		line := p.Name + " " + p.Version
		for _, r := range p.Refs {
			line += " " + r.Locator
		}
		got = append(got, line)
	}
	want := []string{"sm v1.2.3", "stdlib go1.26.8 pkg:golang/stdlib@go1.26.8", "example.org/a_b/c v1.0.0 pkg:golang/example.org/a_b/c@v1.0.0",
		"example.org/new v2.0.0 pkg:golang/example.org/new@v2.0.0", "sm-hook v1.2.3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := len(d.Relationships); n != 7 { // two programs, with three modules and with two
		t.Errorf("%d relationships: %+v", n, d.Relationships)
	}
	for _, r := range d.Relationships {
		if !ids[r.To] || strings.ContainsAny(r.To, "_/@ ") {
			t.Errorf("%s leads to %q", r.Type, r.To)
		}
	}
	text, err := json.Marshal(d)
	if err != nil || !strings.Contains(string(text), `"spdxVersion":"SPDX-2.3"`) {
		t.Errorf("%s %v", text, err)
	}
}

// TestTemplates: the package's configuration is YAML with all files, the formula names each archive with its checksum.
func TestTemplates(t *testing.T) {
	t.Parallel()
	text, err := packageConfig("../..", someBuild(), target{"linux", "arm64"}, []item{{"/x/sm", "bin/sm", 0o755}, {"/x/sm.1", "share/man/man1/sm.1", 0o644}})
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Arch, Version string
		Contents      []struct {
			Src, Dst string
			Info     struct{ Mode int } `yaml:"file_info"`
		}
	}
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got.Arch != "arm64" || got.Version != "1.2.3" || len(got.Contents) != 2 || got.Contents[0].Dst != "/usr/bin/sm" || got.Contents[0].Info.Mode != 0o755 {
		t.Errorf("got %+v", got)
	}
	r := &release{root: "../..", out: t.TempDir(), base: "https://example.org/d/", build: someBuild()}
	for _, target := range targets() {
		if err := os.WriteFile(filepath.Join(r.out, r.name(target)+".tar.gz"), []byte(target.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.writeFormula(); err != nil {
		t.Fatal(err)
	}
	formula, err := os.ReadFile(filepath.Join(r.out, "sm.rb"))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets() {
		sum, err := sha256Of(filepath.Join(r.out, r.name(target)+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "url \"https://example.org/d/" + r.name(target) + ".tar.gz\"\n      sha256 \"" + sum + "\"\n"; !strings.Contains(string(formula), want) {
			t.Errorf("no %q in\n%s", want, formula)
		}
	}
}

// TestFolders: a package has the folders that no other need have, so that it leaves none behind.
func TestFolders(t *testing.T) {
	t.Parallel()
	items := []item{{to: "bin/sm"}, {to: "lib/systemd/user/sm.service"}, {to: "share/doc/sm/README.md"}, {to: "share/fish/vendor_completions.d/sm.fish"},
		{to: "share/man/man1/sm.1"}, {to: "share/sm/config.example.yaml"}, {to: "share/sm/rules/a.yml"}, {to: "share/sm/rules/b.yml"}}
	text, err := packageConfig("../..", someBuild(), target{"linux", "arm64"}, items)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Contents []struct{ Dst, Type string } }
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, c := range got.Contents {
		if c.Type == "dir" {
			folders = append(folders, c.Dst)
		}
	}
	want := []string{"/usr/share/doc/sm", "/usr/share/fish", "/usr/share/fish/vendor_completions.d", "/usr/share/sm", "/usr/share/sm/rules"}
	if diff := cmp.Diff(want, folders); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestContents: what is named for everybody is there, and the unit is the one of a packaged program.
func TestContents(t *testing.T) {
	t.Parallel()
	for from, to := range shared() {
		items, err := itemsBelow(filepath.Join("../..", from), to)
		if err != nil || len(items) == 0 {
			t.Errorf("%s: %d files, %v", from, len(items), err)
		}
		for _, it := range items {
			if strings.Contains(it.to, "_test") {
				t.Errorf("%s is a test", it.to)
			}
		}
	}
	for _, unit := range []string{packagedUnit(deploy.ServiceUnit()), packagedUnit(deploy.SocketUnit())} {
		if strings.Contains(unit, ".local") || strings.Contains(unit, "cp ") {
			t.Errorf("a package has put it in place already:\n%s", unit)
		}
	}
	if unit := packagedUnit(deploy.ServiceUnit()); !strings.Contains(unit, "\nExecStart=/usr/bin/sm observe\n") || !strings.Contains(unit, "enable --now sm") {
		t.Errorf("unit: %q", unit)
	}
	items := []item{{to: "bin/sm"}, {to: "lib/systemd/user/sm.service"}}
	if n := len(filesFor(target{"darwin", "arm64"}, items)); n != 1 || len(filesFor(target{"linux", "arm64"}, items)) != 2 {
		t.Errorf("darwin gets %d files", n)
	}
}

// TestPrograms: all programs are released, but for those that work on the source tree.
func TestPrograms(t *testing.T) {
	t.Parallel()
	mains, err := filepath.Glob("../*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, path := range mains {
		if name := filepath.Base(filepath.Dir(path)); name != "bench" && name != "release" {
			want = append(want, name)
		}
	}
	if diff := cmp.Diff(want, programs()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEmptyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := emptyFolder(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
	if err := emptyFolder(dir); err == nil || !strings.Contains(err.Error(), "-out") {
		t.Errorf("a folder that is not empty: %v", err)
	}
}
