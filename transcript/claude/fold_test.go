package claude

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sm/transcript"
)

// orders calls each with all orders of 0..n-1.
func orders(n int, each func([]int)) {
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	var next func(k int)
	next = func(k int) {
		if k == n {
			each(p)
		}
		for i := k; i < n; i++ {
			p[k], p[i] = p[i], p[k]
			next(k + 1)
			p[k], p[i] = p[i], p[k]
		}
	}
	next(0)
}

// TestOneTotalInEveryOrder tests that a message costs what its largest line says, for any
// repetition and order of its lines, and wherever Take cuts between them.
func TestOneTotalInEveryOrder(t *testing.T) {
	usages := []string{
		`{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":1}`,
		`{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":1}`,
		`{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":70}`,
		`{"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":400}`,
		`{"input_tokens":3,"cache_read_input_tokens":97,"cache_creation_input_tokens":3,"output_tokens":400}`,
		`{"input_tokens":3,"cache_read_input_tokens":90,"output_tokens":400}`,
	}
	want := transcript.Usage{Input: 3, CacheRead: 100, Output: 400}
	for _, named := range []bool{true, false} {
		n := 0
		orders(len(usages), func(p []int) {
			n++
			f := NewFold("x", false)
			sum := transcript.Usage{}
			messages := 0
			for i, k := range p {
				uuid := ""
				if named {
					uuid = fmt.Sprint("u", k)
				}
				line := message(uuid, at(k), "msg_1", usages[k])
				if _, err := f.Line(
					[]byte(line),
					len(line)+1,
					&transcript.Entry{},
				); err != nil {
					t.Fatal(err)
				}
				if n>>i&1 == 0 && i < len(p)-1 {
					continue
				}
				taken := f.Take().Messages
				for _, m := range taken {
					if sum = sum.Plus(m.Usage).Minus(m.Was); m.Was == (transcript.Usage{}) {
						messages++
					}
				}
			}
			if f.Session.Tokens != want || f.Session.Messages != 1 || sum != want ||
				messages != 1 {
				t.Fatalf(
					"order %v, named %v: session %+v, taken %+v of %d messages",
					p,
					named,
					f.Session.Tokens,
					sum,
					messages,
				)
			}
		})
		if n != 720 {
			t.Fatalf("%d orders", n)
		}
	}
}

// history returns a file of many kinds of records.
func history(t *testing.T) []string {
	t.Helper()
	lines := []string{
		prompted(
			"p1",
			`"hello"`,
		), reading(
			"r1",
			at(1),
			1000,
		), reading(
			"r1",
			at(1),
			1000,
		), side(reading(
			"r2",
			at(2),
			700,
		)),
		boundary(
			"b",
			at(3),
			"auto",
			900,
			"",
		), summary(
			"s",
			"b",
			at(3),
		), reading(
			"r3",
			at(4),
			300,
		), "broken", "", reading(
			"r4",
			at(2),
			400,
		),
		`{"type":"assistant","message":{"usage":{"input_tokens":5}}}`, prompted(
			"p2",
			`"[sm 3] more"`,
		), summary(
			"s2",
			"r4",
			at(6),
		),
	}
	b, err := os.ReadFile("testdata/records.jsonl")
	noErrors(t, err)
	lines = append(lines, strings.Split(strings.TrimSpace(string(b)), "\n")...)
	return append(lines, reading("r5", at(50), 800))
}

// TestPeekLeavesTheFold compares two folds; one is asked at every line for the effect of each
// of the other lines.
func TestPeekLeavesTheFold(t *testing.T) {
	lines := history(t)
	all := cmp.Options{
		cmp.AllowUnexported(
			Fold{},
			priced{},
			cost{},
			moment{},
			transcript.Tally{},
			line{},
			chain{},
			titles{},
			point{},
			spot{},
		),
		cmpopts.IgnoreTypes(walker{}),
	}
	asked := NewFold("x", false)
	plain := NewFold("x", false)
	for i, line := range lines {
		for _, other := range lines {
			asked.Peek([]byte(other))
		}
		if d := cmp.Diff(plain, asked, all); d != "" {
			t.Fatalf("before line %d (-want +got):\n%s", i, d)
		}
		peeked, ok := asked.Peek([]byte(line))
		was := plain.Session
		var x, y transcript.Entry
		freshX, errX := plain.Line([]byte(line), len(line), &x)
		freshY, errY := asked.Line([]byte(line), len(line), &y)
		if freshX != freshY || errX != errY || !cmp.Equal(x, y) {
			t.Fatalf("line %d: %v %v, want %v %v", i, freshY, errY, freshX, errX)
		}
		want := plain.Session
		if errX != nil {
			want = was
		}
		if d := cmp.Diff(want, peeked); d != "" || ok != (errX == nil) {
			t.Fatalf("line %d, ok %v (-want +got):\n%s", i, ok, d)
		}
		if i%3 == 0 {
			if !cmp.Equal(plain.Take(), asked.Take()) {
				t.Fatalf("line %d: other changes", i)
			}
		}
	}
}
