package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/observer/fleet"
	"sm/observer/tally"
)

// exported returns a state with every kind of record, and its export.
func exported(t *testing.T) (fleet.Stored, []byte) {
	t.Helper()
	s := mustOpen(t, t.TempDir())
	defer s.Close()
	mustSave(t, s, fleet.Delta{
		Settled:  true,
		Files:    []fleet.File{sampleFile(1), sampleFile(2)},
		Records:  []fleet.SessionRecord{sampleRecord(1), sampleRecord(2)},
		Claims:   []fleet.Claim{{Key: 7, Owner: 70}},
		Counters: &tally.Counters{Bytes: 5},
	}, Value{"agent/a", []byte(`{"ID":"a"}`)})
	var out bytes.Buffer
	records, err := s.Export(&out)
	if err != nil || records < 6 {
		t.Fatalf("%d records, %v", records, err)
	}
	return mustLoad(t, s), out.Bytes()
}

func anyValue(Value) error { return nil }

// TestExport tests that an imported state is the exported one, and exports the same.
func TestExport(t *testing.T) {
	want, text := exported(t)
	dir := filepath.Join(t.TempDir(), "new")
	if _, err := Import(
		dir,
		bytes.NewReader(text),
		anyValue,
		quiet(),
		testNow().Add(time.Hour),
	); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, dir)
	defer s.Close()
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	var again bytes.Buffer
	if _, err := s.Export(&again); err != nil || !bytes.Equal(text, again.Bytes()) {
		t.Errorf(
			"the second export differs (%d and %d bytes), %v",
			len(text),
			again.Len(),
			err,
		)
	}
	if _, err := Import(
		dir,
		bytes.NewReader(text),
		anyValue,
		quiet(),
		testNow(),
	); err == nil {
		t.Error("import into a directory in use succeeded")
	}
}

// TestImportRefuses tests that an incomplete export leaves no state, and that existing state
// stays.
func TestImportRefuses(t *testing.T) {
	_, text := exported(t)
	lines := strings.SplitAfter(string(text), "\n")
	without := func(i int) string {
		return strings.Join(
			append(append([]string{}, lines[:i]...), lines[i+1:]...),
			"",
		)
	}
	value := strings.Index(string(text), `"value":"`) + len(`"value":"`) + 4
	other := byte('A')
	if text[value] == other {
		other = 'B'
	}
	flipped := string(text[:value]) + string(other) + string(text[value+1:])
	cases := map[string]string{
		"nothing": "", "something else": `{"a":1}` + "\n", "no JSON": "\x00\xff", "no head": without(0), "no end": strings.Join(
			lines[:len(lines)-2],
			"",
		),
		"a record less": without(2), "a flipped byte": flipped,
		"a newer one": strings.Replace(string(text), `"schema":2`, `"schema":99`, 1),
		"an unknown bucket": strings.Replace(
			string(text),
			`"bucket":"files"`,
			`"bucket":"x"`,
			1,
		),
		"no records": lines[0] + `{"records":0}` + "\n",
	}
	for n := range 20 {
		cases[fmt.Sprintf("cut %d", n)] = string(text[:len(text)*n/20])
	}
	for name, bad := range cases {
		dir := t.TempDir()
		if n, err := Import(
			dir,
			strings.NewReader(bad),
			anyValue,
			quiet(),
			testNow(),
		); err == nil {
			t.Errorf("%s: got %d records, want an error", name, n)
		}
		for _, file := range []string{FileName, freshName} {
			if _, err := os.Lstat(filepath.Join(dir, file)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: leaves %s behind: %v", name, file, err)
			}
		}
	}
	unreadable := errors.New("unexpected end of JSON input")
	if _, err := Import(
		t.TempDir(),
		bytes.NewReader(text),
		func(Value) error { return unreadable },
		quiet(),
		testNow(),
	); !errors.Is(
		err,
		unreadable,
	) {
		t.Errorf("an unreadable value: %v", err)
	}

	dir := t.TempDir()
	s := mustOpen(t, dir)
	want := mustLoad(t, s)
	noErrors(t, s.Close())
	if _, err := Import(
		dir,
		bytes.NewReader(text),
		anyValue,
		quiet(),
		testNow(),
	); err == nil ||
		!strings.Contains(err.Error(), "--state") {
		t.Errorf("over an existing state: %v", err)
	}
	s = mustOpen(t, dir)
	defer s.Close()
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("the existing state has changed (-want +got):\n%s", d)
	}
}

// TestExportOfNoState tests that an export creates no state and sets none aside.
func TestExportOfNoState(t *testing.T) {
	dir := t.TempDir()
	if _, err := ExportFile(
		dir,
		"",
		io.Discard,
		quiet(),
		testNow(),
	); !errors.Is(
		err,
		fs.ErrNotExist,
	) {
		t.Errorf("without a state: %v", err)
	}
	bad := []byte(strings.Repeat("damaged ", 1000))
	path := filepath.Join(dir, FileName)
	noErrors(t, os.WriteFile(path, bad, 0o600))
	if _, err := ExportFile(dir, "", io.Discard, quiet(), testNow()); err == nil {
		t.Error("export of a damaged state succeeded")
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
		t.Errorf("the damaged file has changed: %v", err)
	}
}
