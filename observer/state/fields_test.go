package state

import (
	"fmt"
	"reflect"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"sm/observer/fleet"
	"sm/observer/tally"
	"sm/transcript"
)

// fill sets every field to a value of its own that is not zero.
func fill(t *testing.T, v reflect.Value, n *int64) {
	t.Helper()
	*n += 7
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = time.Unix(1_700_000_000+*n, *n).UTC()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); !f.IsExported() {
				t.Fatalf("%s.%s is not exported: it cannot be stored", v.Type(), f.Name)
			}
			fill(t, v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), n)
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		v.SetInt(*n)
	case reflect.Uint, reflect.Uint64, reflect.Uint32, reflect.Uint16, reflect.Uint8:
		v.SetUint(uint64(*n))
	default:
		t.Fatalf("fill cannot make a %s: teach it, and the coder", v.Type())
	}
}

func filled[T any](t *testing.T) T {
	t.Helper()
	var v T
	n := int64(0)
	fill(t, reflect.ValueOf(&v).Elem(), &n)
	return v
}

// roundTrip writes v and reads it back.
func roundTrip[T any](v T, fields func(*coder, *T)) (got T, read coder) {
	w := coder{}
	fields(&w, &v)
	r := coder{buf: w.buf, decode: true, words: map[string]string{}}
	fields(&r, &got)
	return got, r
}

func testRoundTrip[T any](t *testing.T, fields func(*coder, *T)) {
	t.Helper()
	var zero T
	for name, want := range map[string]T{"filled": filled[T](t), "zero": zero} {
		got, r := roundTrip(want, fields)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%T, %s: every field must stand in fields.go (-want +got):\n%s", want, name, d)
		}
		if r.bad || len(r.buf) > 0 {
			t.Errorf("%T, %s: bad %v, %d bytes left", want, name, r.bad, len(r.buf))
		}
	}
}

func TestFieldsSurvive(t *testing.T) {
	testRoundTrip(t, (*coder).file)
	testRoundTrip(t, (*coder).sessionRecord)
	testRoundTrip(t, (*coder).counters)
}

func TestStoredSurvives(t *testing.T) {
	// What a Store writes besides records of their own: created, settled, claims.
	want := filled[fleet.Stored](t)
	for i := range want.Files {
		want.Files[i].Cursor.Path += fmt.Sprint(i)
	}
	dir := t.TempDir()
	s, err := Open(dir, quiet(), want.Created)
	if err != nil {
		t.Fatal(err)
	}
	want.Agents = nil // they are values, which the observer writes
	mustSave(t, s, fleet.Delta{Settled: want.Settled, Files: want.Files, Records: want.Records, Claims: want.Claims, Counters: &want.Counters})
	if d := sameStored(want, mustLoad(t, s)); d != "" {
		t.Errorf("in the same run (-want +got):\n%s", d)
	}
	s.Close()
	if d := sameStored(want, mustLoad(t, mustOpen(t, dir))); d != "" {
		t.Errorf("in the next run (-want +got):\n%s", d)
	}
}

// A record that was written before its last fields existed reads as if they were zero,
// and one with more fields than are known reads without them.
func TestFieldsGrow(t *testing.T) {
	full := filled[fleet.File](t)
	extra := "of a later version"

	var old coder
	old.group(func() { old.text(&full.Cursor.Path) })
	old.textOf(&full.Name, "")

	var newer coder
	newer.group(func() { newer.cursor(&full.Cursor); newer.text(&extra) })
	newer.textOf(&full.Name, "")
	newer.word(&full.Parent)
	newer.group(func() { newer.session(&full.Session, ""); newer.group(func() { newer.text(&extra) }) })
	newer.group(func() { newer.inherited(&full.Inherited); newer.text(&extra) })
	newer.text(&full.Key)
	list(&newer, full.Copies, fixed[transcript.Key])
	list(&newer, full.Known, fixed[transcript.Key])
	newer.group(func() { newer.text(&full.Title.Text); number(&newer, &full.Title.Source); newer.text(&extra) })
	list(&newer, full.Undecided, func(c *coder, u *transcript.Compaction) { c.group(func() { c.compaction(u); c.text(&extra) }) })
	list(&newer, full.Earlier, func(c *coder, s *transcript.Session) { c.group(func() { c.session(s, ""); c.text(&extra) }) })
	newer.text(&extra)

	for _, c := range []struct {
		name    string
		written []byte
		want    fleet.File
	}{
		{"nothing", nil, fleet.File{}},
		{"older", old.buf, fleet.File{Cursor: transcript.Cursor{Path: full.Cursor.Path}, Name: full.Name}},
		{"newer", newer.buf, full},
	} {
		r := coder{buf: c.written, decode: true}
		var got fleet.File
		r.file(&got)
		if d := cmp.Diff(c.want, got); d != "" || r.bad {
			t.Errorf("%s: bad %v (-want +got):\n%s", c.name, r.bad, d)
		}
	}
}

func TestArraysGrow(t *testing.T) {
	for _, c := range []struct{ written, want []int }{
		{[]int{1, 2}, []int{1, 2, 0, 99}},
		{[]int{1, 2, 3}, []int{1, 2, 3, 99}},
		{[]int{1, 2, 3, 4, 5}, []int{1, 2, 3, 99}},
	} {
		var w coder
		numbers(&w, c.written)
		last := 99
		number(&w, &last)
		r := coder{buf: w.buf, decode: true}
		var got [4]int
		numbers(&r, got[:3])
		number(&r, &got[3])
		if d := cmp.Diff(c.want, got[:]); d != "" {
			t.Errorf("%v (-want +got):\n%s", c.written, d)
		}
	}
}

// A parked session has 2 KB, so what says the same twice is kept once.
func TestTextsAreShared(t *testing.T) {
	files := []fleet.File{sampleFile(3), sampleFile(53)}
	words := map[string]string{}
	var got [2]fleet.File
	for i := range files {
		w := coder{}
		w.file(&files[i])
		r := coder{buf: w.buf, decode: true, words: words}
		r.file(&got[i])
	}
	if d := cmp.Diff(files, got[:]); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	a, b := &got[0], &got[1]
	for name, shared := range map[string][2]string{
		"name and path": {a.Name, a.Cursor.Path[len(a.Cursor.Path)-len(a.Name+".jsonl"):]},
		"id and name":   {a.Session.ID, a.Name},
		"directories":   {a.Session.CWD, b.Session.CWD},
		"models":        {a.Session.Model, b.Session.Model},
	} {
		if unsafe.StringData(shared[0]) != unsafe.StringData(shared[1]) {
			t.Errorf("%s: %q is kept twice", name, shared[0])
		}
	}
}

// FuzzFields reads anything as records: no panic, no allocation beyond reason.
func FuzzFields(f *testing.F) {
	w := coder{}
	sample := sampleFile(1)
	w.file(&sample)
	f.Add(w.buf)
	f.Fuzz(func(t *testing.T, b []byte) {
		var file fleet.File
		(&coder{buf: b, decode: true}).file(&file)
		var record fleet.SessionRecord
		(&coder{buf: b, decode: true}).sessionRecord(&record)
		var counters tally.Counters
		(&coder{buf: b, decode: true}).counters(&counters)
		if n := len(file.Copies) + len(counters.PreTokens.Counts) + len(counters.Duration.Counts); n > 3*len(b) {
			t.Errorf("%d elements of %d bytes", n, len(b))
		}
		for _, l := range []ledger{messageLedger, compactionLedger} {
			key := keyBytes(uint64(5))
			l.decode(nil, chunk{key: key, value: seal(string(l), key, append([]byte{format}, b...))})
		}
	})
}
