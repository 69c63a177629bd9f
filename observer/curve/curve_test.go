package curve

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unsafe"

	"sm/alerts"
	"sm/transcript/clients/clientstest"
)

const session = "11111111-1111-4111-8111-111111111111"

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func reply(at, msg string, context int) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u-%s","timestamp":%q,"version":"2.1.197","cwd":"/home/dev/web","message":{"id":%q,"model":"claude-haiku-4-5",`+
		`"usage":{"input_tokens":2,"cache_creation_input_tokens":100,"cache_read_input_tokens":%d,"output_tokens":1}}}`, msg, at, msg, context-102)
}

func boundary(at string) string {
	return fmt.Sprintf(`{"type":"system","subtype":"compact_boundary","uuid":"b1","timestamp":%q,"version":"2.1.197",`+
		`"compactMetadata":{"trigger":"auto","preTokens":91000,"durationMs":17516}}`, at)
}

func at(seconds int) time.Time { return time.Unix(1_772_452_800+int64(seconds), 0) }

// written describes a history in short form: seconds:tokens, | before the first of a cycle,
// and marks in brackets.
func written(h *Curve) string {
	var parts []string
	v := h.Shown()
	for _, p := range v.Points {
		bar := ""
		if p.First {
			bar = "|"
		}
		parts = append(parts, fmt.Sprintf("%s%d:%d", bar, p.At-at(0).Unix(), p.Tokens))
	}
	for _, m := range v.Marks {
		parts = append(
			parts,
			strings.TrimSuffix(
				fmt.Sprintf("[%d %s %s", m.At-at(0).Unix(), m.Kind, m.Cause),
				" ",
			)+"]",
		)
	}
	return strings.Join(parts, " ")
}

func TestHistory(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(h *Curve)
		want string
	}{
		{"nothing", func(*Curve) {}, ""},
		{"readings", func(h *Curve) { h.Read(at(0), 10); h.Read(at(5), 20) }, "0:10 5:20"},
		{
			"an empty reading",
			func(h *Curve) { h.Read(at(0), 0); h.Read(at(0), -5); h.Read(time.Time{}, 5) },
			"",
		},
		{
			"an older reading",
			func(h *Curve) { h.Read(at(5), 10); h.Read(at(4), 20) },
			"5:10",
		},
		{
			"one second, one point",
			func(h *Curve) { h.Read(at(5), 10); h.Read(at(5), 10); h.Read(at(5), 12) },
			"5:12",
		},
		{"a compaction", func(h *Curve) {
			h.Read(at(0), 90)
			h.Open(at(5), compaction, "manual", 95)
			h.Read(at(5), 20)
			h.Read(at(5), 21)
			h.Read(at(9), 30)
		}, "0:90 |5:21 9:30 [5 compaction manual]"},
		{"a reading of the cycle before", func(h *Curve) {
			h.Open(at(5), "clear", "", 0)
			h.Read(at(4), 90)
			h.Read(at(6), 20)
		}, "|6:20 [5 clear]"},
		{"marks in the order of time, each once", func(h *Curve) {
			h.Note(at(9), alerts.KindCritical.String(), "", 1)
			h.Note(at(5), alerts.KindWarning.String(), "", 1)
			h.Note(at(9), alerts.KindCritical.String(), "", 1)
			h.Note(time.Time{}, alerts.KindStorm.String(), "", 1)
		}, "[5 warning] [9 critical]"},
		{"the rest of the history", func(h *Curve) {
			h.Read(at(100), 50)
			h.Read(at(110), 60)
			past := &Curve{}
			past.Read(at(50), 40)
			past.Open(at(60), compaction, "auto", 45)
			past.Read(at(90), 45)
			past.Read(at(100), 50)
			past.Read(at(110), 60)
			h.Fill(past, 1)
			h.Fill(&Curve{}, 1) // as deep: not again
			h.Read(at(120), 70)
		}, "50:40 |90:45 100:50 110:60 120:70 [60 compaction auto]"},
		{"only history, with a new cycle", func(h *Curve) {
			past := &Curve{}
			past.Read(at(50), 40)
			past.Open(at(60), compaction, "auto", 45)
			h.Fill(past, 1)
			h.Read(at(55), 41)
			h.Read(at(70), 20)
		}, "50:40 |70:20 [60 compaction auto]"},
		{"a cycle that began between history and live readings", func(h *Curve) {
			h.Read(at(100), 20)
			past := &Curve{}
			past.Read(at(50), 40)
			past.Open(at(60), compaction, "auto", 45)
			past.Read(at(100), 20)
			h.Fill(past, 1)
		}, "50:40 |100:20 [60 compaction auto]"},
		{"deeper", func(h *Curve) {
			h.Read(at(100), 50)
			near := &Curve{}
			far := &Curve{}
			near.Read(at(90), 45)
			far.Read(at(10), 5)
			far.Read(at(90), 45)
			h.Fill(near, 1)
			h.Fill(far, 2)
		}, "10:5 90:45 100:50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &Curve{}
			c.do(h)
			if got := written(h); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestHistoryIsBounded tests that memory is limited for any length, and that points are in
// order of time and include the ends of cycles and the newest reading.
func TestHistoryIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	h := &Curve{}
	size := 20_000
	now := 0
	var ends []Point
	for i := range 20_000 {
		now += 1 + rng.IntN(60)
		size += rng.IntN(2_000)
		if size > 167_000 {
			ends = append(ends, h.Points[len(h.Points)-1])
			h.Open(at(now), compaction, "auto", int64(size))
			size = 20_000
			now = now + 1
		}
		h.Read(at(now), int64(size))
		if i%50 == 0 {
			h.Note(at(now), alerts.KindWarning.String(), "", int64(size))
		}
		if n := len(h.Points); n > maxPoints || len(h.Marks) > maxMarks ||
			h.Points[n-1].Tokens != int64(size) {
			t.Fatalf(
				"%d points, %d marks, the last %d of %d",
				n,
				len(h.Marks),
				h.Points[n-1].Tokens,
				size,
			)
		}
		for j := 1; j < len(h.Points); j++ {
			if h.Points[j].At < h.Points[j-1].At {
				t.Fatal("not in the order of time")
			}
		}
	}
	bytes := int(unsafe.Sizeof(*h)) + cap(h.Points)*int(unsafe.Sizeof(Point{})) + cap(h.Marks)*int(unsafe.Sizeof(Mark{}))
	t.Logf("%d bytes", bytes)
	if bytes > 8<<10 {
		t.Errorf("%d bytes", bytes)
	}
	kept := map[Point]bool{}
	for _, p := range h.Points {
		kept[p] = true
	}
	for _, end := range ends[len(ends)-20:] {
		if !kept[end] {
			t.Errorf("the end of a cycle at %d tokens is dropped", end.Tokens)
		}
	}
}

// TestHistoryKeepsItsShape tests that a thinned curve is close to the original one.
func TestHistoryKeepsItsShape(t *testing.T) {
	h := &Curve{}
	// A slope with steps, and too much noise to store.
	curve := func(i int) int64 { return 20_000 + 70*int64(i) + int64(i%200/100)*9_000 + int64(i*7919%1000) }
	for i := range 2_000 {
		h.Read(at(i), curve(i))
	}
	worst := int64(0)
	for j := 1; j < len(h.Points); j++ {
		a := h.Points[j-1]
		b := h.Points[j]
		for s := a.At; s <= b.At; s++ {
			line := a.Tokens + (b.Tokens-a.Tokens)*(s-a.At)/max(
				1,
				b.At-a.At,
			)
			worst = max(
				worst,
				line-curve(int(s-h.Points[0].At)),
				curve(int(s-h.Points[0].At))-line,
			)
		}
	}
	if t.Logf("at most %d tokens off", worst); worst == 0 || worst > 2_500 {
		t.Errorf("%d tokens off the curve", worst)
	}
}

// TestMarksOfAllCycles tests that notices are dropped before the starts of cycles.
func TestMarksOfAllCycles(t *testing.T) {
	h := &Curve{}
	for i := range maxMarks {
		h.Open(at(10*i), compaction, "auto", 167_000)
		h.Note(at(10*i+5), alerts.KindWarning.String(), "", 100_000)
	}
	for i, m := range h.Marks {
		if m.Kind != compaction && i < len(h.Marks)-1 {
			t.Fatalf("mark %d of %d is a notice", i, len(h.Marks))
		}
	}
	if h.Marks[0].At != Seconds(at(0)) && h.Marks[0].At != Seconds(at(10)) {
		t.Errorf("the first mark is at %d", h.Marks[0].At)
	}
}

// TestReadEnd tests that the end of a transcript yields the curve before the start.
func TestReadEnd(t *testing.T) {
	dir := t.TempDir()
	stampAt := func(s int) string { return stamp(at(s)) }
	own := []string{
		reply(
			stampAt(0),
			"m1",
			50_000,
		), reply(
			stampAt(10),
			"m2",
			90_000,
		), reply(
			stampAt(10),
			"m2",
			90_000,
		), boundary(stampAt(20)),
		strings.Replace(
			reply(stampAt(25), "s1", 7_000),
			`{"type"`,
			`{"isSidechain":true,"type"`,
			1,
		), "no JSON", `{"type":"user"`,
		reply(stampAt(30), "m3", 20_000), reply(stampAt(5), "m4", 70_000),
	}
	for _, c := range []struct {
		name  string
		text  string
		depth int64
		want  string
	}{
		{
			"the whole file",
			strings.Join(own, "\n") + "\n",
			1 << 20,
			"0:50000 5:70000 10:90000 |30:20000 [20 compaction auto]",
		},
		{"an incomplete last line", strings.Join(own[:2], "\n"), 1 << 20, "0:50000"},
		{
			"from within a line on",
			strings.Join(own[:2], "\n") + "\n",
			int64(len(own[1]) + 10),
			"10:90000",
		},
		{"only a part of a line", strings.Repeat("x", 4096), 100, ""},
		{"empty", "", 100, ""},
		{
			"lines longer than a chunk", wide(
				own[0],
				3*chunkBytes,
			) + "\n" + wide(
				"no JSON",
				maxLine+chunkBytes,
			) + "\n" + own[1] + "\n" + wide(
				own[3],
				chunkBytes-1,
			) + "\n", 16 << 20,
			"0:50000 10:90000 [20 compaction auto]",
		},
		{
			"lines longer than the limit",
			own[0] + "\n" + wide(own[1], maxLine+1) + "\n" + wide(own[7], maxLine) + "\n",
			16 << 20,
			"0:50000 30:20000",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, session+".jsonl")
			noErrors(t, os.WriteFile(path, []byte(c.text), 0o600))
			h, err := ReadEnd(path, clientstest.Table().FormatOf(path, nil), c.depth)
			noErrors(t, err)
			if got := written(h); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := ReadEnd(path, nil, 100); err == nil {
			t.Errorf("%s is no transcript", path)
		}
	}
}

// wide pads a line to n bytes without a change of meaning.
func wide(line string, n int) string { return line + strings.Repeat(" ", n-len(line)) }

// TestReadEndInBoundedMemory tests that memory does not grow with the amount read.
func TestReadEndInBoundedMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), session+".jsonl")
	line := wide(reply(stamp(at(0)), "m1", 50_000), 4095) + "\n"
	noErrors(
		t,
		os.WriteFile(path, []byte(strings.Repeat(line, DetailDepth/len(line))), 0o600),
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	h, err := ReadEnd(path, clientstest.Table().FormatOf("x.jsonl", nil), DetailDepth)
	runtime.ReadMemStats(&after)
	noErrors(t, err)
	if got := written(h); got != "0:50000" {
		t.Errorf("got %s", got)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > DetailDepth/16 {
		t.Errorf("%d bytes for %d", took, DetailDepth)
	}
}

func FuzzReadEnd(f *testing.F) {
	f.Add([]byte(reply(
		"2026-03-02T12:00:00.000Z",
		"m1",
		50_000,
	) + "\n" + boundary("2026-03-02T12:01:00.000Z") + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := ofLines(
			"x",
			clientstest.Table().FormatOf("x.jsonl", nil),
			bytes.NewReader(text),
			false,
		)
		noErrors(t, err)
		var last Point
		for _, p := range h.Shown().Points {
			if p.At < last.At || p.Tokens <= 0 {
				t.Fatalf("%v after %v", p, last)
			}
			last = p
		}
	})
}
