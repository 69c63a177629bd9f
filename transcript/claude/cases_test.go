package claude

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sm/transcript"
)

// TestCases folds the short transcripts of testdata/cases.txt, one for each rule: below a
// name, records, the meaning of each one besides its figures, and their sum. A name that
// begins with "agent-" is that of a subagent's file. The results were checked against figures
// counted by hand; -update writes them again.
func TestCases(t *testing.T) {
	t.Parallel()
	const name = "testdata/cases.txt"
	text, err := os.ReadFile(name)
	noErrors(t, err)
	var got strings.Builder
	for one := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		heading, lines, _ := strings.Cut(one, "\n")
		fmt.Fprintln(&got, heading)
		agent := strings.HasPrefix(heading, "# agent-")
		f := NewFold("00000000-0000-4000-8000-00000000000a", agent)
		for line := range strings.SplitSeq(lines, "\n") {
			if strings.HasPrefix(line, "=") {
				continue
			}
			fmt.Fprintln(&got, line)
			var e transcript.Entry
			if _, err := f.Line([]byte(line), len(line)+1, &e); err != nil {
				t.Errorf("%s: %v: %s", heading, err, line)
			}
			if e.Rewound {
				fmt.Fprintf(
					&got,
					"= rewound to %d, left %s until %s\n",
					e.Context,
					clock(e.Left),
					clock(e.Until),
				)
			}
			if e.Kind == transcript.KindContext || e.Text != "" {
				fmt.Fprintf(&got, "= kind %d, %q\n", e.Kind, e.Text)
			}
		}
		s := f.Session
		context, known := s.Context()
		fmt.Fprintf(
			&got,
			"= context %d (%t), cleared %d, peak %d; compactions",
			context,
			known,
			s.Reading.Cleared,
			s.Peak,
		)
		for trigger, n := range s.Compactions {
			fmt.Fprintf(&got, " %s %d", transcript.Trigger(trigger), n)
		}
		news := f.Take()
		fmt.Fprintf(&got, " (%d); turns %d (%t)", len(news.Compactions), s.Turns, s.InTurn)
		if title := f.Facts().Title; title.Text != "" {
			fmt.Fprintf(&got, "; title %q (%d)", title.Text, title.Source)
		}
		if news.Unknown != nil {
			fmt.Fprintf(&got, "; unknown %v", news.Unknown)
		}
		fmt.Fprint(&got, "\n\n")
	}
	checkGolden(t, name, got.String())
}

func clock(at transcript.Instant) string {
	if at == 0 {
		return "-"
	}
	return at.Time().Format("15:04:05")
}
