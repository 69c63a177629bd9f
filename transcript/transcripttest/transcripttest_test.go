package transcripttest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"
)

// readFleet reads the files that a truth speaks of, and sees that there are no others.
func readFleet(t *testing.T, dir string, truth *Truth) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for path := range truth.Files {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = data
	}
	var found int
	err := filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			found++
		}
		return err
	})
	if err != nil || found != len(files) {
		t.Fatalf("%d files for %d truths: %v", found, len(files), err)
	}
	return files
}

// alone is what of a truth can be read in the file itself.
func alone(f FileTruth) FileTruth {
	f.AgentID, f.Origin, f.Family, f.CopyKind = "", "", "", None
	f.Figures, f.Inherited, f.Subagents = f.Alone, 0, Subagents{}
	if f.Version == "" {
		f.SessionID = "" // bare records name none
	}
	return f
}

// diff lists the fields in which two truths differ.
func diff(want, got any) string {
	var b bytes.Buffer
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	for i := range w.NumField() {
		if a, b2 := w.Field(i).Interface(), g.Field(i).Interface(); !reflect.DeepEqual(a, b2) {
			fmt.Fprintf(&b, "\n\t%s: want %+v, got %+v", w.Type().Field(i).Name, a, b2)
		}
	}
	return b.String()
}

func checkFleet(t *testing.T, dir string, truth *Truth) {
	t.Helper()
	files := readFleet(t, dir, truth)
	for path, want := range truth.Files {
		if d := diff(alone(*want), alone(Oracle(files[path]))); d != "" {
			t.Errorf("%s (%s, copy %s):%s", path, want.Version, want.CopyKind, d)
		}
	}
	got := OracleFleet(files)
	got.Files = truth.Files
	if d := diff(*truth, *got); d != "" {
		t.Errorf("fleet:%s", d)
	}
	var inherited, all int
	for path, f := range truth.Files {
		if !isAgentFile(path) {
			inherited += f.Inherited
			all += f.Alone.Compactions.Total()
		}
	}
	if all-inherited != truth.DistinctCompactions {
		t.Errorf("%d compactions, %d inherited, %d distinct", all, inherited, truth.DistinctCompactions)
	}
}

func TestGenerate(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 24
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			o := Options{Seed: seed, Sessions: 2, Traps: seed%4 != 0, Copies: seed%3 != 0, Subagents: seed%2 != 0}
			dir := t.TempDir()
			truth, err := Generate(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			checkFleet(t, dir, truth)
		})
	}
}

func TestGenerateLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes")
	}
	const size = 4 << 20
	dir := t.TempDir()
	o := Options{Seed: 9, Bytes: size, Traps: true, Copies: true, Subagents: true}
	truth, err := Generate(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if truth.Bytes < size*8/10 || truth.Bytes > size*15/10 {
		t.Errorf("%d bytes, want about %d", truth.Bytes, size)
	}
	checkFleet(t, dir, truth)
}

// TestMix holds the shares of a large fleet's bytes, and its median line.
func TestMix(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes")
	}
	dir := t.TempDir()
	truth, err := Generate(dir, Options{Seed: 2, Bytes: 16 << 20, Sessions: 20})
	if err != nil {
		t.Fatal(err)
	}
	shares, results := map[string]int{}, []int{}
	for _, data := range readFleet(t, dir, truth) {
		for line := range bytes.Lines(data) {
			o := objectOf(line)
			kind := o.text("type")
			if kind == "attachment" {
				kind = "progress"
			}
			shares[kind] += len(line)
			if o["toolUseResult"] != nil {
				results = append(results, len(line))
			}
		}
	}
	percent := func(kind string) int { return shares[kind] * 100 / int(truth.Bytes) }
	if u, a, p := percent("user"), percent("assistant"), percent("progress"); u < 64 || u > 80 || a < 17 || a > 31 || p < 1 || p > 9 {
		t.Errorf("user %d %%, assistant %d %%, progress and attachments %d %%", u, a, p)
	}
	slices.Sort(results)
	if m := results[len(results)/2]; m < 2_700 || m > 3_700 {
		t.Errorf("median line of a result: %d bytes", m)
	}
	if perGB := int64(truth.Messages) * 1e9 / truth.Bytes; perGB < 60_000 || perGB > 90_000 {
		t.Errorf("%d messages a GB", perGB)
	}
}

func TestGenerateAgain(t *testing.T) {
	digest := func(o Options) string {
		dir := t.TempDir()
		truth, err := Generate(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		files := readFleet(t, dir, truth)
		for _, path := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(h, "%s %+v\n%s", path, *truth.Files[path], files[path])
		}
		return fmt.Sprintf("%x", h.Sum(nil))
	}
	o := Options{Seed: 3, Traps: true, Copies: true, Subagents: true}
	once, again := digest(o), digest(o)
	if once != again {
		t.Error("the same options make another fleet")
	}
	o.Seed++
	if once == digest(o) {
		t.Error("another seed makes the same fleet")
	}
}

func TestGenerateOptions(t *testing.T) {
	start := time.Date(2025, 5, 6, 7, 8, 9, 0, time.UTC)
	dir := t.TempDir()
	truth, err := Generate(dir, Options{Seed: 1, Sessions: 6, Start: start, Eras: []Era{Era197}})
	if err != nil {
		t.Fatal(err)
	}
	for path, f := range truth.Files {
		if !slices.Contains(Era197.Versions(), f.Version) || f.Started.Before(start) || f.BadLines+f.Inherited+f.Subagents.Files > 0 || f.Origin != "" {
			t.Errorf("%s: %+v", path, f)
		}
		if info, err := os.Stat(filepath.Join(dir, path)); err != nil || !info.ModTime().Equal(f.LastActivity) || info.Size() != f.Bytes {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := Generate(filepath.Join(dir, "no\x00dir"), Options{}); err == nil {
		t.Error("no error for a folder that cannot be")
	}
}
