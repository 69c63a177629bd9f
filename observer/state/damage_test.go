package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sm/observer/fleet"
	"sm/observer/tally"
)

// sampleState returns a file with every kind of record, and its content. It was written often
// enough to have free pages and pages of old versions.
func sampleState(t *testing.T) (image []byte, content fleet.Stored) {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, dir)
	r := rand.New(rand.NewPCG(7, 7))
	content = fleet.Stored{
		Created:  testNow(),
		Settled:  true,
		Counters: filled[tally.Counters](t),
	}
	for i := range 20 {
		d := fleet.Delta{
			Settled:  true,
			Counters: &content.Counters,
			Files:    []fleet.File{sampleFile(i)},
			Records:  []fleet.SessionRecord{sampleRecord(i)},
		}
		d.Claims, d.Messages = randomClaims(r, 8, 90), randomClaims(r, 16, 90)
		content.Files, content.Records = append(
			content.Files,
			d.Files...,
		), append(
			content.Records,
			d.Records...,
		)
		content.Claims = append(content.Claims, d.Claims...)
		mustSave(t, s, d)
	}
	// Saved twice, so that both meta pages refer to the same content.
	mustSave(t, s, fleet.Delta{Counters: &content.Counters})
	if d := sameStored(content, mustLoad(t, s)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	s.Close()
	image, err := os.ReadFile(filepath.Join(dir, FileName))
	noErrors(t, err)
	return image[:usedBytes(t, image)], content
}

// Offsets in a meta page of bbolt, after a header of 16 bytes.
const (
	metaAt       = 16
	metaSumAt    = 56
	metaPagesAt  = 40
	metaTransact = 48
)

// usedBytes returns the size of the file without the free space after its last page.
func usedBytes(t *testing.T, image []byte) int {
	t.Helper()
	size := os.Getpagesize()
	newest := image[metaAt:]
	if other := image[size+metaAt:]; binary.NativeEndian.Uint64(other[metaTransact:]) > binary.NativeEndian.Uint64(newest[metaTransact:]) {
		newest = other
	}
	return size * int(binary.NativeEndian.Uint64(newest[metaPagesAt:]))
}

// plant creates a state directory with that file.
func plant(t *testing.T, dir string, image []byte) {
	t.Helper()
	noErrors(t, os.RemoveAll(dir), os.Mkdir(dir, 0o700))
	noErrors(t, os.WriteFile(filepath.Join(dir, FileName), image, 0o600))
}

func setAsideFiles(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, FileName+".damaged-*"))
	noErrors(t, err)
	return names
}

func TestDamagedFileIsSetAside(t *testing.T) {
	image, _ := sampleState(t)
	page := os.Getpagesize()
	edit := func(f func(b []byte)) []byte {
		b := bytes.Clone(image)
		f(b)
		return b
	}
	for name, damaged := range map[string][]byte{
		"empty":                {},
		"one byte":             {0},
		"cut to a page":        image[:page],
		"cut to the meta":      image[:2*page],
		"cut in the middle":    image[:len(image)/2],
		"cut by a page":        image[:len(image)-page],
		"zeroes":               make([]byte, len(image)),
		"zeroes after the top": edit(func(b []byte) { clear(b[2*page:]) }),
		"no meta":              edit(func(b []byte) { clear(b[:2*page]) }),
		"both metas flipped":   edit(func(b []byte) { b[40] ^= 1; b[page+40] ^= 1 }),
		"garbage":              edit(func(b []byte) { fillRandom(b) }),
		"garbage pages":        edit(func(b []byte) { fillRandom(b[2*page:]) }),
		"text":                 []byte(strings.Repeat("not a database\n", 4096)),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sm")
			plant(t, dir, damaged)
			var log bytes.Buffer
			s, err := Open(dir, slog.New(slog.NewTextHandler(&log, nil)), testNow())
			noErrors(t, err)
			defer s.Close()
			if d := sameStored(fleet.Stored{Created: testNow()}, mustLoad(t, s)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			mustSave(t, s, fleet.Delta{Settled: true, Files: []fleet.File{sampleFile(1)}})

			aside := setAsideFiles(t, dir)
			if len(aside) != 1 || filepath.Base(aside[0]) != "state.db.damaged-20260801-120000" {
				t.Fatalf("set aside: %q", aside)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("the damaged file was changed: %v", err)
			}
			if n := strings.Count(
				log.String(),
				"level=ERROR",
			); n != 1 ||
				strings.Count(log.String(), "\n") != 1 {
				t.Errorf("%d errors logged:\n%s", n, log.String())
			}
		})
	}
}

func fillRandom(b []byte) {
	r := rand.New(rand.NewPCG(9, 9))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// TestDamagedRecordIsDropped tests that a damaged byte of a record loses only that record,
// until it is stored again.
func TestDamagedRecordIsDropped(t *testing.T) {
	image, want := sampleState(t)
	lost := want.Files[7]
	want.Files = slices.Delete(slices.Clone(want.Files), 7, 8)
	// Old versions of its page contain it too.
	image = bytes.ReplaceAll(
		image,
		[]byte(lost.Cursor.Path),
		[]byte(strings.Replace(lost.Cursor.Path, "dev", "dew", 1)),
	)
	dir := filepath.Join(t.TempDir(), "sm")
	plant(t, dir, image)
	var log bytes.Buffer
	s, err := Open(dir, slog.New(slog.NewTextHandler(&log, nil)), testNow())
	noErrors(t, err)
	for range 3 {
		if d := sameStored(want, mustLoad(t, s)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if n := s.Dropped(); n != 1 {
		t.Errorf("%d dropped, want 1", n)
	}
	if n := strings.Count(
		log.String(),
		"level=ERROR",
	); n != 1 ||
		!strings.Contains(log.String(), "records=1") {
		t.Errorf("%d errors logged, want 1:\n%s", n, log.String())
	}
	mustSave(t, s, fleet.Delta{Records: []fleet.SessionRecord{sampleRecord(1)}}) // any change
	s.Close()

	s = mustOpen(t, dir)
	if d := sameStored(want, mustLoad(t, s)); d != "" || s.Dropped() != 0 {
		t.Errorf("in the next run: %d dropped (-want +got):\n%s", s.Dropped(), d)
	}
	mustSave(t, s, fleet.Delta{Files: []fleet.File{lost}})
	want.Files = append(want.Files, lost)
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("stored again (-want +got):\n%s", d)
	}
}

// TestFileIsCutWhileOpen tests that a file truncated under a running observer, where mapped
// pages beyond its end fault, does not end the process; the next start begins again.
func TestFileIsCutWhileOpen(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	for n := 1; n < 40; n++ {
		d, v := stepDelta(n)
		mustSave(t, s, d, v)
	}
	noErrors(t, os.Truncate(filepath.Join(dir, FileName), int64(2*os.Getpagesize())))
	d, v := stepDelta(40)
	for range 3 {
		if err := s.Save(
			d,
			v,
		); err == nil ||
			!strings.HasPrefix(err.Error(), "save state: ") {
			t.Errorf("got %v, want an error of Save", err)
		}
	}
	if _, ok := s.Owner(stepClaim(3, 1).Key); ok {
		t.Error("Owner found a claim")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	mustOpen(t, dir)
	if names := setAsideFiles(t, dir); len(names) != 1 {
		t.Errorf("set aside: %q", names)
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir)
	mustSave(t, s, fleet.Delta{Settled: true, Files: []fleet.File{sampleFile(1)}})
	err := updateLocked(s, func(w *writer) error {
		w.putBytes(metaBucket, []byte(schemaRecord), binary.AppendVarint(nil, schema+1))
		// It may contain anything.
		b, err := w.tx.CreateBucket([]byte("nest"))
		if err == nil {
			_, err = b.CreateBucket([]byte("egg"))
		}
		return errors.Join(err, w.tx.DeleteBucket([]byte(sessionsBucket)))
	})
	noErrors(t, err)
	s.Close()
	path := filepath.Join(dir, FileName)
	before, err := os.ReadFile(path)
	noErrors(t, err)
	info, _ := os.Stat(path)
	testOpenError(t, dir, "state file has version 3 and this sm supports 2")
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was touched: %v", err)
	}
	if again, _ := os.Stat(path); !again.ModTime().Equal(info.ModTime()) {
		t.Error("the file was written to")
	}
	if names := setAsideFiles(t, dir); len(names) > 0 {
		t.Errorf("set aside: %q", names)
	}
}

// TestMetaLeadsNowhere tests valid meta pages with invalid references.
func TestMetaLeadsNowhere(t *testing.T) {
	image, _ := sampleState(t)
	for _, at := range []int{16, 32, 40} { // root, list of free pages, number of pages
		for _, value := range []uint64{0, 1, 2, 7, 1 << 20, 1 << 40, 1<<64 - 1, 1<<64 - 2} {
			b := bytes.Clone(image)
			for page := range 2 {
				m := b[page*os.Getpagesize()+metaAt:]
				binary.NativeEndian.PutUint64(m[at:], value)
				sum := fnv.New64a()
				sum.Write(m[:metaSumAt])
				binary.NativeEndian.PutUint64(m[metaSumAt:], sum.Sum64())
			}
			dir := filepath.Join(t.TempDir(), "sm")
			plant(t, dir, b)
			s := mustOpen(t, dir) // intact, or set aside: no panic, no fault
			mustLoad(t, s)
			d := fleet.Delta{Settled: true, Files: []fleet.File{sampleFile(1)}}
			if s.Save(d) != nil { // a damaged list of free pages: the file is rewritten
				mustSave(t, s, d)
			}
			s.Close()
		}
	}
}
