package codex

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	idA = "01a200a2-c691-7de0-a325-4ece90591c2c"
	idB = "01a200b1-9e64-74a2-8e73-ca8d66571072"
)

// TestCases folds the short transcripts of testdata/cases.txt, one for each rule: below a
// name, records, the meaning of each new one, and their sum. The results were checked against
// figures counted by hand; -update writes them again. At each line, Peek returns the session
// that the line then leads to.
func TestCases(t *testing.T) {
	t.Parallel()
	const name = "testdata/cases.txt"
	text, err := os.ReadFile(name)
	noErrors(t, err)
	var got strings.Builder
	for one := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		heading, lines, _ := strings.Cut(one, "\n")
		fmt.Fprintln(&got, heading)
		f := NewFold(transcript.File{Name: idA})
		f.KeepBills()
		for line := range strings.SplitSeq(lines, "\n") {
			if strings.HasPrefix(line, "=") {
				continue
			}
			fmt.Fprintln(&got, line)
			peeked, ok := f.Peek([]byte(line))
			var e transcript.Entry
			fresh, err := f.Line([]byte(line), len(line)+1, &e)
			peeked.Bytes++
			if d := cmp.Diff(peeked, *f.Sum()); d != "" || !ok || err != nil {
				t.Errorf(
					"%s: error %v, peeked %t (-peek +line):\n%s\n%s",
					heading,
					err,
					ok,
					d,
					line,
				)
			}
			if fresh {
				fmt.Fprintf(&got, "= kind %d, context %d, before %d, %s, rewound %t\n",
					e.Kind, e.Context, e.PreTokens, e.Trigger, e.Rewound)
			}
		}
		writeSum(&got, f)
	}
	if *update {
		noErrors(t, os.WriteFile(name, []byte(got.String()), 0o600))
		return
	}
	if d := cmp.Diff(string(text), got.String()); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

func writeSum(got *strings.Builder, f *Fold) {
	s := f.Sum()
	context, known := s.Context()
	fmt.Fprintf(got, "= %s of %q: context %d (%t), estimate %d, peak %d, window %d, turns %d (%t), messages %d, tokens %v\n",
		s.ID, s.Details().Parent, context, known, s.Details().Estimate, s.Peak, s.Details().Window, s.Turns, s.InTurn, s.Messages, s.Tokens)
	news := f.Take()
	for _, c := range news.Compactions {
		fmt.Fprintf(
			got,
			"= compaction %x: %s, before %d, copied %t\n",
			c.Key,
			c.Trigger,
			c.PreTokens,
			c.Copied,
		)
	}
	if limits := f.Facts().Limits; limits != [2]transcript.Limit{} {
		fmt.Fprintf(got, "= limits %v\n", limits)
	}
	if news.Unknown != nil {
		fmt.Fprintf(got, "= unknown %v\n", news.Unknown)
	}
	for _, b := range news.Bills {
		fmt.Fprintf(got, "= bill %+v\n", b)
	}
	fmt.Fprintf(got, "= %d keys, %d prompts\n\n", len(news.Worked.Keys), len(news.Worked.Prompts))
}

func noErrors(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
