package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sm/observer/api"
	"sm/observer/history/report"
	"sm/transcript/transcripttest"
)

// output runs a command that must succeed, in no locale and without a configuration.
func output(t *testing.T, args ...string) []byte {
	t.Helper()
	plainEnvironment(t)
	return outputHere(t, args...)
}

// outputHere runs it in the environment that there is.
func outputHere(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), args, nil, &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	return stdout.Bytes()
}

func reported(t *testing.T, paths ...string) (r report.Report) {
	t.Helper()
	if err := json.Unmarshal(output(t, append([]string{"report", "--json"}, paths...)...), &r); err != nil {
		t.Fatal(err)
	}
	addsUp(t, &r)
	return r
}

// addsUp holds a report against itself: rows, histograms and unknowns give the totals.
func addsUp(t *testing.T, r *report.Report) {
	t.Helper()
	total := report.Row{Sessions: r.Sessions, Turns: r.Turns, Compactions: r.Compactions}
	for name, rows := range map[string][]report.Row{"projects": r.Projects, "models": r.Models, "months": r.Months} {
		sum := report.Row{}
		for _, row := range rows {
			sum.Sessions, sum.Turns = sum.Sessions+row.Sessions, sum.Turns+row.Turns
			report.Add(&sum.Compactions, row.Compactions)
		}
		if d := cmp.Diff(total, sum); d != "" {
			t.Errorf("%s (-total +sum):\n%s", name, d)
		}
	}
	for name, d := range map[string]report.Distribution{
		"pre":        r.Pre,
		"manual":     r.ManualPre,
		"post":       r.Post,
		"percentage": r.PostPercentage,
		"turns":      r.TurnsPerCycle,
	} {
		sum := 0
		for i, b := range d.Histogram {
			sum += b.Count
			if i > 0 && b.From != d.Histogram[i-1].To {
				t.Errorf("%s: a gap before %d", name, b.From)
			}
		}
		if sum != d.Known || len(d.Histogram) > report.MaxBins {
			t.Errorf("%s: %d in %d bins of %d known", name, sum, len(d.Histogram), d.Known)
		}
	}
	c := r.Compactions
	want := []int{c.Auto + c.Unknown, c.Manual, c.Total(), c.Total(), c.Total()}
	got := []int{r.Pre.Known + r.Pre.Unknown, r.ManualPre.Known + r.ManualPre.Unknown, r.Post.Known + r.Post.Unknown,
		r.PostPercentage.Known + r.PostPercentage.Unknown, r.TurnsPerCycle.Known + r.TurnsPerCycle.Unknown}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("compactions in the distributions (-want +got):\n%s", d)
	}
}

// TestReportAgreesWithScan: over fleets with forks, resumes, subagents and all that a reader must survive, a report
// counts the compactions that a scan counts, and that the generator meant.
func TestReportAgreesWithScan(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			truth, err := transcripttest.Generate(dir, transcripttest.Options{
				Seed:      4200 + seed,
				Traps:     true,
				Copies:    true,
				Subagents: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]report.Row{}
			for _, s := range scanJSON(t, dir) {
				row := want[s.Project]
				row.Sessions++
				report.Add(&row.Compactions, s.Compactions)
				want[s.Project] = row
			}
			r := reported(t, dir)
			got := map[string]report.Row{}
			for _, row := range r.Projects {
				got[row.Name] = report.Row{Sessions: row.Sessions, Compactions: row.Compactions}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("projects (-scan +report):\n%s", d)
			}
			if r.Compactions.Total() != truth.DistinctCompactions && !wholeEnds(t, dir, truth) {
				t.Errorf("%d compactions, want %d", r.Compactions.Total(), truth.DistinctCompactions)
			}
		})
	}
}

// plainRecord is a record as encoding/json reads it, for figures that are worked out apart.
type plainRecord struct {
	Type, Subtype, UUID string
	Timestamp           time.Time
	IsSidechain, IsMeta bool
	IsAPIErrorMessage   bool `json:"isApiErrorMessage"`
	IsCompactSummary    bool
	CompactMetadata     struct{ Trigger, PreTokens any }
	Message             struct {
		ID, Model string
		Content   json.RawMessage
		Usage     struct {
			Input    int64 `json:"input_tokens"`
			Creation int64 `json:"cache_creation_input_tokens"`
			Read     int64 `json:"cache_read_input_tokens"`
		}
	}
}

// workedOut is what a report must say of transcripts that are as real clients of 2026 write them.
type workedOut struct {
	turns                 int
	pre, post, cycles     []int64
	dropped               int64
	triggers              map[string]int
	seenTurns, seenEvents map[string]bool
}

// file adds one transcript. What an earlier one has had is left out.
func (w *workedOut) file(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	own := map[string]bool{}
	var open *plainRecord // a compaction that waits for its first reading
	cycle := int64(0)
	r := bufio.NewReader(f)
	for end := false; !end; {
		line, err := r.ReadBytes('\n')
		end = err != nil
		var x plainRecord
		if json.Unmarshal(line, &x) != nil || x.IsSidechain {
			continue
		}
		u := x.Message.Usage
		size := u.Input + u.Creation + u.Read
		boundary := x.Type == "system" && x.Subtype == "compact_boundary"
		reading := x.Type == "assistant" && size > 0 && !x.IsAPIErrorMessage && x.Message.Model != "<synthetic>"
		prompt := x.Type == "user" && !x.IsMeta && !x.IsCompactSummary && isPrompt(x.Message.Content)
		if !boundary && !reading && !prompt || x.UUID != "" && own[x.UUID] {
			continue
		}
		own[x.UUID] = true
		switch {
		case boundary:
			if open = nil; w.seenEvents[x.UUID] {
				cycle = 0
				continue
			}
			w.seenEvents[x.UUID] = true
			open = &x
			w.triggers[fmt.Sprint(x.CompactMetadata.Trigger)]++
			if pre, _ := x.CompactMetadata.PreTokens.(float64); x.CompactMetadata.Trigger != "manual" {
				w.pre = append(w.pre, int64(pre))
			}
			w.cycles = append(w.cycles, cycle)
			cycle = 0
		case reading:
			if open == nil || x.Timestamp.Before(open.Timestamp) {
				continue
			}
			w.post = append(w.post, size)
			if pre, _ := open.CompactMetadata.PreTokens.(float64); int64(pre) > size {
				w.dropped += int64(pre) - size
			}
			open = nil
		default:
			cycle++ // of the cycle, as it stands in this file
			if !w.seenTurns[x.UUID] {
				w.seenTurns[x.UUID] = true
				w.turns++
			}
		}
	}
}

// isPrompt distinguishes what a user typed from the results of tools and from what the client writes around commands.
func isPrompt(content json.RawMessage) bool {
	var text string
	if string(content) == "null" {
		return false
	}
	if json.Unmarshal(content, &text) != nil {
		var blocks []json.RawMessage
		if json.Unmarshal(content, &blocks) != nil {
			return false
		}
		for _, raw := range blocks {
			var b struct{ Type, Text string }
			if json.Unmarshal(raw, &b) == nil && b.Type == "tool_result" {
				return false
			}
			if text == "" {
				text = b.Text
			}
		}
	}
	text = strings.TrimLeft(text, " \t\r\n")
	for _, p := range []string{
		"<command-name>",
		"<command-message>",
		"<local-command-",
		"<bash-",
		"[Request interrupted by user",
	} {
		if strings.HasPrefix(text, p) {
			return false
		}
	}
	return true
}

// TestReportCorpus: of real transcripts, the counts are those that are known, and medians, turns and what was dropped
// are those that are worked out apart, in another way.
func TestReportCorpus(t *testing.T) {
	corpus := os.Getenv("SM_CORPUS")
	if corpus == "" {
		t.Skip("SM_CORPUS names no folder of public transcripts")
	}
	b, err := os.ReadFile(filepath.Join(corpus, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]struct {
		Compactions []struct{ UUID, Trigger string }
		Side        bool `json:"sidechain_file"`
	}
	if err := json.Unmarshal(b, &expected); err != nil {
		t.Fatal(err)
	}
	distinct := map[string]string{}
	w := workedOut{triggers: map[string]int{}, seenTurns: map[string]bool{}, seenEvents: map[string]bool{}}
	var names []string
	for name, x := range expected {
		if !x.Side {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(lifetime(t, filepath.Join(corpus, a)), lifetime(t, filepath.Join(corpus, b)))
	})
	for _, name := range names {
		x := expected[name]
		for _, c := range x.Compactions {
			distinct[c.UUID] = c.Trigger
		}
		w.file(t, filepath.Join(corpus, name))
	}
	counts := map[string]int{}
	for _, trigger := range distinct {
		counts[trigger]++
	}
	r := reported(t, corpus)
	want := api.Compactions{Auto: counts["auto"], Manual: counts["manual"], Unknown: counts["summary"]}
	if d := cmp.Diff(want, r.Compactions); d != "" || want.Total() == 0 {
		t.Errorf("compactions (-want +got):\n%s", d)
	}
	if d := cmp.Diff(counts, w.triggers); d != "" {
		t.Fatalf("this test counts wrong itself (-want +got):\n%s", d)
	}
	type sums struct {
		Turns                  int
		Dropped                int64
		Pre, Post, Cycles      int64
		PreKnown, PostKnown, N int
	}
	if d := cmp.Diff(sums{
		w.turns,
		w.dropped,
		apart(w.pre),
		apart(w.post),
		apart(w.cycles),
		len(w.pre),
		len(w.post),
		len(w.cycles),
	},
		sums{
			r.Turns,
			r.Dropped,
			*r.Pre.Median,
			*r.Post.Median,
			*r.TurnsPerCycle.Median,
			r.Pre.Known,
			r.Post.Known,
			r.TurnsPerCycle.Known,
		}); d != "" {
		t.Errorf("figures (-worked out apart +reported):\n%s", d)
	}
}

// lifetime says when the first and the last record of a transcript were written: of snapshots of one session the oldest
// comes first.
func lifetime(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := "~"
	last := ""
	for line := range bytes.Lines(b) {
		var x struct{ Timestamp string }
		if json.Unmarshal(line, &x) == nil && x.Timestamp != "" {
			first = min(first, x.Timestamp)
			last = max(last, x.Timestamp)
		}
	}
	return first + " " + last + " " + path
}

// apart is a median by counting: half of the figures are no larger, half are no smaller.
func apart(figures []int64) int64 {
	below := func(n int64, count int) bool {
		k := 0
		for _, x := range figures {
			if x <= n {
				k++
			}
		}
		return k >= count
	}
	nth := func(count int) int64 {
		best := int64(-1)
		for _, x := range figures {
			if below(x, count) && (best < 0 || x < best) {
				best = x
			}
		}
		return best
	}
	n := len(figures)
	return (nth((n+1)/2) + nth(n/2+1)) / 2
}

// TestReportManySessions: ten thousand sessions of a thousand projects are read, and what is printed stays short.
func TestReportManySessions(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; the run without the race detector has it")
	}
	dir := t.TempDir()
	const sessions, projects = 10_000, 1000
	for i := range sessions {
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i)
		start := time.Date(2020, time.Month(1+i%60), 1+i%28, 12, 0, 0, 0, time.UTC)
		at := start.Format(time.RFC3339)
		later := start.Add(time.Minute).Format(time.RFC3339)
		line := fmt.Sprintf(`{"type":"user","uuid":"u%d","sessionId":%q,"cwd":"/home/dev/a-project-with-a-rather-long-name-%d","version":"2.1.197","timestamp":%q,"message":{"role":"user","content":"go"}}
{"type":"assistant","uuid":"a%[1]d","sessionId":%[2]q,"version":"2.1.197","timestamp":%[4]q,"message":{"id":"m%[1]d","model":"claude-model-%[5]d","usage":{"input_tokens":%[6]d}}}
{"type":"system","subtype":"compact_boundary","uuid":"b%[1]d","version":"2.1.197","timestamp":%[7]q,"compactMetadata":{"trigger":"auto","preTokens":%[6]d}}
`, i, id, i%projects, at, i%30, 100_000+i, later)
		place(t, filepath.Join(dir, fmt.Sprint(i%projects), id+".jsonl"), []byte(line))
	}
	r := reported(t, dir)
	if r.Sessions != sessions || r.Compactions.Auto != sessions || len(r.Projects) != projects || len(r.Models) != 30 ||
		len(r.Months) != 60 {
		t.Errorf(
			"%d sessions, %d compactions, %d projects, %d models, %d months",
			r.Sessions,
			r.Compactions.Auto,
			len(r.Projects),
			len(r.Models),
			len(r.Months),
		)
	}
	for _, args := range [][]string{
		{"report", dir},
		{"replay", "--grid", dir},
		{"report", "--verbose", dir},
		{"replay", "--grid", "--verbose", dir},
	} {
		text := string(output(t, args...))
		fitsWidth(t, text)
		if n := strings.Count(text, "\n"); n > 90 {
			t.Errorf("%v: %d lines", args, n)
		}
	}
}
