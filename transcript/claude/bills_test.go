package claude

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sm/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// billsOf returns the bills of a transcript.
func billsOf(t testing.TB, lines []byte, name string) []transcript.Bill {
	t.Helper()
	f := NewFold(name, false)
	f.KeepBills()
	var e transcript.Entry
	for line := range bytes.Lines(lines) {
		f.Line(bytes.TrimSuffix(line, []byte("\n")), len(line), &e)
	}
	return f.Take().Bills
}

// lineOf writes a bill without keys and times.
func lineOf(b transcript.Bill) string {
	var names []string
	for _, f := range b.Files {
		names = append(names, fmt.Sprintf("%s %d %d", f.Name, f.Reads, f.Tokens))
	}
	return fmt.Sprintf("%s %s: %d to %d tokens in %d ms; %d replies, %d reads, %d again of %d bytes and %d tokens; again %d commands, %d edits, %d prompts; regrown after %d %q",
		b.Kind, b.Trigger, b.Before, b.After, b.Millis, b.Replies, b.Reads, b.Rereads, b.Bytes, b.Tokens, b.Reruns, b.Reedits, b.Restated, b.Regrown, names)
}

// TestBillsOfFiles tests the shapes, recorded transcripts, and a transcript with a bill
// counted by hand.
func TestBillsOfFiles(t *testing.T) {
	var got strings.Builder
	for _, pattern := range []string{
		"testdata/bills/*.jsonl",
		"testdata/shapes/*.jsonl",
		"testdata/transcripts/*/*.jsonl",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			noErrors(t, err)
			list := billsOf(t, text, strings.TrimSuffix(filepath.Base(name), ".jsonl"))
			for _, b := range list {
				fmt.Fprintf(&got, "%s\n  %s\n", name, lineOf(b))
			}
		}
	}
	checkGolden(t, "testdata/bills/golden.txt", got.String())
}

// work writes the transcript of a session at work.
type work struct {
	bytes.Buffer
	rng     *rand.Rand
	n       int
	context int
	at      time.Time
}

func (w *work) record(kind string, rest map[string]any) {
	w.n++
	w.at = w.at.Add(time.Second)
	rest["type"], rest["uuid"], rest["timestamp"], rest["cwd"] = kind, fmt.Sprintf(
		"u%d",
		w.n,
	), w.at.Format("2006-01-02T15:04:05.000Z"), "/p"
	b, err := json.Marshal(rest)
	if err != nil {
		panic(err)
	}
	w.Write(append(b, '\n'))
	if w.rng.IntN(20) == 0 {
		w.Write(append(b, '\n')) // the client repeats some records
	}
}

var (
	workTools = []string{"Read", "Read", "Read", "Edit", "Write", "Bash", "Grep"}
	workTexts = []string{
		"please look at the reader and find out why the last line is lost",
		"please look at the reader and find out why the last line is lost!!",
		"now write a test for the parser that shows the fault in short words", "go on",
	}
)

// reply adds one message with its calls, a line each, and their results.
func (w *work) reply() {
	w.context += w.rng.IntN(500)
	id := fmt.Sprintf("msg%d", w.n)
	out := 0
	grown := 0
	for range 1 + w.rng.IntN(3) {
		out += w.rng.IntN(50)
		call := fmt.Sprintf("t%d", w.n)
		tool := workTools[w.rng.IntN(len(workTools))]
		on := fmt.Sprintf("/p/sub/\"%d\".go", w.rng.IntN(12))
		input := map[string]any{"file_path": on}
		if tool == "Bash" || tool == "Grep" {
			input = map[string]any{"command": on}
		}
		w.record("assistant", map[string]any{"message": map[string]any{
			"id": id, "model": "m", "usage": map[string]any{
				"input_tokens":  w.context,
				"output_tokens": out,
			},
			"content": []any{
				map[string]any{"type": "text", "text": "x"},
				map[string]any{"type": "tool_use", "id": call, "name": tool, "input": input},
			},
		}})
		size := w.rng.IntN(300)
		grown += size
		w.record(
			"user",
			map[string]any{"message": map[string]any{"content": []any{map[string]any{
				"type":        "tool_result",
				"tool_use_id": call,
				"content":     strings.Repeat("é", size/2),
			}}}},
		)
	}
	w.context += out + grown
}

func someWork(rng *rand.Rand) []byte {
	w := &work{rng: rng, at: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), context: 1000}
	for range 40 + rng.IntN(120) {
		switch rng.IntN(25) {
		case 0:
			w.record(
				"system",
				map[string]any{
					"subtype": "compact_boundary",
					"compactMetadata": map[string]any{
						"trigger":    "auto",
						"preTokens":  w.context,
						"durationMs": 1 + rng.IntN(100),
					},
				},
			)
			w.context = 500
		case 1, 2:
			w.record(
				"user",
				map[string]any{"message": map[string]any{"content": workTexts[rng.IntN(len(workTexts))]}},
			)
		default:
			w.reply()
		}
	}
	return w.Bytes()
}

// TestBillsOfWork tests bills of generated sessions. The golden file was checked with a count
// that searches the whole transcript for each boundary, as this one does for calls.
func TestBillsOfWork(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for seed := range uint64(20) {
		lines := someWork(rand.New(rand.NewPCG(seed, 1)))
		list := billsOf(t, lines, "x")
		for i, want := range naiveBills(t, lines) {
			b := list[i]
			b.Files = nil
			fmt.Fprintf(&got, "seed %d: %s done %v\n", seed, lineOf(b), b.Done)
			if [4]int{b.Reads, b.Rereads, b.Reruns, b.Reedits} != want {
				t.Errorf("seed %d, bill %d: %+v, want %v", seed, i, b, want)
			}
		}
	}
	checkGolden(t, "testdata/bills/work.txt", got.String())
}

// naiveBills returns the numbers of reads, and of repeated reads, commands and edits, in the
// replies after each boundary.
func naiveBills(t *testing.T, lines []byte) (list [][4]int) {
	t.Helper()
	type call struct {
		tool transcript.Tool
		on   string
	}
	done := map[call]bool{}   // since the start of the session
	before := map[call]bool{} // the last boundary
	seen := map[transcript.Key]bool{}
	replies := map[transcript.Key]bool{}
	for line := range bytes.Lines(lines) {
		var e transcript.Entry
		noErrors(t, scan(line, &e))
		if seen[e.UUID] && e.UUID != 0 {
			continue
		}
		seen[e.UUID] = true
		switch e.Kind {
		case transcript.KindBoundary:
			list = append(list, [4]int{})
			before = maps.Clone(done)
			clear(replies)
		case transcript.KindReading:
			replies[e.Message] = true
		}
		for _, c := range e.Calls {
			if c.Result {
				continue
			}
			one := call{c.Tool, string(c.On)}
			done[one] = true
			if len(list) == 0 || len(replies) > transcript.BillReplies {
				continue
			}
			counts := &list[len(list)-1]
			if c.Tool == transcript.ToolRead {
				counts[0]++
			}
			if i := map[transcript.Tool]int{
				transcript.ToolRead: 1, transcript.ToolRun: 2, transcript.ToolEdit: 3,
			}[c.Tool]; before[one] && i > 0 {
				counts[i]++
			}
		}
	}
	return list
}
