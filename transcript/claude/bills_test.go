package claude

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/transcript"
	"sm/transcript/bills"
)

var update = flag.Bool("update", false, "write the golden files anew")

// billsOf are the bills of a transcript, and what was done in it.
func billsOf(t testing.TB, lines []byte, name string) ([]transcript.Bill, transcript.Worked) {
	t.Helper()
	f := NewFold(name, false)
	f.KeepBills()
	var e transcript.Entry
	for line := range bytes.Lines(lines) {
		f.Line(bytes.TrimSuffix(line, []byte("\n")), len(line), &e)
	}
	return f.Bills()
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

// TestBillsOfFiles: the shapes, what real clients have written, and a transcript with its bill counted by hand.
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
			if err != nil {
				t.Fatal(err)
			}
			list, _ := billsOf(t, text, strings.TrimSuffix(filepath.Base(name), ".jsonl"))
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
		w.Write(append(b, '\n')) // the client writes some records once more
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

// reply is one message with its calls, a line each, and their results.
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
		w.record("assistant", map[string]any{"message": map[string]any{"id": id, "model": "m", "usage": map[string]any{
			"input_tokens":  w.context,
			"output_tokens": out,
		},
			"content": []any{
				map[string]any{"type": "text", "text": "x"},
				map[string]any{"type": "tool_use", "id": call, "name": tool, "input": input},
			}}})
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
			w.record("user", map[string]any{"message": map[string]any{"content": workTexts[rng.IntN(len(workTexts))]}})
		default:
			w.reply()
		}
	}
	return w.Bytes()
}

// TestBillsCountedNaively: the ledger, which sees each record once, agrees with a reading of the whole transcript for each
// boundary.
func TestBillsCountedNaively(t *testing.T) {
	some := 0
	seeds := uint64(150)
	if testing.Short() {
		seeds = 15
	}
	for seed := range seeds {
		lines := someWork(rand.New(rand.NewPCG(seed, 1)))
		got, _ := billsOf(t, lines, "x")
		want := naiveBills(t, lines)
		for i := range got {
			got[i].Key = 0
			got[i].At = 0
			got[i].Files = nil
			some += got[i].Rereads
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, d)
		}
	}
	if some == 0 {
		t.Error("nothing was read again")
	}
}

// naive is what the naive count keeps of a record.
type naive struct {
	boundary       *transcript.Bill
	reply          string
	context, out   int64
	prompt         transcript.Key
	tool, on, call string // of a call
	result         string // the id of the call
	size           int64
}

func naiveRecords(t *testing.T, lines []byte) (all []naive) {
	t.Helper()
	type block struct {
		Type, ID, Name, Content string
		Of                      string `json:"tool_use_id"`
		Input                   struct {
			Path    string `json:"file_path"`
			Command string
		}
	}
	known := map[string]bool{}
	for line := range bytes.Lines(lines) {
		var r struct {
			UUID, Type, Subtype string
			CompactMetadata     struct{ PreTokens, DurationMs int64 }
			Message             struct {
				ID      string
				Content json.RawMessage
				Usage   struct {
					In  int64 `json:"input_tokens"`
					Out int64 `json:"output_tokens"`
				}
			}
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if known[r.UUID] {
			continue
		}
		known[r.UUID] = true
		if r.Subtype == "compact_boundary" {
			all = append(all, naive{
				boundary: &transcript.Bill{
					Trigger: transcript.Auto,
					Before:  r.CompactMetadata.PreTokens,
					Millis:  r.CompactMetadata.DurationMs,
				},
			})
			continue
		}
		var text string
		var blocks []block
		if json.Unmarshal(r.Message.Content, &text) == nil {
			all = append(all, naive{prompt: bills.Sketch([]byte(text))})
			continue
		}
		if err := json.Unmarshal(r.Message.Content, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			n := naive{reply: r.Message.ID, context: r.Message.Usage.In, out: r.Message.Usage.Out}
			switch b.Type {
			case "tool_use":
				n.tool = strings.Replace(b.Name, "Write", "Edit", 1)
				n.on = b.Input.Path + b.Input.Command
				n.call = b.ID
			case "tool_result":
				n.result = b.Of
				n.size = int64(len(b.Content))
			}
			all = append(all, n)
		}
	}
	return all
}

func naiveBills(t *testing.T, lines []byte) (list []transcript.Bill) {
	all := naiveRecords(t, lines)
	for at := range all {
		if all[at].boundary == nil {
			continue
		}
		b := *all[at].boundary
		for i := at - 1; i >= 0 && all[i].boundary == nil; i-- {
			if all[i].reply != "" {
				b.Before = all[i].context
				break
			}
		}
		replies := map[string]bool{}
		grown := []int64{}
		reply := ""
		closed := false
		for i := at + 1; i < len(all); i++ {
			r := all[i]
			if closed = r.boundary != nil; closed {
				break
			}
			if r.reply != "" && !replies[r.reply] {
				replies[r.reply] = true
				reply = r.reply
				if b.After == 0 {
					b.After = r.context
				}
				if len(grown) < transcript.BillReplies {
					grown = append(grown, r.context-b.After)
				}
			}
			if r.prompt != 0 && len(replies) < transcript.BillReplies {
				for _, before := range all[:at] {
					if bills.Alike(before.prompt, r.prompt) {
						b.Restated++
						break
					}
				}
			}
			if r.tool == "" || len(replies) > transcript.BillReplies || reply == "" {
				continue
			}
			again := false
			for _, before := range all[:at] {
				again = again || before.tool == r.tool && before.on == r.on
			}
			if r.tool == "Read" {
				b.Reads++
			}
			switch {
			case !again:
			case r.tool == "Read":
				b.Rereads++
				size, tokens := naiveBrought(all, i)
				b.Bytes, b.Tokens = b.Bytes+size, b.Tokens+tokens
			case r.tool == "Edit":
				b.Reedits++
			case r.tool == "Bash":
				b.Reruns++
			}
		}
		b.Replies = min(transcript.BillReplies, len(replies))
		b.Done = closed || len(replies) > transcript.BillReplies
		for i, n := range grown {
			if b.Tokens > 0 && n >= b.Tokens {
				b.Regrown = i + 1
				break
			}
		}
		list = append(list, b)
	}
	return list
}

// naiveBrought is how much the i-th record's call brought, and by how much the context grew by it.
func naiveBrought(all []naive, i int) (size, tokens int64) {
	reply := all[i].reply
	total := int64(0)
	calls := int64(0)
	out := int64(0)
	sizes := map[string]int64{}
	for _, r := range all {
		sizes[r.result] += r.size
		if r.reply == reply {
			out = max(out, r.out)
		}
	}
	for _, r := range all {
		if r.reply == reply && r.tool != "" && r.tool != "Grep" {
			calls++
			total += sizes[r.call]
		}
	}
	grown := int64(0)
	next := slices.IndexFunc(
		all[i:],
		func(r naive) bool { return r.boundary != nil || r.reply != "" && r.reply != reply },
	)
	if next < 0 {
		return 0, 0 // known once the next reply has come
	}
	if r := all[i+next]; r.boundary == nil {
		grown = max(0, r.context-all[i].context-out)
	}
	if size = sizes[all[i].call]; total > 0 {
		return size, int64(float64(grown) * float64(size) / float64(total))
	}
	return size, grown / calls
}
